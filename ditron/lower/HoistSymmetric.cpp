// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lower-hoist-symmetric: symmetric memory is allocated by the launcher, and becomes arguments.
//
//   func.func @k(%A: memref<?x?xf16, ...>) attributes {tile.kernel} {
//     %m = memref.dim %A, %c0 : ...
//     %t = arith.ceildivsi %m, %c128 : index
//     %full = dist.symmetric "full"(%t) : memref<?xf16, ..., #dist.space<symmetric>>
//     ...
// becomes
//   func.func @k(%A: memref<?x?xf16, ...>, %full: memref<?xf16, ..., #dist.space<symmetric>>)
//       attributes {dist.arguments = [{name = "A", kind = "view", type = "f16", rank = 2}],
//                   dist.symmetric = [{name = "full", kind = "buffer", element_bytes = 2,
//                                      extents = ["a0.0 128 ceildiv"]}], ...}
//
// An inbox becomes a buffer of words, with the words of a slot (Packets.h) as last dimension. What is known of extents,
// an argument says as others do (core/KnownShape.h). A launch evaluates the extents (abi/Extent.h); a kernel whose extents
// need more than that form has is refused at the op that does. test/lower/hoist-symmetric.mlir shows it.
#include "ditron/core/ElementType.h"
#include "ditron/core/KnownShape.h"
#include "ditron/device/DistOps.h"
#include "ditron/lower/ExtentText.h"
#include "ditron/lower/Packets.h"
#include "ditron/lower/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace ditron::lower {

#define GEN_PASS_DEF_HOISTSYMMETRIC
#include "ditron/lower/Passes.h.inc"

namespace {

SmallVector<Operation *> requestsOf(func::FuncOp kernel) {
  SmallVector<Operation *> requests;
  for (Operation &op : kernel.getBody().front())
    if (isa<device::SymmetricOp, device::SignalsOp, device::InboxOp>(op))
      requests.push_back(&op);
  return requests;
}

/// An extent of a symmetric buffer is what it was declared with: a launch knows that one. Slices go
/// on saying that they take all of it.
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

/// The text of an extent; null where a launch cannot evaluate it, which is an error.
StringAttr extentOf(Value value) {
  ExtentText text;
  if (succeeded(text.add(value)))
    return StringAttr::get(value.getContext(), text.text());
  text.culprit()->emitError() << "the extents of symmetric memory are computed by "
                              << text.culprit()->getName()
                              << ", which launches cannot evaluate; expected arithmetic of extents "
                                 "of arguments, integer arguments and the number of ranks";
  return nullptr;
}

/// Words of a slot of an inbox.
int64_t wordsOfSlot(device::InboxOp box) {
  auto type = cast<device::InboxType>(box.getInbox().getType());
  return PacketLayout(type.getTile()).all() * kPacketWords;
}

/// A request as abi::Symmetric has it; null after an error.
DictionaryAttr described(Operation *request) {
  Builder b(request->getContext());
  StringRef kind = isa<device::SignalsOp>(request) ? "signals"
                   : isa<device::InboxOp>(request) ? "inbox"
                                                   : "buffer";
  int64_t bytes = 8;
  if (auto buffer = dyn_cast<MemRefType>(request->getResult(0).getType()))
    bytes = core::elementBytes(buffer.getElementType());
  SmallVector<Attribute> extents;
  for (Value extent : request->getOperands()) {
    extents.push_back(extentOf(extent));
    if (!extents.back())
      return nullptr;
  }
  if (auto box = dyn_cast<device::InboxOp>(request)) {
    bytes = kPacketBytes / kPacketWords;
    extents.push_back(b.getStringAttr(std::to_string(wordsOfSlot(box))));
  }
  return b.getDictionaryAttr({b.getNamedAttr("name", request->getAttr("name")),
                              b.getNamedAttr("kind", b.getStringAttr(kind)),
                              b.getNamedAttr("element_bytes", b.getI64IntegerAttr(bytes)),
                              b.getNamedAttr("extents", b.getArrayAttr(extents)),
                              b.getNamedAttr("fixed", b.getBoolAttr(false))});
}

/// An argument as abi::Argument has it.
DictionaryAttr described(func::FuncOp kernel, BlockArgument argument) {
  Builder b(kernel.getContext());
  auto view = dyn_cast<MemRefType>(argument.getType());
  auto name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), core::kNameAttr);
  std::optional<DType> type = core::dtypeOf(argument.getType());
  StringRef kind = view ? "view" : argument.getType().isIndex() ? "index" : "scalar";
  return b.getDictionaryAttr(
      {b.getNamedAttr("name", name ? name : b.getStringAttr("")),
       b.getNamedAttr("kind", b.getStringAttr(kind)),
       b.getNamedAttr("type", b.getStringAttr(ditron::name(type.value_or(DType::i64)))),
       b.getNamedAttr("rank", b.getI64IntegerAttr(view ? view.getRank() : 0))});
}

