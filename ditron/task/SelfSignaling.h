// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of a graph whose elements say that they are there.
//
//   qkv       writes q[0 : 6144], of which all bits were set before the launch
//   attention loads its part of q until no element of it has all bits set
//
// Who counts a task as done has to make sure before that all see what it wrote, and that takes a GPU as long as it
// takes to bring what it reads at that time, for other tasks too. Here nobody counts. Tiles that read the same elements
// look for them one after the other, so it is worth it where these are few.
#pragma once
#include "ditron/task/Plan.h"

namespace ditron::task {

/// For each value whether it is such one. It is memory of the graph, of floats. One node writes it, every element by a
/// store that is under no condition. All others load tiles of it, 32 KB a task or less, or 48 KB by tiles of 8 KB, what
/// several tiles load counted for each. No count that they wait for says that the writer is done. A node that reads
/// little beside has no others. For an argument of a type all nodes pass such values, or none does. Empty where no
/// value is one.
std::vector<bool> selfSignalingValues(const Graph &graph, const std::vector<Footprint> &footprints,
                                      const Shapes &shapes, const Machine &machine);

} // namespace ditron::task
