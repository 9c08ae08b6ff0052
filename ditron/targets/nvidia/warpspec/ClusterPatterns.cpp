// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that CTAs of a cluster add: nvidia.cluster_box and cluster_sum.
//
// In shared memory a box is the registers of all threads of each other CTA, in runs of 16 bytes, thread by
// thread, then two mbarriers: `there`, at which the owner announces the bytes that copies of the others count,
// and `taken`, at which a giver waits until all warps of the owner have read what it gave last. A giver fills
// its own box, and copies it in one piece: each store into another CTA that is counted there takes 8 ns. Each thread
// counts the rounds in a register: an alloca here, which LLVM promotes.
#include "ditron/targets/gpu/threads/Talk.h"
#include "ditron/targets/nvidia/analysis/Clusters.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {
namespace {

/// A box as one of its threads sees it.
class ClusterBox {
public:
  ClusterBox(ThreadBuilder &t, Value converted, const ClusterGift &gift, int64_t ctas)
      : t_(t), gift_(gift), ctas_(ctas) {
    base_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 0);
    round_ = t.b.create<LLVM::ExtractValueOp>(t.loc, converted, 1);
    rank_ = t.instructions.clusterRank();
    part_ = t.b.create<arith::AndIOp>(t.loc, rank_, t.i32(ctas - 1));
  }

  /// The parity of this round's phase, once for each sum.
  Value nextParity() {
    Value parity = t_.b.create<LLVM::LoadOp>(t_.loc, t_.b.getI32Type(), round_);
    t_.b.create<LLVM::StoreOp>(t_.loc, flipped(parity), round_);
    return parity;
  }
  Value isOwner() {
    return t_.b.create<arith::CmpIOp>(t_.loc, arith::CmpIPredicate::eq, part_, t_.i32(0));
  }

  /// Puts this CTA's registers into its own box, and that into the owner's.
  void give(ArrayRef<Value> values, Value parity) {
    t_.instructions.waitBarrier(taken(), flipped(parity));
    Value own = t_.offset(base_, threadOffset());
    for (int64_t reg = 0; reg < gift_.registers; reg += gift_.run()) {
      auto run = values.slice(static_cast<size_t>(reg), static_cast<size_t>(gift_.run()));
      t_.b.create<LLVM::StoreOp>(t_.loc, t_.join(run), t_.offset(own, reg * gift_.threads * 4),
                                 static_cast<unsigned>(gift_.run() * 4));
    }
    t_.instructions.fenceCopies();
    t_.instructions.barrier();
    Talk talk(t_, {});
    talk.when(talk.isFirstThread(), [&] {
      Value owner = t_.b.create<arith::SubIOp>(t_.loc, rank_, part_);
      Value place = t_.mul(t_.add(part_, t_.i32(-1)), t_.i32(gift_.bytes()));
      t_.instructions.copyInCluster(t_.add(there(base_, owner), place), base_, gift_.bytes(),
                                    there(barrierOf(0), owner));
    });
  }

  /// Adds what the others have given.
  SmallVector<Value> take(SmallVector<Value> values, Value parity) {
    Talk talk(t_, {});
    talk.when(talk.isFirstThread(),
              [&] { t_.instructions.arriveExpecting(barrierOf(0), (ctas_ - 1) * gift_.bytes()); });
    t_.b.create<NVVM::SyncWarpOp>(t_.loc, t_.i32(-1)); // no lane waits for one that it keeps back
    t_.instructions.waitBarrierOfCluster(barrierOf(0), parity);
    auto run = VectorType::get({gift_.run()}, t_.b.getF32Type());
    Value own = t_.offset(base_, threadOffset());
    for (int64_t giver = 0; giver < ctas_ - 1; ++giver)
      for (int64_t reg = 0; reg < gift_.registers; reg += gift_.run()) {
        Value place = t_.offset(own, giver * gift_.bytes() + reg * gift_.threads * 4);
        Value given =
            t_.b.create<LLVM::LoadOp>(t_.loc, run, place, static_cast<unsigned>(gift_.run() * 4));
        for (int64_t n = 0; n < gift_.run(); ++n) {
          auto at = static_cast<size_t>(reg + n);
          Value one = t_.b.create<vector::ExtractOp>(t_.loc, given, n);
          values[at] = t_.b.create<arith::AddFOp>(t_.loc, values[at], one);
        }
      }
    release();
    return values;
  }

private:
  /// A lane of each warp tells each giver, whose copies come behind what the warp has loaded.
  void release() {
    t_.instructions.fenceShared();
    t_.b.create<NVVM::SyncWarpOp>(t_.loc, t_.i32(-1));
    auto is = [&](arith::CmpIPredicate predicate, int64_t lane) {
      return t_.b.create<arith::CmpIOp>(t_.loc, predicate, t_.context.lane, t_.i32(lane));
    };
    Value chosen = t_.b.create<arith::AndIOp>(t_.loc, is(arith::CmpIPredicate::uge, 1),
                                              is(arith::CmpIPredicate::ult, ctas_));
    t_.instructions.arriveInCluster(there(barrierOf(1), t_.add(rank_, t_.context.lane)), chosen);
  }

