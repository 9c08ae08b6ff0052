// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it takes to go from one layout of a tile to another. Both map elements to places, so the
// places where an element is and where it is wanted can be compared axis by axis. The outermost
// axis on which they differ is how far data must travel, and that names the means: a register move,
// a shuffle, shared memory, a network. There is no list of pairs of layouts; a sharded tile
// becoming a replicated one (an all-gather) and a fragment becoming another one are the same
// question.
//
//   from                              to                                 reach
//   (2 : 1@reg, 2 : 2@reg)            (2 : 2@reg, 2 : 1@reg)             thread   registers renamed
//   (8 : 1@lane | replicate 4 : 1@reg) (8 : 1@lane)                      none     it is all there
//   (8 : 4@lane, 4 : 1@lane)          (8 : 1@lane, 4 : 8@lane)           warp     shuffles
//   (4 : 1@warp, 32 : 1@lane)         (128 : 1@reg | replicate 32 : 1@lane)  core
//   (4 : 1@local, 64 : 1@m)           (256 : 1@m | replicate 4 : 1@local)    node     an all-gather
//   (256 : 1@m | replicate 4 : 1@local)  (4 : 1@local, 64 : 1@m)         core     each takes its
//   part
//
#pragma once
#include "ditron/core/Layout.h"

namespace ditron::core {

/// The smallest part of the machine that no element leaves: none (nothing moves), a thread (a
/// lane's registers), a warp (shuffles), a core (its shared memory; also loads and stores), a
/// device (global memory), a node (links between ranks), the cluster (network).
enum class Reach : uint8_t { none, thread, warp, core, device, node, cluster };
std::string_view name(Reach reach);

/// The way from `source` to `target`, two layouts of one tile. A layout that uses m is of memory,
/// which all warps, lanes and registers of a core reach alike; other layouts are of registers.
class Conversion {
public:
  /// InternalError if the sizes differ or `target` is not injective.
  Conversion(Layout source, Layout target);

  Reach reach() const;
  /// Some element has no replica in `source` with the coordinate on this axis that `target` wants.
  bool changes(Axis axis) const { return changes_[static_cast<int>(axis)]; }
  bool fromMemory() const { return source_.uses(Axis::m); }
  bool toMemory() const { return target_.uses(Axis::m); }

  /// Where to take what `place` of `target` wants, a replica that shares with it as many
  /// coordinates as any. Without a value if `target` has nothing there.
  std::optional<Coordinates> sourceOf(const Coordinates &place) const;

  /// sourceOf as a layout, where it is one: from the box of places of `target` on `axes` to places
  /// of `source` (the first replicas). Lowerings read shuffles off its iters.
  std::optional<Layout> quotient(std::span<const Axis> axes) const;

private:
  bool differs(Axis axis) const;

  Layout source_, target_;
  std::array<bool, kAxisCount> changes_{};
};

/// Banked memory: consecutive words of `wordBytes` lie in consecutive of `count` banks, and each
/// bank serves one word at a time (to any number of lanes).
struct Banks {
  int64_t count = 32, wordBytes = 4;
};

/// The cost of moving a tile between registers and banked memory.
struct AccessCost {
  int64_t accesses = 0;   ///< instructions, summed over the warps
  int64_t wavefronts = 0; ///< passes through the banks
  int64_t ideal = 0;      ///< passes if the words were spread evenly over the banks
  int64_t conflicts() const { return wavefronts - ideal; }
};

/// Every warp of `registers` accesses `memory`, `vector` consecutive registers at a time; lanes are
/// served in groups of as many as fill the banks once. Without a value if the elements of such a
/// vector are not consecutive and aligned in memory. InternalError if the sizes differ or a number
/// is not positive.
std::optional<AccessCost> accessCost(const Layout &memory, const Layout &registers,
                                     int64_t elementBytes, int64_t vector, Banks banks = {});

} // namespace ditron::core
