// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are exchanged before the kernel begins. Those of a group stand behind one another, in the order
// of the ranks that they come from, and the kernel computes with them as with those of one device.
#include "ditron/device/transforms/Exchanges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ditron::device;

namespace {

class JoinedWriter : ExchangeWriter {
public:
  using ExchangeWriter::ExchangeWriter;

  void write() {
    RolePair roles = begin([&](const PlacedArgument &argument) {
      return SmallVector<Value>{math_.multiply(ranks_, math_.dim(argument.value, 0)),
                                math_.dim(argument.value, 1)};
    });
    send(roles.move);
    receive(roles.compute);
  }

private:
  void send(RoleOp role) {
    Builder b(kernel_.getLoc(), kernel_.getContext());
    b.setInsertionPointToEnd(&role.getBody().front());
    sendCounts(b);
    awaitCounts(b);
    {
      OpBuilder::InsertionGuard guard(b);
      Value place = forEachPeer(b, exchange_.axis(), /*withSelf=*/true, Ring::next);
      sendRows(b, place, IndexMath(b).rankAt(exchange_.axis(), place));
    }
    // One notify tells of what all cores have put: ranks may have different numbers of them.
    b.create<BarrierOp>(BarrierScope::cores);
    onFirstCore(b);
    Value place = forEachPeer(b, exchange_.axis(), /*withSelf=*/true, Ring::next);
    notify(b, ready_, rank_, IndexMath(b).rankAt(exchange_.axis(), place));
  }

  /// Rows of all groups of the rank at `place`: they begin behind those of earlier places here, and
  /// there behind those of earlier groups, and of earlier ranks in the group.
  void sendRows(Builder &b, Value place, Value peer) {
    OpBuilder::InsertionGuard guard(b);
    IndexMath math(b);
    Value zero = math.constant(0), firstSlot = firstSlotOf(b, place);
    Value from = rowsBefore(b, firstSlot);
    auto groups = b.create<scf::ForOp>(zero, groups_, math.constant(1), ValueRange{from, zero});
    b.setInsertionPointToStart(groups.getBody());
    IndexMath inside(b);
    Value slot = inside.add(firstSlot, groups.getInductionVar());
    Value count = load(b, exchange_.counts, slot);
    Value begin = groups.getRegionIterArg(0), there = groups.getRegionIterArg(1);
    auto ofRank = [&](Builder &b, Value rank) { return sent(b, rank, slot); };
    Value to = inside.add(there, sumOver(b, zero, rank_, ofRank));
    for (auto [argument, received] : llvm::zip_equal(exchange_.rows, received_))
      putRows(b, {argument.value, begin}, {received, to}, count, peer);
    Value next = inside.add(there, sumOver(b, zero, ranks_, ofRank));
    b.create<scf::YieldOp>(ValueRange{inside.add(begin, count), next});
  }

  /// The kernel begins when all rows are there.
  void receive(RoleOp compute) {
    Builder b(kernel_.getLoc(), kernel_.getContext());
    b.setInsertionPointToStart(&compute.getBody().front());
    IndexMath math(b);
    awaitCounts(b);
    auto loop = b.create<scf::ForOp>(math.constant(0), ranks_, math.constant(1));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      b.create<WaitOp>(ready_, loop.getInductionVar(), IndexMath(b).constant(1));
    }
    for (auto [argument, received] : llvm::zip_equal(exchange_.rows, received_)) {
      auto plain = cast<MemRefType>(argument.value.getType());
      Value view = b.create<memref::MemorySpaceCastOp>(plain, received);
      argument.value.replaceUsesWithIf(
          view, [&](OpOperand &use) { return compute->isProperAncestor(use.getOwner()); });
    }
    replaceCounts(compute, [&](Builder &b, Value slot) {
      return sumOver(b, IndexMath(b).constant(0), ranks_,
                     [&](Builder &b, Value rank) { return sent(b, rank, slot); });
    });
  }
};

} // namespace

void ditron::device::joinExchange(func::FuncOp kernel, Exchange &exchange) {
  JoinedWriter(kernel, exchange).write();
}
