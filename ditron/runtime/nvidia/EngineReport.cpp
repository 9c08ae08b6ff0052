// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/EngineReport.h"
#include "ditron/abi/CopyProgram.h"
#include "ditron/abi/WorkspaceLayout.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::runtime::nvidia {

using abi::CopyAction;
using abi::CopyKind;

namespace {

/// The program of a rank's copy engines, read for what they had not done.
class EngineReader {
public:
  EngineReader(const Workspace &workspace, int rank, const Participant &participant)
      : layout_(workspace.layout()), info_(*participant.info), rank_(rank),
        actions_(abi::copyActions(info_.copyProgram,
                                  {*participant.copyWords, workspace.ranks(), rank})) {}

  /// What the copy engines have not done of what a counter counts; empty where they owe nothing.
  std::string owed(const AwaitedCounter &counter) const {
    bool isNote = counter.offset == abi::Head::kCopied + 8 * rank_;
    return isNote ? unfinished(counter.rank) : unnotified(counter);
  }

private:
  std::string unnotified(const AwaitedCounter &counter) const {
    std::vector<std::string> waits;
    int64_t sum = 0;
    for (const CopyAction &action : actions_) {
      CopyKind kind = action.step->kind;
      if (isWait(action))
        waits.push_back(describeWait(action));
      bool isNotify = kind == CopyKind::notifyAdd || kind == CopyKind::notifySet;
      if (!isNotify || action.values[0] != counter.rank ||
          offsetOf(action, action.values[1]) != counter.offset)
        continue;
      int64_t value = action.values.back();
      sum = kind == CopyKind::notifyAdd ? sum + value : std::max(sum, value);
      if (sum > counter.seen)
        return fmt::format("copy engines have not notified {} of rank {}{}",
                           nameOf(layout_, counter.offset), counter.rank, behind(waits));
      waits.clear(); // this notify was made, so that all before it are over
    }
    return "";
  }

  std::string unfinished(int peer) const {
    std::vector<std::string> waits;
    for (const CopyAction &action : actions_)
      if (isWait(action))
        waits.push_back(describeWait(action));
    return fmt::format("copy engines have not done all that they do to rank {}{}", peer,
                       behind(waits));
  }

  static bool isWait(const CopyAction &action) {
    return action.step->kind == CopyKind::wait && action.values.back() > 0;
  }

  /// The distance of a counter from the beginning of the workspace.
  int64_t offsetOf(const CopyAction &action, int64_t cell) const {
    auto array = static_cast<size_t>(action.step->arguments[0]) - info_.arguments.size();
    return layout_.offset(array) + 8 * cell;
  }

  std::string describeWait(const CopyAction &action) const {
    return fmt::format("{} (expected {})", nameOf(layout_, offsetOf(action, action.values[0])),
                       action.values.back());
  }

  /// The waits that one of them stands at; the last ones where there are many.
  static std::string behind(std::vector<std::string> waits) {
    constexpr size_t kMost = 4;
    if (waits.empty())
      return "";
    std::string more;
    if (waits.size() > kMost) {
      more = fmt::format(", behind {} more", waits.size() - kMost);
      waits.erase(waits.begin(), waits.end() - kMost);
    }
    return fmt::format(", before which they wait for {}{}", fmt::join(waits, ", "), more);
  }

  const abi::WorkspaceLayout &layout_;
  const abi::KernelInfo &info_;
  int rank_;
  std::vector<CopyAction> actions_;
};

} // namespace

std::vector<CoreLine> engineLines(const Workspace &workspace, int rank,
                                  const Participant &participant,
                                  const std::vector<AwaitedCounter> &counters) {
  std::vector<CoreLine> lines;
  if (!participant.copyWords)
    return lines;
  EngineReader reader(workspace, rank, participant);
  for (const AwaitedCounter &counter : counters)
    if (std::string owed = reader.owed(counter); !owed.empty())
      lines.push_back({{rank, -1, "", ""}, std::move(owed)});
  return lines;
}

} // namespace ditron::runtime::nvidia
