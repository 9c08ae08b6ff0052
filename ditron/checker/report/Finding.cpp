// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/Check.h"
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron {

std::string_view name(FindingKind kind) {
  switch (kind) {
  case FindingKind::dataRace:
    return "data-race";
  case FindingKind::wrongNotifier:
    return "wrong-notifier";
  case FindingKind::sharedSignal:
    return "shared-signal";
  case FindingKind::workspaceReuse:
    return "workspace-reuse";
  case FindingKind::unfinishedPut:
    return "unfinished-put";
  case FindingKind::deadlock:
    return "deadlock";
  case FindingKind::lostSignal:
    return "lost-signal";
  case FindingKind::divergentBarrier:
    return "divergent-barrier";
  case FindingKind::notResident:
    return "not-resident";
  case FindingKind::uninitializedRead:
    return "uninitialized-read";
  case FindingKind::outOfBounds:
    return "out-of-bounds";
  case FindingKind::unevenAllocation:
    return "uneven-allocation";
  case FindingKind::narrowScope:
    return "narrow-scope";
  case FindingKind::severalSenders:
    return "several-senders";
  case FindingKind::strayNotify:
    return "stray-notify";
  case FindingKind::invalidProgram:
    break;
  }
  return "invalid-program";
}

std::string_view name(Method method) {
  return method == Method::proved       ? "proved"
         : method == Method::exhaustive ? "exhaustive"
                                        : "sampled";
}

std::string_view name(Mutant::Outcome outcome) {
  return outcome == Mutant::Outcome::killed       ? "killed"
         : outcome == Mutant::Outcome::equivalent ? "equivalent"
                                                  : "missed";
}

std::string Party::who() const {
  std::string text = fmt::format("rank {}, core {}", rank, core);
  if (!role.empty())
    text += fmt::format(", role '{}'", role);
  text += fmt::format(", launch {}", launch);
  if (!tile.empty())
    text += fmt::format(", tile ({})", fmt::join(tile, ", "));
  return text;
}

std::string Party::source() const {
  if (line == 0)
    return "unknown location";
  return fmt::format("{}:{}", std::filesystem::path(file).filename().string(), line);
}

} // namespace ditron
