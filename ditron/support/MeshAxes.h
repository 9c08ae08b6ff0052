// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mesh of ranks with named axes, such as row=2,col=3. Ranks are numbered row by row: the last axis
// counts fastest.
//
//     rank     0 1 2 3 4 5        place along row = rank / 3 % 2
//     row      0 0 0 1 1 1        place along col = rank / 1 % 3
//     col      0 1 2 0 1 2
//
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ditron {

class MeshAxes {
public:
  struct Axis {
    std::string name;
    int64_t extent;
    bool operator==(const Axis &) const = default;
  };
  /// The ranks that differ from one another along one axis only: `extent` of them, `stride` apart.
  struct Line {
    int64_t stride, extent;
    int64_t placeOf(int64_t rank) const { return rank / stride % extent; }
    int64_t rankAt(int64_t rank, int64_t place) const {
      return rank + (place - placeOf(rank)) * stride;
    }
    bool areTogether(int64_t rank, int64_t other) const {
      return rankAt(rank, placeOf(other)) == other;
    }
    bool operator==(const Line &) const = default;
  };

  /// Reads "row=2,col=3"; empty text has no axes. None where it is something else: a name is a letter
  /// and letters, digits or _, and stands once; an extent is 1 or more; `node`, the axis of hosts,
  /// comes first.
  static std::optional<MeshAxes> parse(std::string_view text);
  /// node=N,local=L of `ranks` ranks on `nodes` nodes, which divide them.
  static MeshAxes ofNodes(int64_t ranks, int64_t nodes);
  std::string text() const;

  bool empty() const { return axes_.empty(); }
  /// The ranks of all of it; 1 without axes.
  int64_t ranks() const;
  /// The ranks along an axis. `node` is 1 long where it has no name of its own, and `local` is what a
  /// node has. None of other names.
  std::optional<Line> find(std::string_view name) const;
  const std::vector<Axis> &axes() const { return axes_; }

  bool operator==(const MeshAxes &) const = default;

private:
  std::vector<Axis> axes_;
};

/// Whether a mesh may have an axis of that name.
bool isAxisName(std::string_view name);

} // namespace ditron
