// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-join-regions: the regions of a kernel get one CTA.
//
//   simt.enter @k_region0(%X)                                 // 4 warps
//   simt.enter @k_region1(%X)                                 // 8, and 4 producer warps
// becomes
//   scf.if (thread < 128) { func.call @k_region0(%X) }
//   simt.sync "cta"
//   func.call @k_region1(%X, %map)
//   simt.sync "cta"
//
// The CTA has as many warps as the largest region; those that a region does not have wait behind
// it. All threads meet behind each region, so the next one may use the same shared memory. Tensor
// maps that a region has been given become arguments of the kernel.
// test/targets/nvidia/regions.mlir shows it.
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_JOINREGIONS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

class JoinRegions : public impl::JoinRegionsBase<JoinRegions> {
public:
  using JoinRegionsBase::JoinRegionsBase;

private:
  void runOnOperation() override {
    const GpuTarget *target = targetNamed(targetName, getOperation());
    if (!target)
      return signalPassFailure();
    for (func::FuncOp kernel : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!isRegion(kernel) && entersRegions(kernel) && failed(join(kernel, *target)))
        return signalPassFailure();
  }

  static bool entersRegions(func::FuncOp kernel) {
    return kernel.walk([](EnterOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  LogicalResult join(func::FuncOp kernel, const GpuTarget &target) {
    SmallVector<EnterOp> entries;
    kernel.walk([&](EnterOp entry) { entries.push_back(entry); });
    for (EnterOp entry : entries)
      if (auto region = getOperation().lookupSymbol<func::FuncOp>(entry.getRegion());
          !region || !isRegion(region))
        return entry.emitOpError() << "enters @" << entry.getRegion() << ", expected a region";
    int64_t warps = 0, ctas = INT64_MAX;
    for (func::FuncOp region : regionsOf(kernel)) {
      if (warps && warps != ownWarpsOf(region) && !target.traits().meetsInPart)
        return region.emitError() << "is a region of " << ownWarpsOf(region)
                                  << " warps behind one of " << warps << ", but on "
                                  << target.name() << " all warps of a CTA meet: expected as many";
      warps = std::max(warps, ownWarpsOf(region));
      ctas = std::min(ctas, ctasPerSmOf(region));
    }
    setCta(kernel, warps, ctas);
    for (EnterOp entry : entries) {
      auto region = getOperation().lookupSymbol<func::FuncOp>(entry.getRegion());
      guard(call(kernel, entry, region), ownWarpsOf(region), warps, target);
    }
    return success();
  }

  static void setCta(func::FuncOp kernel, int64_t warps, int64_t ctas) {
    Builder attributes(kernel);
    kernel->setAttr(kWarpsAttr, attributes.getI64IntegerAttr(warps));
    kernel->setAttr(kCtasPerSmAttr, attributes.getI64IntegerAttr(ctas));
    for (func::FuncOp region : regionsOf(kernel)) {
      region->setAttr(kCtaWarpsAttr, attributes.getI64IntegerAttr(warps));
      region->setAttr(kCtasPerSmAttr, attributes.getI64IntegerAttr(ctas));
    }
  }

  /// Tensor maps come behind what the entry has.
  static func::CallOp call(func::FuncOp kernel, EnterOp entry, func::FuncOp region) {
    SmallVector<Value> operands(entry.getOperands());
    for (auto n = static_cast<unsigned>(operands.size()); n < region.getNumArguments(); ++n)
      operands.push_back(
          mapOf(kernel, region.getArgument(n).getType(), region.getArgAttr(n, kTensorMapAttr)));
    OpBuilder b(entry);
    auto call = b.create<func::CallOp>(entry.getLoc(), region, operands);
    entry.erase();
    return call;
  }

  /// The kernel's argument for a tensor map.
  static Value mapOf(func::FuncOp kernel, Type type, Attribute map) {
    unsigned count = kernel.getNumArguments();
    for (unsigned n = 0; n < count; ++n)
      if (kernel.getArgAttr(n, kTensorMapAttr) == map)
        return kernel.getArgument(n);
    Builder b(kernel);
    kernel.insertArgument(count, type, b.getDictionaryAttr({b.getNamedAttr(kTensorMapAttr, map)}),
                          kernel.getLoc());
    return kernel.getArgument(count);
  }

  static void guard(func::CallOp call, int64_t own, int64_t warps, const GpuTarget &target) {
    OpBuilder b(call->getContext());
    b.setInsertionPointAfter(call);
    b.create<SyncOp>(call.getLoc(), "cta");
    if (own == warps)
      return;
    b.setInsertionPoint(call);
    Value thread = target.instructions(b, call.getLoc())->thread();
    Value count = b.create<arith::ConstantIntOp>(call.getLoc(), own * target.traits().lanes, 32);
    Value isIn = b.create<arith::CmpIOp>(call.getLoc(), arith::CmpIPredicate::ult, thread, count);
    auto branch = b.create<scf::IfOp>(call.getLoc(), isIn);
    call->moveBefore(branch.thenBlock()->getTerminator());
  }
};

} // namespace
} // namespace ditron::gpu
