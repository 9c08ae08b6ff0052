// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments on their way to all ranks, and the roles that move them.
//
// Each rank has a slot for every shard. By default a rank puts its own shard to every other rank, the
// previous one first. Along a ring it puts to the previous rank alone: its own shard first, then those
// that come from the next rank, in the order in which they come. Both ways a rank has its own shard
// first, then the next ranks'.
//
// Two arguments may be gathered along one dimension over different axes of the mesh, as both operands
// of a product are. Their shards have to come in one order. On rings it begins with the shard whose
// number is the sum of the places along the axes, and each rank first puts its own shard to the one
// that begins with it. That is Cannon's algorithm.
//
#pragma once
#include "ditron/device/transforms/LoopCutter.h"
#include "ditron/device/transforms/PlacedKernel.h"

namespace ditron::device {

/// One argument on its way to all ranks.
struct Gather {
  PlacedArgument placed;
  int64_t chunk = 0;    ///< elements along the gathered dimension
  bool byShard = false; ///< one counter for each shard, not for each chunk along the dimension
  llvm::SmallVector<int64_t> shape = {}; ///< of a chunk: its last dimensions
  mlir::Value buffer = {}, ready = {};
  mlir::Value passing = {}; ///< what copy engines hand on along a ring: counters of shards
  llvm::SmallVector<mlir::Value> grid = {}; ///< chunks along each dimension
  mlir::Value expected = {};                ///< notifies that a counter gets

  mlir::Value rank = {}, ranks = {}; ///< this rank's place along the axis, and how many have parts
  mlir::Value skew =
      {}; ///< of a ring: how many places behind the own shard the first one is; or null

  int64_t dim() const { return placed.placement.getDim(); }
  llvm::StringRef axis() const { return placed.placement.getAxis(); }
  bool isByCores() const { return placed.placement.getEngine() == Engine::core; }
  bool isRing() const { return placed.placement.getRing(); }
  /// Whether all cores move it before they compute: along no ring, the own part then stays where it is, as with copy engines,
  /// and what the others have is waited for as a whole.
  bool isBefore() const { return isByCores() && !isRing() && placed.placement.getCores() == 0; }
  bool keepsOwn() const { return !isByCores() || isBefore(); }
};

/// The buffer that all parts go to, and the counters of what has come. `top`: in the entry block.
void allocateGather(mlir::ImplicitLocOpBuilder &top, Gather &gather);

/// Own chunks, and along a ring others', to those that are to have them; at the end of the role.
void sendGather(const Gather &gather, RoleOp role);

} // namespace ditron::device