  Value flipped(Value parity) { return t_.b.create<arith::XOrIOp>(t_.loc, parity, t_.i32(1)); }
  Value threadOffset() {
    Value thread = t_.add(t_.mul(t_.context.warp, t_.i32(kLanes)), t_.context.lane);
    return t_.mul(thread, t_.i32(gift_.run() * 4));
  }
  Value barrierOf(int64_t number) {
    return t_.offset(base_, (ctas_ - 1) * gift_.bytes() + number * kBarrierBytes);
  }
  Value taken() { return barrierOf(1); }
  /// A place of this box in the CTA of a rank: i32.
  Value there(Value place, Value rank) {
    Value here = t_.b.create<LLVM::PtrToIntOp>(t_.loc, t_.b.getI32Type(), place);
    return t_.instructions.mapToCta(here, rank);
  }

  ThreadBuilder &t_;
  const ClusterGift &gift_;
  int64_t ctas_;
  Value base_, round_, rank_, part_;
};

struct ClusterBoxPattern : TilePattern<ClusterBoxOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ClusterBoxOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    mlir::Location loc = op.getLoc();
    ThreadBuilder t(b, loc, context_);
    auto sum = cast<ClusterSumOp>(*op->user_begin());
    auto ctas = static_cast<int64_t>(sum.getCtas());
    ClusterGift gift(sum, context_.warps);
    Value base = t.shared(context_.shared.allocate(gift.boxBytes(ctas))), round = t.makeWords();
    b.create<LLVM::StoreOp>(loc, t.i32(0), round);
    t.makeBarriers(t.offset(base, (ctas - 1) * gift.bytes()), {1, context_.warps});
    t.instructions.meetInCluster(/*isWhole=*/true);
    if (!op->getParentOfType<func::FuncOp>()->hasAttr(gpu::kProducerWarpsAttr))
      meetAtEnd(op, t);
    Value box = b.create<LLVM::UndefOp>(loc, pipeType(b.getContext()));
    box = b.create<LLVM::InsertValueOp>(loc, box, base, 0);
    b.replaceOpWithNewOp<LLVM::InsertValueOp>(op, box, round, 1);
    return success();
  }

private:
  /// No CTA leaves while others may reach into its shared memory: of a kernel without roles, which see to
  /// it themselves.
  static void meetAtEnd(ClusterBoxOp op, ThreadBuilder &t) {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPoint(op->getParentOfType<func::FuncOp>().front().getTerminator());
    t.instructions.meetInCluster(/*isWhole=*/false);
  }
};

struct ClusterSumPattern : TilePattern<ClusterSumOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ClusterSumOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    ClusterGift gift(op, context_.warps);
    ClusterBox box(t, adaptor.getBox(), gift, static_cast<int64_t>(op.getCtas()));
    Value parity = box.nextParity(), given = adaptor.getTile();
    SmallVector<Value> values = t.split(given);
    auto branch = b.create<scf::IfOp>(op.getLoc(), TypeRange(given.getType()), box.isOwner(), true);
    b.setInsertionPointToStart(branch.thenBlock());
    b.create<scf::YieldOp>(op.getLoc(), t.join(box.take(values, parity)));
    b.setInsertionPointToStart(branch.elseBlock());
    box.give(values, parity);
    b.create<scf::YieldOp>(op.getLoc(), given);
    b.replaceOp(op, branch.getResult(0));
    return success();
  }
};

} // namespace

void addClusterPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                        const ThreadContext &context) {
  patterns.add<ClusterBoxPattern, ClusterSumPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
