// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lower-hoist-symmetric: symmetric memory is allocated by the launcher.
//
//   func.func @k(%A: memref<?x?xf16, ...>) attributes {tile.kernel} {
//     %m = memref.dim %A, %c0 : ...
//     %full = dist.symmetric "full"(%m) : memref<?xf16, ..., #dist.space<symmetric>>
//     ...
// becomes
//   func.func @k(%A: memref<?x?xf16, ...>, %full: memref<?xf16, ..., #dist.space<symmetric>>)
//       attributes {dist.requests = [{name = "full", kind = "buffer", bytes = 2, rank = 1}], ...}
//   func.func @k_plan(%A: memref<?x?xf16, ...>, %extents: memref<?xi64>) attributes {dist.plan} {
//     %m = memref.dim %A, %c0 : ...
//     memref.store %m as i64, %extents[%c0]
//
// The plan is run before each launch with the launch's arguments; it stores the extents of all
// requests, one after the other. test/lower/hoist-symmetric.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/lower/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ditron::lower {

#define GEN_PASS_DEF_HOISTSYMMETRIC
#include "ditron/lower/Passes.h.inc"

namespace {

SmallVector<Operation *> requestsOf(func::FuncOp kernel) {
  SmallVector<Operation *> requests;
  for (Operation &op : kernel.getBody().front())
    if (isa<device::SymmetricOp, device::SignalsOp>(op))
      requests.push_back(&op);
  return requests;
}

/// An extent of a symmetric buffer is what it was declared with: no plan reads it from memory.
/// Slices go on saying that they take all of it.
void forwardExtents(ArrayRef<Operation *> requests) {
  for (Operation *request : requests)
    for (Operation *user : llvm::make_early_inc_range(request->getUsers())) {
      auto dim = dyn_cast<memref::DimOp>(user);
      std::optional<int64_t> n = dim ? dim.getConstantIndex() : std::nullopt;
      if (!n)
        continue;
      dim.getResult().replaceUsesWithIf(request->getOperand(*n), [](OpOperand &use) {
        return !isa<memref::SubViewOp>(use.getOwner());
      });
      if (dim.use_empty())
        dim.erase();
    }
}

/// A function of the kernel's arguments that stores the extents of all requests.
void makePlan(func::FuncOp kernel, ArrayRef<Operation *> requests) {
  OpBuilder b(kernel);
  mlir::Location loc = kernel.getLoc();
  SmallVector<Type> types(kernel.getArgumentTypes());
  types.push_back(MemRefType::get({ShapedType::kDynamic}, b.getI64Type()));
  auto plan =
      b.create<func::FuncOp>(loc, (kernel.getName() + "_plan").str(), b.getFunctionType(types, {}));
  plan->setAttr(kPlanAttr, b.getUnitAttr());
  b.setInsertionPointToEnd(plan.addEntryBlock());

  IRMapping mapping;
  mapping.map(kernel.getArguments(), plan.getArguments().drop_back());
  llvm::SetVector<Operation *> slice;
  for (Operation *request : requests)
    for (Value extent : request->getOperands())
      if (Operation *op = extent.getDefiningOp()) {
        getBackwardSlice(op, &slice);
        slice.insert(op);
      }
  for (Operation &op : kernel.getBody().front()) // in program order
    if (slice.contains(&op))
      b.clone(op, mapping);
  int64_t n = 0;
  for (Operation *request : requests)
    for (Value extent : request->getOperands()) {
      Value value = b.create<arith::IndexCastOp>(loc, b.getI64Type(), mapping.lookup(extent));
      Value at = b.create<arith::ConstantIndexOp>(loc, n++);
      b.create<memref::StoreOp>(loc, value, plan.getArguments().back(), at);
    }
  b.create<func::ReturnOp>(loc);
}

/// Replaces a request by a new last argument of the kernel; describes it for the launcher.
Attribute hoist(func::FuncOp kernel, Operation *request) {
  Builder attributes(request);
  OpBuilder b(request);
  bool isSignals = isa<device::SignalsOp>(request);
  Type type = request->getResult(0).getType();
  int64_t rank = request->getNumOperands();
  if (isSignals)
    type = device::viewType(rank, b.getI64Type(), device::SpaceKind::symmetric);
  int64_t bytes = core::elementBytes(cast<MemRefType>(type).getElementType());
  StringAttr name = request->getAttrOfType<StringAttr>("name");
  auto unitStride = attributes.getDictionaryAttr(
      {attributes.getNamedAttr(core::kUnitStrideAttr, attributes.getUnitAttr()),
       attributes.getNamedAttr(core::kNameAttr, name)});
  unsigned n = kernel.getNumArguments();
  kernel.insertArgument(n, type, unitStride, request->getLoc());
  Value argument = kernel.getArgument(n);
  if (isSignals)
    argument = b.create<UnrealizedConversionCastOp>(request->getLoc(),
                                                    request->getResult(0).getType(), argument)
                   .getResult(0);
  request->getResult(0).replaceAllUsesWith(argument);
  request->erase();
  return attributes.getDictionaryAttr(
      {attributes.getNamedAttr("name", name),
       attributes.getNamedAttr("kind", attributes.getStringAttr(isSignals ? "signals" : "buffer")),
       attributes.getNamedAttr("bytes", attributes.getI64IntegerAttr(bytes)),
       attributes.getNamedAttr("rank", attributes.getI64IntegerAttr(rank))});
}

class HoistSymmetric : public impl::HoistSymmetricBase<HoistSymmetric> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(core::kKernelAttr))
        kernels.push_back(function);
    for (func::FuncOp kernel : kernels) {
      SmallVector<Operation *> requests = requestsOf(kernel);
      forwardExtents(requests);
      makePlan(kernel, requests);
      SmallVector<Attribute> described;
      for (Operation *request : requests)
        described.push_back(hoist(kernel, request));
      kernel->setAttr(kRequestsAttr, ArrayAttr::get(&getContext(), described));
    }
  }
};

} // namespace
} // namespace ditron::lower
