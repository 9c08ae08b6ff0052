// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which nodes of a graph follow which, and by what: the edges that people look at. They hold for all
// shapes. Schedules (Plan.h) compare the boxes of all tasks, for the shapes of a launch.
//
//   read after write    of the node that wrote the value last, and of those before it where its tiles are
//                       at places that are known only at run time (a row that a position names)
//   write after write   of the same
//   write after read    of the nodes that have read it since
//
// Other nodes are taken to write all of a value. Where one leaves parts as an earlier one wrote them, a
// schedule looks further back than these edges; a drawing with its waits shows that too.
#pragma once
#include "ditron/task/GraphData.h"
#include "ditron/task/KernelFootprint.h"

namespace ditron::task {

enum class Follows { readAfterWrite, writeAfterWrite, writeAfterRead };

struct Edge {
  size_t from = 0, to = 0; ///< nodes
  size_t value = 0;
  Follows why = Follows::readAfterWrite;
  TileBox fromBox, toBox; ///< what a tile of each touches
};

/// In the order of the nodes that follow. `footprints`: of the graph's types.
std::vector<Edge> edgesOf(const Graph &graph, const std::vector<Footprint> &footprints);

/// Of each dimension "v0 8 mul : 8": the first element and how many, as abi/Extent.h has them; "*": all.
std::vector<std::string> textsOf(const TileBox &box);

} // namespace ditron::task
