// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/CopyPlan.h"
#include "ditron/abi/WorkspaceLayout.h"
#include "ditron/runtime/nvidia/Copy2D.h"
#include "ditron/runtime/nvidia/RankGroup.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace ditron::runtime::nvidia {

using abi::CopyAction;
using abi::CopyKind;

namespace {

/// One dimension of a chunk; strides in bytes.
struct Dimension {
  int64_t extent, from, to;
};

/// Makes the operations of a rank.
class Planner {
public:
  Planner(const abi::KernelInfo &info, const Workspace &workspace, int rank,
          std::span<const int64_t> words)
      : info_(info), workspace_(workspace), rank_(rank), words_(words) {}

  std::vector<CopyPlan::Operation> plan() {
    std::vector<CopyAction> actions = actionsOf(rank_);
    checkNotifiers();
    std::map<int, size_t> last; // action of each other rank
    for (size_t n = 0; n < actions.size(); ++n)
      if (int peer = peerOf(actions[n]); peer != rank_)
        last[peer] = n;
    for (size_t n = 0; n < actions.size(); ++n) {
      int peer = peerOf(actions[n]);
      takeCredit(peer);
      act(actions[n], peer);
      if (auto found = last.find(peer); found != last.end() && found->second == n)
        note(peer);
    }
    for (int peer = 0; peer < workspace_.ranks(); ++peer)
      if (peer != rank_ && !last.contains(peer) && workspace_.layout().areTogether(rank_, peer)) {
        takeCredit(peer);
        note(peer);
      }
    note(rank_); // the last operation: see CopyPlan
    return std::move(operations_);
  }

  const std::set<int> &targets() const { return targets_; }

private:
  std::vector<CopyAction> actionsOf(int rank) const {
    return abi::copyActions(info_.copyProgram, {words_, workspace_.ranks(), rank});
  }

  int peerOf(const CopyAction &action) const {
    return action.step->kind == CopyKind::wait ? rank_ : static_cast<int>(action.values[0]);
  }

  //===-- Memory ------------------------------------------------------------------------------===//

  bool isSymmetric(int64_t argument) const {
    return argument >= static_cast<int64_t>(info_.arguments.size());
  }

  int64_t elementBytes(int64_t argument) const {
    auto n = static_cast<size_t>(argument);
    if (!isSymmetric(argument))
      return static_cast<int64_t>(byteSize(info_.arguments[n].type));
    return info_.symmetric[n - info_.arguments.size()].elementBytes;
  }

  /// Where an argument, or symmetric memory, begins on a rank.
  uint64_t addressOf(int64_t argument, int peer) const {
    size_t word = 0;
    for (int64_t n = 0; n < argument; ++n) {
      auto at = static_cast<size_t>(n);
      word += isSymmetric(n) ? 1 + 2 * info_.symmetric[at - info_.arguments.size()].extents.size()
                             : static_cast<size_t>(info_.arguments[at].words());
    }
    auto own = static_cast<uint64_t>(words_[word]);
    int64_t distance = isSymmetric(argument) ? (peer - rank_) * workspace_.memory().stride() : 0;
    return own + static_cast<uint64_t>(distance);
  }

  uint64_t headOf(int peer, int64_t offset, int number) const {
    return workspace_.memory().address(peer) + static_cast<uint64_t>(offset + 8 * number);
  }

  //===-- Operations --------------------------------------------------------------------------===//

  void addWord(WordOperation::Kind kind, uint64_t address, int64_t value) {
    constexpr size_t kMost = 255; // of a call of the driver
    auto *last = operations_.empty() ? nullptr
                                     : std::get_if<std::vector<WordOperation>>(&operations_.back());
    if (!last || last->size() == kMost)
      last = &std::get<std::vector<WordOperation>>(
          operations_.emplace_back(std::vector<WordOperation>()));
    last->push_back({.kind = kind, .address = address, .value = static_cast<uint64_t>(value)});
  }

  /// Before the first operation to a peer: it is through with the launch before.
  void takeCredit(int peer) {
    if (peer == rank_ || !credits_.insert(peer).second)
      return;
    uint64_t credit = headOf(rank_, abi::Head::kCredits, peer);
    addWord(WordOperation::waitAtLeast, credit, 1);
    addWord(WordOperation::write, credit, 0);
  }

  /// Behind the last operation to a peer.
  void note(int peer) { addWord(WordOperation::write, headOf(peer, abi::Head::kCopied, rank_), 1); }

  void act(const CopyAction &action, int peer) {
    const abi::CopyStep &step = *action.step;
    if (step.kind == CopyKind::put)
      return put(action, peer);
    bool isWait = step.kind == CopyKind::wait;
    int64_t cell = action.values[isWait ? 0 : 1], value = action.values.back();
    uint64_t address = addressOf(step.arguments[0], peer) + 8 * static_cast<uint64_t>(cell);
    if (isWait && value > 0) {
      addWord(WordOperation::waitAtLeast, address, value);
    } else if (!isWait) {
      int64_t &sum = values_[address];
      sum = step.kind == CopyKind::notifyAdd ? sum + value : std::max(sum, value);
      addWord(WordOperation::write, address, sum);
    }
  }

