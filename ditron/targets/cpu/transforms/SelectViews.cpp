// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpu-select-views: a view that is chosen among arguments is read from the words of the launch.
//
//   func.func @k(%a: memref<?xf32, ...>, %b: memref<?xf32, ...>, %n: index, %context: !llvm.ptr) {
//     %x = tile.select_view %n of (%a, %b) : memref<?xf32, ...>
// becomes
//   llvm.mlir.global internal constant @words_0(dense<[0, 3]> : tensor<2xi64>)
//   func.func @k(%n: index, %context: !llvm.ptr) attributes {cpu.first_words = [6]} {
//     %first = llvm.load (@words_0 + %n)
//     %x = the view of the words from %first on
//
// Arguments that are only chosen among are none of the function any more: its code does not grow
// with their number. test/targets/cpu/select-views.mlir shows it.
#include "ditron/abi/LaunchWords.h"
#include "ditron/core/TileOps.h"
#include "ditron/targets/cpu/transforms/Passes.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"

using namespace mlir;

namespace ditron::cpu {

#define GEN_PASS_DEF_SELECTVIEWS
#include "ditron/targets/cpu/transforms/Passes.h.inc"

namespace {

bool isScratch(Type type) {
  auto view = dyn_cast<MemRefType>(type);
  return view && view.getRank() == 1 && view.getLayout().isIdentity();
}

/// The words that a launch passes for an argument.
int64_t wordsOf(Type type) {
  if (isa<LLVM::LLVMPointerType>(type) || isScratch(type))
    return 0;
  auto view = dyn_cast<MemRefType>(type);
  return view ? 1 + 2 * view.getRank() : 1;
}

class Selector {
public:
  explicit Selector(func::FuncOp function)
      : function_(function), module_(function->getParentOfType<ModuleOp>()),
        b_(function.getContext()) {
    int64_t next = 0;
    for (Type type : function.getArgumentTypes()) {
      firstWords_.push_back(next);
      next += wordsOf(type);
    }
  }

  LogicalResult run() {
    SmallVector<core::SelectViewOp> ops;
    function_.walk([&](core::SelectViewOp op) { ops.push_back(op); });
    if (ops.empty())
      return success();
    for (core::SelectViewOp op : ops)
      if (failed(lower(op)))
        return failure();
    eraseFreed();
    return success();
  }

private:
  Type pointer() { return LLVM::LLVMPointerType::get(b_.getContext()); }

  FailureOr<Value> context(core::SelectViewOp op) {
    for (BlockArgument argument : function_.getArguments())
      if (isa<LLVM::LLVMPointerType>(argument.getType()))
        return Value(argument);
    return op.emitOpError("has no context of a core, expected --cpu-dist-to-runtime before");
  }

  /// A constant with the first words of the views.
  FailureOr<LLVM::GlobalOp> tableOf(core::SelectViewOp op) {
    SmallVector<int64_t> words;
    for (Value view : op.getViews()) {
      auto argument = dyn_cast<BlockArgument>(view);
      if (!argument || argument.getOwner() != &function_.front())
        return op.emitOpError("selects among views that are no arguments of the kernel");
      words.push_back(firstWords_[argument.getArgNumber()]);
      freed_.insert(argument);
    }
    std::string name = "words_" + std::to_string(std::distance(module_.begin(), module_.end()));
    OpBuilder top(module_.getBodyRegion());
    auto values = DenseElementsAttr::get(
        RankedTensorType::get(static_cast<int64_t>(words.size()), b_.getI64Type()),
        ArrayRef<int64_t>(words));
    auto type = LLVM::LLVMArrayType::get(b_.getI64Type(), words.size());
    return top.create<LLVM::GlobalOp>(op.getLoc(), type, /*isConstant=*/true,
                                      LLVM::Linkage::Internal, name, values);
  }

  LogicalResult lower(core::SelectViewOp op) {
    FailureOr<Value> context = this->context(op);
    FailureOr<LLVM::GlobalOp> table = tableOf(op);
    if (failed(context) || failed(table))
      return failure();
    mlir::Location loc = op.getLoc();
    b_.setInsertionPoint(op);
    auto element = [&](Type type, Value base, Value number) {
      return b_.create<LLVM::GEPOp>(loc, pointer(), type, base, ArrayRef<LLVM::GEPArg>{number});
    };
    auto load = [&](Type type, Value address) {
      auto value = b_.create<LLVM::LoadOp>(loc, type, address);
      value.setInvariant(true); // the words of a launch stay as they are
      return value;
    };
    Value number = b_.create<arith::IndexCastOp>(loc, b_.getI64Type(), op.getNumber());
    Value begin = b_.create<LLVM::AddressOfOp>(loc, *table);
    Value first = load(b_.getI64Type(), element(b_.getI64Type(), begin, number));
    auto field = static_cast<int32_t>(abi::CoreField::words);
    Value at = b_.create<LLVM::GEPOp>(loc, pointer(), b_.getI8Type(), *context,
                                      ArrayRef<LLVM::GEPArg>{field});
    Value words = element(b_.getI64Type(), b_.create<LLVM::LoadOp>(loc, pointer(), at), first);
    auto word = [&](Type type, int64_t n) {
      return load(type, b_.create<LLVM::GEPOp>(loc, pointer(), b_.getI64Type(), words,
                                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(n)}));
    };
    op.replaceAllUsesWith(viewOf(op, word));
    op.erase();
    return success();
  }

  /// The view that words describe.
  Value viewOf(core::SelectViewOp op, function_ref<Value(Type, int64_t)> word) {
    mlir::Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getView().getType());
    int64_t rank = type.getRank();
    Type i64 = b_.getI64Type(), each = LLVM::LLVMArrayType::get(i64, rank);
    auto structure =
        LLVM::LLVMStructType::getLiteral(b_.getContext(), {pointer(), pointer(), i64, each, each});
    auto view = MemRefDescriptor::undef(b_, loc, structure);
    Value address = word(pointer(), 0);
    view.setAllocatedPtr(b_, loc, address);
    view.setAlignedPtr(b_, loc, address);
    view.setOffset(b_, loc, b_.create<LLVM::ConstantOp>(loc, i64, b_.getI64IntegerAttr(0)));
    for (int64_t d = 0; d < rank; ++d) {
      view.setSize(b_, loc, d, word(i64, 1 + d));
      view.setStride(b_, loc, d, word(i64, 1 + rank + d));
    }
    return b_.create<UnrealizedConversionCastOp>(loc, type, Value(view)).getResult(0);
  }

  /// Arguments that nobody uses any more leave the function.
  void eraseFreed() {
    BitVector erased(function_.getNumArguments());
    for (BlockArgument argument : freed_)
      if (argument.use_empty())
        erased.set(argument.getArgNumber());
    SmallVector<int64_t> kept;
    for (auto [n, first] : llvm::enumerate(firstWords_))
      if (!erased.test(n))
        kept.push_back(first);
    function_.eraseArguments(erased);
    function_->setAttr(kFirstWordsAttr, b_.getDenseI64ArrayAttr(kept));
  }

  func::FuncOp function_;
  ModuleOp module_;
  OpBuilder b_;
  SmallVector<int64_t> firstWords_; ///< of the arguments
  llvm::DenseSet<BlockArgument> freed_;
};

class SelectViews : public impl::SelectViewsBase<SelectViews> {
  void runOnOperation() override {
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (failed(Selector(function).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace ditron::cpu
