// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A summary as tables of text: what the terminal and the page show.
#pragma once
#include "ditron/profile/Summary.h"
#include <string>
#include <vector>

namespace ditron::profile {

struct Table {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

/// What the cores did, rank by rank and in all, in seconds summed over cores, and how much of the
/// transfers was hidden.
Table timesTable(const Summary &summary);
/// What the critical path consists of, the `most` largest parts of it.
Table pathTable(const CriticalPath &path, size_t most);
/// "the critical path: 8.1 ms, of it ..."
std::string describe(const CriticalPath &path);
/// "17 events are missing: ...", empty where none is.
std::string describeDropped(const Timeline &timeline);

/// The columns aligned, those named in `textColumns` to the left, each line behind `indent`.
std::string format(const Table &table, const std::vector<size_t> &textColumns,
                   const std::string &indent);

} // namespace ditron::profile