  void put(const CopyAction &action, int peer) {
    int64_t source = action.step->arguments[0], target = action.step->arguments[1];
    int64_t bytes = elementBytes(source);
    std::vector<Dimension> dims;
    for (size_t d = 0; d < action.rank(); ++d) {
      int64_t extent = action.extents()[d];
      if (extent <= 0)
        return;
      if (extent > 1)
        dims.push_back(
            {extent, action.sourceStrides()[d] * bytes, action.targetStrides()[d] * bytes});
    }
    targets_.insert(peer);
    auto first = [&](size_t value) { return static_cast<uint64_t>(action.values[value] * bytes); };
    copy(dims, addressOf(source, rank_) + first(1), addressOf(target, peer) + first(2), bytes);
  }

  /// Rows that are dense on both sides become one; those that are left are copied by twos.
  void copy(std::vector<Dimension> dims, uint64_t from, uint64_t to, int64_t bytes) {
    int64_t width = bytes;
    while (!dims.empty() && dims.back().from == width && dims.back().to == width) {
      width *= dims.back().extent;
      dims.pop_back();
    }
    walk(dims, from, to, static_cast<size_t>(width));
  }

  void walk(std::span<const Dimension> dims, uint64_t from, uint64_t to, size_t width) {
    if (dims.empty())
      return add({.to = to, .from = from, .width = width});
    const Dimension &outer = dims.front();
    if (dims.size() == 1 && outer.from > 0 && outer.to > 0)
      return add({to, from, width, static_cast<size_t>(outer.extent), static_cast<size_t>(outer.to),
                  static_cast<size_t>(outer.from)});
    for (int64_t n = 0; n < outer.extent; ++n)
      walk(dims.subspan(1), from + static_cast<uint64_t>(n * outer.from),
           to + static_cast<uint64_t>(n * outer.to), width);
  }

  /// What goes on where the last copy ends becomes part of it.
  void add(const Copy &copy) {
    auto *last = operations_.empty() ? nullptr : std::get_if<Copy>(&operations_.back());
    bool goesOn = last && last->height == 1 && copy.height == 1 &&
                  copy.to == last->to + last->width && copy.from == last->from + last->width;
    if (goesOn)
      last->width += copy.width;
    else
      operations_.emplace_back(copy);
  }

  //===-- Checks ------------------------------------------------------------------------------===//

  /// Each counter has one rank whose copy engines notify it.
  void checkNotifiers() const {
    std::map<std::tuple<int64_t, int64_t, int64_t>, int> notifiers; // by peer, signals and counter
    for (int rank = 0; rank < workspace_.ranks(); ++rank)
      for (const CopyAction &action : actionsOf(rank)) {
        if (action.step->kind != CopyKind::notifyAdd && action.step->kind != CopyKind::notifySet)
          continue;
        int64_t signals = action.step->arguments[0];
        auto [known, isNew] =
            notifiers.try_emplace({action.values[0], signals, action.values[1]}, rank);
        if (known->second != rank)
          refuse(action, known->second, rank);
      }
  }

  [[noreturn]] void refuse(const CopyAction &action, int first, int second) const {
    throw CompileError(fmt::format(
        "the copy engines of ranks {} and {} notify counter {} of signal '{}' on rank {}: they "
        "write words and cannot add, expected a counter for each rank",
        first, second, action.values[1], signalOf(*action.step).name, action.values[0]));
  }

  const abi::Symmetric &signalOf(const abi::CopyStep &step) const {
    return info_.symmetric[static_cast<size_t>(step.arguments[0]) - info_.arguments.size()];
  }

  const abi::KernelInfo &info_;
  const Workspace &workspace_;
  int rank_;
  std::span<const int64_t> words_;
  std::vector<CopyPlan::Operation> operations_;
  std::set<int> targets_;              ///< of puts
  std::set<int> credits_;              ///< of peers, that have been taken
  std::map<uint64_t, int64_t> values_; ///< of counters, as notified so far in this launch
};

} // namespace

CopyPlan::CopyPlan(const abi::KernelInfo &info, const Workspace &workspace, int rank,
                   std::span<const int64_t> words)
    : words_(std::make_shared<const std::vector<int64_t>>(words.begin(), words.end())) {
  Planner planner(info, workspace, rank, words);
  operations_ = planner.plan();
  targets_ = planner.targets();
}

void CopyPlan::enqueue(const Gpu &device, const Stream &stream) const {
  const Cuda &cuda = device.use();
  for (const Operation &operation : operations_) {
    if (const auto *words = std::get_if<std::vector<WordOperation>>(&operation)) {
      DITRON_CUDA(cuda, cuStreamBatchMemOp_v2, stream.handle(),
                  static_cast<unsigned>(words->size()), const_cast<WordOperation *>(words->data()),
                  0u);
      continue;
    }
    const Copy &copy = std::get<Copy>(operation);
    if (copy.height == 1) {
      DITRON_CUDA(cuda, cuMemcpyDtoDAsync_v2, copy.to, copy.from, copy.width, stream.handle());
      continue;
    }
    Copy2D rows{Copy2D::Side::at(copy.from, copy.fromPitch),
                Copy2D::Side::at(copy.to, copy.toPitch), copy.width, copy.height};
    DITRON_CUDA(cuda, cuMemcpy2DAsync_v2, &rows, stream.handle());
  }
}

void CopyStream::follow(const CopyPlan &plan) const {
  stream_.waitFor(fork_);
  plan.enqueue(*device_, stream_);
}

void CopyStream::join(const Stream &launch) const {
  join_.record(stream_);
  launch.waitFor(join_);
}

} // namespace ditron::runtime::nvidia
