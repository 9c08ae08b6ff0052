// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-describe-symmetric: the plan of a kernel's symmetric memory, which lower-hoist-symmetric
// wrote as a function, becomes text that a launch evaluates:
//
//   func.func @k_plan(%A: memref<?x?xf16, ...>, %extents: memref<?xi64>) attributes {dist.plan} {
//     %m = memref.dim %A, %c0 : ...
//     %t = arith.ceildivsi %m, %c128 : index
//     memref.store (%t as i64), %extents[%c0]
// becomes an attribute of the kernel:
//   simt.symmetric = [{name = "full", kind = "buffer", bytes = 2, extents = ["a0.0 c128
//   ceildiv"]}]
//
// An extent is text as of ExtentText.h; a kernel whose plan needs more than that is refused at the
// op. test/targets/gpu/symmetric.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/lower/Passes.h"
#include "ditron/targets/gpu/analysis/ExtentText.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_DESCRIBESYMMETRIC
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

class DescribeSymmetric : public impl::DescribeSymmetricBase<DescribeSymmetric> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> plans;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(lower::kPlanAttr))
        plans.push_back(function);
    for (func::FuncOp plan : plans) {
      StringRef name = plan.getName();
      name.consume_back("_plan");
      auto kernel = getOperation().lookupSymbol<func::FuncOp>(name);
      if (failed(describe(plan, kernel)))
        return signalPassFailure();
      plan.erase();
    }
  }

  LogicalResult describe(func::FuncOp plan, func::FuncOp kernel) {
    Builder b(&getContext());
    SmallVector<Attribute> extents; // of all requests
    for (auto store : plan.getOps<memref::StoreOp>()) {
      ExtentText text;
      if (failed(text.add(store.getValueToStore())))
        return text.culprit()->emitError()
               << "the extents of symmetric memory are computed by " << text.culprit()->getName()
               << ", which launches on GPUs cannot evaluate; expected arithmetic of extents of "
                  "arguments, integer arguments and the number of ranks";
      extents.push_back(b.getStringAttr(text.text()));
    }
    ArrayRef<Attribute> rest = extents;
    SmallVector<Attribute> described;
    auto requests = kernel->getAttrOfType<ArrayAttr>(lower::kRequestsAttr);
    for (auto request : requests.getAsRange<DictionaryAttr>()) {
      auto rank = static_cast<size_t>(request.getAs<IntegerAttr>("rank").getInt());
      NamedAttrList entries(request);
      entries.erase("rank");
      entries.set("extents", b.getArrayAttr(rest.take_front(rank)));
      described.push_back(entries.getDictionary(&getContext()));
      rest = rest.drop_front(rank);
    }
    kernel->setAttr(kSymmetricAttr, b.getArrayAttr(described));
    return success();
  }
};

} // namespace
} // namespace ditron::gpu
