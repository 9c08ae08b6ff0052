// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/support/MeshAxes.h"
#include <string>
#include <string_view>

namespace ditron::runtime {

/// How the ranks lie on nodes. They are numbered node by node: rank = node * local + place.
struct MeshShape {
  int nodes = 1;
  int local = 1;      ///< ranks of each node
  MeshAxes axes = {}; ///< with names of their own; empty: node and local
  bool operator==(const MeshShape &) const = default;
  /// "node=2,local=4", or the axes.
  std::string text() const;
};

/// Part of a mesh, or all of it, as a user gives it: what is 0 follows from the number of ranks.
struct MeshRequest {
  int nodes = 0, local = 0;
  MeshAxes axes = {}; ///< all of them, where there are others than node and local

  /// Reads "node=2,local=2", or one of both, or axes of other names, such as "row=2,col=2" or
  /// "node=2,row=2,col=2"; UsageError that names `what` otherwise.
  static MeshRequest parse(std::string_view text, std::string_view what = "mesh");
  /// DITRON_MESH, or nothing.
  static MeshRequest fromEnvironment();

  /// The mesh of so many ranks; one node where nothing is said. UsageError where they do not fit
  /// it.
  MeshShape of(int ranks) const;
  /// What was given: "node=2", say; empty where nothing was.
  std::string text() const;
};

} // namespace ditron::runtime
