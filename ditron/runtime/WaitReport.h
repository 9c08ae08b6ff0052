// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run that makes no progress is told to its user: what every core waits for, one line each,
// by rank and core, where cores in the same state share a line. The runtime's watchdog and the
// reference interpreter speak with this voice:
//
//   kernel 'ag-gemm': a wait outlived its bound of 500 ms
//     rank 0, cores 0 to 1, role 'multiply', gemm.cpp:30: waits for signal 'ready'[1]: expected 1,
//     ... rank 1: runs no kernel
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::runtime {

/// "rank 1", "ranks 1, 3", "ranks 0, 4 to 7", of ranks in ascending order.
std::string describeRanks(const std::vector<int> &ranks);

/// Where a core is in its program. Texts may be empty where they are not known.
struct CorePlace {
  int64_t rank = 0;
  int64_t core = -1;     ///< -1: the rank as a whole
  std::string role;      ///< "outer/inner"
  std::string site;      ///< "gemm.cpp:31"
  std::string task = {}; ///< "task 'layer 0 up' (tiles 3 to 5)", of a graph
};

/// "rank 1, core 0, role 'multiply', gemm.cpp:31"; a task stands before the role.
std::string describe(const CorePlace &place);

/// What a waiting core has, and has not, seen.
struct WaitProgress {
  std::string what; ///< "waits for signal 'ready'[1]"
  uint64_t expected = 0, seen = 0;
  std::string note; ///< "nobody has notified it in this launch"
};

/// "waits for signal 'ready'[1]: expected 2, seen 1; last notified by ...".
std::string describe(const WaitProgress &wait);

/// The last who notified a signal; "last notified by rank 0, core 1, role 'send', gather.cpp:12,
/// which added 1". `verb` is "added" or "set it to".
std::string describeNotifier(const CorePlace &place, std::string_view verb, uint64_t value);
inline constexpr std::string_view kNeverNotified = "nobody has notified it in this launch";

/// A core's line.
struct CoreLine {
  CorePlace place;
  std::string state; ///< describe(WaitProgress), or "computes"
};

/// The report. `lines` come by rank and core. Neighbouring cores of a rank that are at the same
/// place in the same state are folded into one line, and so are neighbouring ranks whose lines are
/// the same; at most 100 lines are written, of more those of whole ranks first, then how many are left
/// out.
std::string formatReport(std::string_view headline, std::vector<CoreLine> lines);

} // namespace ditron::runtime
