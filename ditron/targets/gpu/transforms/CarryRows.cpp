// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-carry-rows: a task of a graph has its row of the table when it begins.
//
//   scf.for %t = %first to %end step %c1 {
//     %type = memref.load %tasks[%t, %c0]
//     ...
//     scf.if %isProduct { %view = memref.load %tasks[%t, %c10] ... } {dist.alternative = 0}
//   }
// becomes
//   %row = simt.row %tasks[%first] below %end
//   scf.for %t = %first to %end step %c1 iter_args(%words = %row) {
//     %next = simt.row %tasks[%t + 1] below %end
//     %type = simt.column 0 of %words : i64
//     ...
//     scf.if %isProduct { %view = simt.column 10 of %words : i64 ... } {dist.alternative = 0}
//     scf.yield %next
//   }
//
// What a task is, and where its operands are, it would have to find out before it can do anything else, and a trip to the
// last cache takes long while memory is busy. Threads that compute carry rows; a producer is ahead of them anyway. Columns
// beyond the lanes of a warp are read as before. test/targets/gpu/carry-rows.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_CARRYROWS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Whether a loop is that over the tasks of a core, as threads that compute execute it: they say what is done.
bool isOfTasks(scf::ForOp loop) {
  auto isType = [](Operation &op) { return op.hasAttr(device::kAlternativeAttr); };
  auto notifies = [](Operation *op) {
    return isa<NotifyOp, NotifyLoggedOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return llvm::any_of(*loop.getBody(), isType) && loop->walk(notifies).wasInterrupted() &&
         loop.getNumResults() == 0;
}

/// The column of the loop's row that an op reads; none where it reads something else, or what tasks may write.
std::optional<int64_t> columnOf(memref::LoadOp load, scf::ForOp loop) {
  constexpr int64_t kFewestLanes = 32; // of any target
  if (load.getMemRefType().getRank() != 2 || !load.getType().isInteger(64) ||
      load.getIndices()[0] != loop.getInductionVar() ||
      !loop.isDefinedOutsideOfLoop(load.getMemRef()) || !isReadOnly(load.getMemRef()))
    return std::nullopt;
  std::optional<int64_t> column = getConstantIntValue(load.getIndices()[1]);
  return column && *column < kFewestLanes ? column : std::nullopt;
}

/// Reads a column of the carried row instead; half of it where no more is asked for.
void take(memref::LoadOp load, Value words, int64_t column) {
  OpBuilder b(load);
  auto columnOf = [&](Type type) {
    return b.create<ColumnOp>(load.getLoc(), type, static_cast<uint64_t>(column), words).getWord();
  };
  auto isHalf = [&](Operation *user) {
    return isa<arith::TruncIOp>(user) && user->getResult(0).getType() == b.getI32Type();
  };
  if (llvm::all_of(load->getUsers(), isHalf)) {
    Value half = columnOf(b.getI32Type());
    for (Operation *user : llvm::make_early_inc_range(load->getUsers())) {
      user->getResult(0).replaceAllUsesWith(half);
      user->erase();
    }
  } else {
    load.replaceAllUsesWith(columnOf(b.getI64Type()));
  }
  load.erase();
}

void carry(scf::ForOp loop) {
  llvm::MapVector<Value, SmallVector<std::pair<memref::LoadOp, int64_t>>> tables;
  loop.walk([&](memref::LoadOp load) {
    if (std::optional<int64_t> column = columnOf(load, loop))
      tables[load.getMemRef()].emplace_back(load, *column);
  });
  if (tables.empty())
    return;
  OpBuilder b(loop);
  mlir::Location loc = loop.getLoc();
  SmallVector<Value> first;
  for (auto &[table, loads] : tables)
    first.push_back(
        b.create<RowOp>(loc, b.getI64Type(), table, loop.getLowerBound(), loop.getUpperBound()));
  auto carrying =
      b.create<scf::ForOp>(loc, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), first);
  b.setInsertionPointToStart(carrying.getBody());
  Value after = b.create<arith::AddIOp>(loc, carrying.getInductionVar(), loop.getStep());
  SmallVector<Value> next;
  for (auto &[table, loads] : tables)
    next.push_back(b.create<RowOp>(loc, b.getI64Type(), table, after, loop.getUpperBound()));
  for (auto [words, entry] : llvm::zip(carrying.getRegionIterArgs(), tables))
    for (auto [load, column] : entry.second)
      take(load, words, column);
  loop.getInductionVar().replaceAllUsesWith(carrying.getInductionVar());
  loop.getBody()->getTerminator()->erase();
  carrying.getBody()->getOperations().splice(carrying.getBody()->end(),
                                             loop.getBody()->getOperations());
  b.setInsertionPointToEnd(carrying.getBody());
  b.create<scf::YieldOp>(loc, next);
  loop.erase();
}

class CarryRows : public impl::CarryRowsBase<CarryRows> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (isOfTasks(loop))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      carry(loop);
  }
};

} // namespace
} // namespace ditron::gpu
