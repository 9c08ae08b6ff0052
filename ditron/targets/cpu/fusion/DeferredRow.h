// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A store that trails into the next tile of a loop. The last row of a tile, with all that it is
// computed from, is deferred; the next tile stores it beside its first row. It is stored before
// that where control goes another way, and after the loop, so that nothing sees it missing:
// loopToDefer() takes no loop in which other ops touch views on the way from tile to tile.
#pragma once
#include "ditron/targets/cpu/emission/Reductions.h"
#include "ditron/targets/cpu/fusion/TrailingStore.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ditron::cpu {

/// The loop whose next iteration may store the last row of a tile; none: no loop may. Collects what
/// the loop reads meanwhile.
mlir::scf::ForOp loopToDefer(const TrailingStore &trailing, const TileBuffers &buffers,
                             const ViewReads &reads, Accesses &loads);

/// A row that is yet to be stored, in variables of the function.
class DeferredRow {
public:
  /// Declares the variables, before the loop: no row is deferred. `buffers`: of the tiles that the
  /// row is computed from; of a tile of one row there are two, which tiles take in turn.
  DeferredRow(VectorBuilder &v, mlir::func::FuncOp function, TileBuffers &buffers,
              TileEmitter &emitter, const TrailingStore &trailing, const BufferMap &rowBuffers,
              mlir::scf::ForOp loop);

  /// The buffers of the tile that is being computed.
  BufferMap currentBuffers() { return buffersOf(true); }
  /// Writes `then` for where a row is deferred.
  void where(const std::function<void()> &then, const std::function<void()> &otherwise);
  /// What stores a vector of the deferred row.
  Beside store();
  /// Leaves the last row of a tile, which goes to `address` (in bytes), to the next one.
  void leave(mlir::Value address);
  /// Stores the deferred row, if there is one.
  void flush();
  /// The same wherever control goes another way than through the store.
  void flushAround();

private:
  bool hasSlots() const { return bool(slot_); }
  BufferMap buffersOf(bool isCurrent);
  mlir::Value variable(mlir::Type type);

  VectorBuilder &v_;
  TileBuffers &buffers_;
  TileEmitter &emitter_;
  const TrailingStore &trailing_;
  mlir::scf::ForOp loop_;
  mlir::Value isThere_, address_; ///< and where the row goes, in bytes
  mlir::Value slot_;              ///< which of two buffers the next tile takes; null: there is one
  BufferMap slots_[2];
};

} // namespace ditron::cpu
