// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/CopyProgram.h"
#include "ditron/support/Error.h"
#include "ditron/support/Message.h"
#include <fmt/format.h>

namespace ditron::abi {

namespace {

constexpr std::string_view kWhat = "a role of copy engines";

class Follower {
public:
  explicit Follower(const LaunchValues &launch) : launch_(launch) {}

  void follow(std::span<const CopyStep> steps) {
    for (size_t n = 0; n < steps.size();) {
      const CopyStep &step = steps[n];
      auto body = static_cast<size_t>(step.body), otherwise = static_cast<size_t>(step.otherwise);
      std::span<const CopyStep> behind = steps.subspan(n + 1);
      if (step.kind == CopyKind::loop)
        loop(step, behind.first(body));
      else if (step.kind == CopyKind::branch)
        follow(evaluate(step.values[0]) ? behind.first(body) : behind.subspan(body, otherwise));
      else if (step.kind == CopyKind::require)
        require(step);
      else
        act(step);
      n += 1 + body + otherwise;
    }
  }

  std::vector<CopyAction> actions;

private:
  int64_t evaluate(const Extent &value) {
    LaunchValues launch = launch_;
    launch.variables = variables_;
    return value.evaluate(launch, kWhat);
  }

  void loop(const CopyStep &step, std::span<const CopyStep> body) {
    int64_t begin = evaluate(step.values[0]), end = evaluate(step.values[1]),
            stride = evaluate(step.values[2]);
    if (stride < 1)
      throw CompileError(fmt::format("{}: a loop has step {}, expected 1 or more", kWhat, stride));
    variables_.push_back(begin);
    for (; variables_.back() < end; variables_.back() += stride)
      follow(body);
    variables_.pop_back();
  }

  void require(const CopyStep &step) {
    if (evaluate(step.values[0]))
      return;
    std::vector<int64_t> values;
    for (const Extent &value : std::span(step.values).subspan(1))
      values.push_back(evaluate(value));
    throw CompileError(fillIn(step.message, values));
  }

  void act(const CopyStep &step) {
    if (actions.size() == kMostCopyActions)
      throw CompileError(fmt::format("{} has more than {} puts, notifies and waits in a launch: "
                                     "expected fewer and larger ones",
                                     kWhat, kMostCopyActions));
    CopyAction action{&step, {}};
    for (const Extent &value : step.values)
      action.values.push_back(evaluate(value));
    int64_t peer = step.kind == CopyKind::wait ? launch_.rank : action.values[0];
    if (peer < 0 || peer >= launch_.ranks)
      throw CompileError(fmt::format("{} names rank {} of {} ranks", kWhat, peer, launch_.ranks));
    actions.push_back(std::move(action));
  }

  const LaunchValues &launch_;
  std::vector<int64_t> variables_; ///< of the loops that run, the outermost first
};

} // namespace

std::vector<CopyAction> copyActions(std::span<const CopyStep> steps, const LaunchValues &launch) {
  Follower follower(launch);
  follower.follow(steps);
  return std::move(follower.actions);
}

} // namespace ditron::abi