/// What is known of a request's memory, beside its name: it is dense.
DictionaryAttr known(Operation *request) {
  Builder b(request->getContext());
  SmallVector<NamedAttribute> attributes{b.getNamedAttr(core::kDenseAttr, b.getUnitAttr()),
                                         b.getNamedAttr(core::kUnitStrideAttr, b.getUnitAttr()),
                                         b.getNamedAttr(core::kNameAttr, request->getAttr("name"))};
  auto extents = llvm::map_to_vector(request->getOperands(), [](Value extent) {
    return getConstantIntValue(extent).value_or(core::kUnknownExtent);
  });
  if (auto box = dyn_cast<device::InboxOp>(request))
    extents.push_back(wordsOfSlot(box));
  if (llvm::any_of(extents, [](int64_t extent) { return extent != core::kUnknownExtent; }))
    attributes.push_back(b.getNamedAttr(core::kKnownExtentsAttr, b.getDenseI64ArrayAttr(extents)));
  return b.getDictionaryAttr(attributes);
}

/// Replaces a request by a new last argument of the kernel.
void hoist(func::FuncOp kernel, Operation *request) {
  OpBuilder b(request);
  Type type = request->getResult(0).getType();
  bool isSignals = isa<device::SignalsOp>(request), isInbox = isa<device::InboxOp>(request);
  if (isSignals || isInbox)
    type =
        device::viewType(request->getNumOperands() + isInbox,
                         isInbox ? b.getI32Type() : b.getI64Type(), device::SpaceKind::symmetric);
  unsigned n = kernel.getNumArguments();
  kernel.insertArgument(n, type, known(request), request->getLoc());
  Value argument = kernel.getArgument(n);
  if (isSignals || isInbox)
    argument = b.create<UnrealizedConversionCastOp>(request->getLoc(),
                                                    request->getResult(0).getType(), argument)
                   .getResult(0);
  request->getResult(0).replaceAllUsesWith(argument);
  request->erase();
}

LogicalResult hoistAll(func::FuncOp kernel) {
  Builder b(kernel.getContext());
  SmallVector<Attribute> arguments, symmetric;
  for (BlockArgument argument : kernel.getArguments())
    arguments.push_back(described(kernel, argument));
  SmallVector<Operation *> requests = requestsOf(kernel);
  forwardExtents(requests);
  for (Operation *request : requests) {
    symmetric.push_back(described(request));
    if (!symmetric.back())
      return failure();
  }
  for (Operation *request : requests)
    hoist(kernel, request);
  kernel->setAttr(kArgumentsAttr, b.getArrayAttr(arguments));
  kernel->setAttr(kSymmetricAttr, b.getArrayAttr(symmetric));
  return success();
}

class HoistSymmetric : public impl::HoistSymmetricBase<HoistSymmetric> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(core::kKernelAttr))
        kernels.push_back(function);
    for (func::FuncOp kernel : kernels)
      if (failed(hoistAll(kernel)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace ditron::lower
