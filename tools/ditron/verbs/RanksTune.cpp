// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron tune for kernels of several ranks on GPUs. The rank that searches tells the others what is
// timed next, and all of them time it.
#include "ditron/runtime/Gather.h"
#include "tools/ditron/launch/OperandSets.h"
#include "tools/ditron/verbs/Contender.h"
#include "tools/ditron/verbs/Tune.h"
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace ditron::tools {

namespace {

/// One rank.
class RankTrials {
public:
  /// `sharers`: ranks on a device.
  RankTrials(Context &context, const Task &task, uint64_t seed, int sharers)
      : context_(context), rank_(context.runtimeRank()), task_(task),
        inputs_(task.entry, task.kernel, task.problem, seed), host_(task),
        sets_(context, task, host_, sharers) {
    host_.fill(inputs_, context.rank());
    sets_.fill(context);
  }

  /// Of the rank that searches.
  double lead(const kernels::Config &config) {
    agree(config, /*goesOn=*/true);
    return time(config);
  }
  void end() { agree(task_.config, /*goesOn=*/false); }

  /// Of the others: until the search is over.
  void follow() {
    while (std::optional<kernels::Config> config = agree(task_.config, true))
      try {
        time(*config);
      } catch (const CompileError &) { // which the rank that searches takes note of
      }
  }

private:
  /// The configuration of the rank that searches; none where the search is over. Collective.
  std::optional<kernels::Config> agree(kernels::Config config, bool goesOn) {
    std::vector<int64_t> words{goesOn};
    for (const kernels::Config::Value &value : config.values())
      words.push_back(value.value);
    words = runtime::gather(rank_, words)[0];
    size_t next = 1;
    for (const kernels::Config::Value &value : task_.config.values())
      config.set(value.name, words[next++]);
    return words[0] ? std::optional(config) : std::nullopt;
  }

  /// The median of a moment, of the slowest rank, of a configuration that is verified before it can
  /// win: when it is the fastest so far, or is timed again. CompileError on all ranks where it makes
  /// no kernel.
  double time(const kernels::Config &config) {
    Task task = task_.with(config);
    Program program = programOf(task);
    double seconds = medianOf(program);
    bool isTimedAgain = !timed_.insert(task.configText()).second;
    if ((isTimedAgain || seconds < fastest_) && verified_.insert(task.configText()).second)
      requireVerified(task, verifyLaunch(task, [&] { program.launch(sets_.arguments()[0]); }));
    fastest_ = std::min(fastest_, seconds);
    return seconds;
  }

  Findings verifyLaunch(const Task &task, const std::function<void()> &launch) {
    return mergeFindings(rank_,
                         verifyOnce(task, inputs_, context_.rank(), host_, sets_.first(), [&] {
                           context_.assemble();
                           launch();
                         }));
  }

  Program programOf(const Task &task) {
    auto found = programs_.find(task.configText());
    if (found != programs_.end())
      return found->second;
    std::optional<Program> made;
    std::string refusal;
    try {
      made = context_.compile(task.kernel, task.schedule());
      for (const auto &values : sets_.arguments())
        made->prepare(values);
    } catch (const Error &error) { // of the compiler, of the driver's assembler, or of memory
      refusal = error.what();
    }
    for (const auto &other : runtime::gather<int>(rank_, {refusal.empty()}))
      if (!other[0])
        throw CompileError(refusal.empty() ? "another rank makes no kernel of it" : refusal);
    return programs_.emplace(task.configText(), *made).first->second;
  }

  double medianOf(Program &program) {
    constexpr double kMoment = 0.05;
    constexpr int kMost = 10;
    std::vector<Contender::Launch> launches;
    for (const auto &values : sets_.arguments())
      launches.emplace_back([&](const Stream &stream) { program.launch(values, stream); });
    Contender contender(context_, std::move(launches));
    contender.prepare(/*asGraph=*/false);
    double rounds = kMoment / std::max(contender.secondsOfRound(), 1e-6);
    context_.assemble();
    for (int n = std::clamp(int(rounds), 1, kMost); n > 0; --n)
      contender.enqueueRound();
    context_.sync();
    contender.collect();
    return median(ofSlowest(rank_, contender.times()));
  }

  Context &context_;
  runtime::Rank &rank_;
  const Task &task_;
  kernels::Inputs inputs_;
  Operands host_;
  OperandSets sets_;
  std::map<std::string, Program> programs_; ///< by their configurations
  std::set<std::string> timed_, verified_;  ///< configurations
  double fastest_ = std::numeric_limits<double>::infinity();
};

} // namespace

tune::Outcome searchOnRanks(const Task &task, const Placement &placement, uint64_t seed,
                            const Searching &search) {
  std::optional<tune::Outcome> outcome;
  runOnRanks(runtimeOptions(placement), [&](Context &context) {
    RankTrials trials(context, task, seed, placement.sharers());
    if (context.rank() != 0)
      return trials.follow();
    auto measure = [&](const kernels::Config &config) { return trials.lead(config); };
    outcome = search({measure, {}});
    trials.end();
  });
  return *outcome;
}

} // namespace ditron::tools
