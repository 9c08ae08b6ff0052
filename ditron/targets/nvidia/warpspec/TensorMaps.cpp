// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/warpspec/TensorMaps.h"
#include "ditron/device/DistOps.h"
#include "ditron/device/ProgramOrder.h"
#include "ditron/lower/Passes.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/nvidia/analysis/Guards.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/analysis/TensorViews.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace ditron::nvidia {

/// The argument's dimension that is a view's rows.
template <class Op> static unsigned rowOf(Op op, const ArgumentView &view) {
  return view.dimensionOf(static_cast<unsigned>(op.getCoords().size()) - 2);
}

Value TensorMaps::of(core::LoadOp load, Value choice, int64_t rows, bool isFitted) {
  ArgumentView view = *ArgumentView::of(choice);
  return of(view.argument, tileOf(load.getTile()).getElementType(), rowOf(load, view), rows,
            view.page != nullptr, isFitted);
}

Value TensorMaps::of(core::StoreOp store) {
  constexpr int64_t kRows = 64; // see TmaStorePatterns.cpp
  ArgumentView view = *ArgumentView::of(store.getView());
  return of(view.argument, tileOf(store.getTile()).getElementType(), rowOf(store, view), kRows,
            view.page != nullptr);
}

Value TensorMaps::of(BlockArgument view, Type element, unsigned row, int64_t rows, bool hasPages,
                     bool isFitted) {
  Builder b(function_);
  SmallVector<int64_t> box(static_cast<size_t>(cast<MemRefType>(view.getType()).getRank()), 1);
  box.back() = kPanelBytes / storageBytes(element);
  box[row] = rows;
  if (hasPages)
    box.insert(box.begin(), 1);
  SmallVector<NamedAttribute> fields{
      b.getNamedAttr("argument", b.getI64IntegerAttr(view.getArgNumber())),
      b.getNamedAttr("box", b.getDenseI64ArrayAttr(box))};
  if (element.isF32()) // as products read them
    fields.push_back(b.getNamedAttr("tf32", b.getUnitAttr()));
  if (isFitted)
    fields.push_back(b.getNamedAttr("fitted", b.getI64IntegerAttr(row)));
  DictionaryAttr wanted = b.getDictionaryAttr(fields);
  for (unsigned n = 0; n < function_.getNumArguments(); ++n)
    if (function_.getArgAttr(n, kTensorMapAttr) == wanted)
      return function_.getArgument(n);
  unsigned n = function_.getNumArguments();
  function_.insertArgument(n, LLVM::LLVMPointerType::get(function_.getContext()),
                           b.getDictionaryAttr({b.getNamedAttr(kTensorMapAttr, wanted)}),
                           function_.getLoc());
  return function_.getArgument(n);
}

/// Whether others than the host may read, while the kernel runs, what it stores to an argument: it
/// is symmetric memory, or the kernel or its copy engines read it.
static bool isReadWithin(func::FuncOp function, BlockArgument argument) {
  if (device::spaceOf(argument.getType()))
    return true;
  if (auto steps = function->getAttrOfType<ArrayAttr>(lower::kCopyProgramAttr))
    for (auto step : steps.getAsRange<DictionaryAttr>())
      if (llvm::is_contained(step.getAs<DenseI64ArrayAttr>("arguments").asArrayRef(),
                             argument.getArgNumber()))
        return true;
  WalkResult result = function.walk([&](Operation *op) {
    auto move = dyn_cast<MoveOp>(op);
    Value view = move ? move.getSource() : isa<core::StoreOp>(op) ? nullptr : viewOf(op);
    bool isOther = !view || llvm::all_of(choicesOf(view), [&](Value one) {
      BlockArgument root = rootOf(one);
      return root && root != argument;
    });
    return isOther ? WalkResult::advance() : WalkResult::interrupt();
  });
  return result.wasInterrupted();
}

/// Whether a store made by TMA has to be complete for an op behind it.
static bool mustPrecede(core::StoreOp store, Operation *reader) {
  if (!device::mayPrecede(store, reader))
    return false;
  auto function = store->getParentOfType<func::FuncOp>();
  return isa<EndOp>(reader) || isReadWithin(function, ArgumentView::of(store.getView())->argument);
}

void storeByTma(func::FuncOp function, int64_t warps, TensorMaps &maps) {
  SmallVector<core::StoreOp> stores;
  SmallVector<Operation *> readers;
  function.walk([&](Operation *op) {
    if (auto store = dyn_cast<core::StoreOp>(op); store && canStoreByTma(store, warps))
      stores.push_back(store);
    if (needsCompleteStores(op))
      readers.push_back(op);
  });
  for (Operation *reader : readers)
    if (llvm::any_of(stores, [&](core::StoreOp store) { return mustPrecede(store, reader); }))
      OpBuilder(reader).create<CompleteStoresOp>(reader->getLoc());
  for (core::StoreOp store : stores) {
    OpBuilder b(store);
    b.create<TmaStoreOp>(store.getLoc(), store.getTile(), store.getView(), store.getCoords(),
                         maps.of(store), ArgumentView::of(store.getView())->page);
    store.erase();
  }
}

} // namespace ditron::nvidia
