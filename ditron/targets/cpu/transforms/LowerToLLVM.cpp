// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpu-lower-to-llvm: what is left of a kernel becomes the LLVM dialect, in one conversion; then it
// gets an entry point that the launcher can call, and its description goes with the module:
//
//   func.func @k(%A: memref<?x?xf32, ...>, %n: index, %scratch: memref<?xi8>, %context: !llvm.ptr)
// becomes
//   llvm.func @k(... one argument a word ...)
//   llvm.func @ditron_kernel(%context: !llvm.ptr, %words: !llvm.ptr)     // loads the words, calls
//
// Words are 64 bits each: of a view its address, extents and strides (in elements); of a scalar its
// value. Scratch memory is not among them: the kernel finds it in the CoreContext.
// test/targets/cpu/lower-to-llvm.mlir shows it.
#include "ditron/abi/LaunchWords.h"
#include "ditron/device/DistOps.h"
#include "ditron/lower/Arithmetic.h"
#include "ditron/lower/DescribeKernel.h"
#include "ditron/lower/ToLLVM.h"
#include "ditron/targets/cpu/transforms/Passes.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace ditron::cpu {

#define GEN_PASS_DEF_LOWERTOLLVM
#include "ditron/targets/cpu/transforms/Passes.h.inc"

namespace {

/// Rewrites within the dialects that the conversion then has simpler cases of.
LogicalResult simplify(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  lower::populateSimplificationPatterns(patterns);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  return applyPatternsAndFoldGreedily(module, std::move(patterns));
}

/// Memory of the core itself.
bool isScratch(MemRefType type) {
  return type.getRank() == 1 && type.getLayout().isIdentity() && type.getElementType().isInteger(8);
}

/// Adds an entry point that takes a context and the words of the arguments.
class EntryBuilder {
public:
  /// Of some arguments, `firstWords` says where their words are; empty: one after the other.
  EntryBuilder(LLVM::LLVMFuncOp callee, ArrayRef<Type> arguments, ArrayRef<int64_t> firstWords,
               StringRef name, const LLVMTypeConverter &types)
      : types_(types), callee_(callee), b_(callee->getContext()), loc_(callee.getLoc()) {
    b_.setInsertionPointAfter(callee);
    Type pointer = LLVM::LLVMPointerType::get(b_.getContext());
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b_.getContext()), {pointer, pointer});
    auto entry = b_.create<LLVM::LLVMFuncOp>(loc_, name, type);
    Block *block = entry.addEntryBlock(b_);
    b_.setInsertionPointToEnd(block);
    context_ = block->getArgument(0), words_ = block->getArgument(1);
    for (auto [n, argument] : llvm::enumerate(arguments)) {
      if (!firstWords.empty())
        next_ = static_cast<int32_t>(firstWords[n]);
      add(argument);
    }
    b_.create<LLVM::CallOp>(loc_, callee, values_);
    b_.create<LLVM::ReturnOp>(loc_, ValueRange());
  }

private:
  Value constant(int64_t value) {
    return b_.create<LLVM::ConstantOp>(loc_, b_.getI64Type(), b_.getI64IntegerAttr(value));
  }

  Value field(Type type, abi::CoreField which) {
    return load(type, context_, static_cast<int32_t>(which));
  }

  Value load(Type type, Value base, int32_t byte) {
    Value at = b_.create<LLVM::GEPOp>(loc_, base.getType(), b_.getI8Type(), base,
                                      ArrayRef<LLVM::GEPArg>{byte});
    return b_.create<LLVM::LoadOp>(loc_, type, at);
  }

  Value nextWord(Type type) { return load(type, words_, 8 * next_++); }

  /// The values that one argument of the function has become.
  void add(Type argument) {
    Type i64 = b_.getI64Type(), pointer = context_.getType();
    auto view = dyn_cast<MemRefType>(argument);
    if (!view) {
      if (isa<LLVM::LLVMPointerType>(argument))
        values_.push_back(context_);
      else
        values_.push_back(nextWord(types_.convertType(argument)));
      return;
    }
    if (isScratch(view)) {
      Value base = field(pointer, abi::CoreField::scratch);
      Value size = field(i64, abi::CoreField::scratchBytes);
      values_.append({base, base, constant(0), size, constant(1)});
      return;
    }
    Value base = nextWord(pointer);
    values_.append({base, base, constant(0)});
    for (int64_t n = 0; n < 2 * view.getRank(); ++n)
      values_.push_back(nextWord(i64));
  }

  const LLVMTypeConverter &types_;
  LLVM::LLVMFuncOp callee_;
  OpBuilder b_;
  mlir::Location loc_;
  Value context_, words_;
  int32_t next_ = 0;
  SmallVector<Value> values_;
};

/// Refuses what no entry point can be made for.
LogicalResult checkSignature(func::FuncOp function, const LLVMTypeConverter &types) {
  if (function.isExternal())
    return function.emitError() << "'" << function.getName() << "' has no body";
  if (function.getNumResults() > 0)
    return function.emitError() << "'" << function.getName() << "' returns "
                                << function.getResultTypes().front()
                                << ": expected nothing, as results are written to memory";
  for (auto [n, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto view = dyn_cast<MemRefType>(type);
    if (view && view.getRank() == 1 && view.getLayout().isIdentity() && !isScratch(view))
      return function.emitError() << "argument #" << n << " is " << type
                                  << ", expected memory with strides, or scratch memory of i8";
    if (!types.convertType(type))
      return function.emitError() << "argument #" << n << " is " << type
                                  << ", expected memory, a number or a pointer";
  }
  return success();
}

class LowerToLLVM : public impl::LowerToLLVMBase<LowerToLLVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    LowerToLLVMOptions options(&getContext());
    LLVMTypeConverter types(&getContext(), options);
    types.addTypeAttributeConversion([](BaseMemRefType, device::SpaceAttr space) {
      return IntegerAttr::get(IntegerType::get(space.getContext(), 64), 0);
    });
    // Scalars of it are bits, as vectors are: LLVM's bfloat asks for library calls.
    types.addConversion(
        [](BFloat16Type type) -> Type { return IntegerType::get(type.getContext(), 16); });
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(checkSignature(function, types)))
        return signalPassFailure();
    if (failed(lowerKernels(module, functions, types)))
      signalPassFailure();
  }

  /// One kernel's entry point has the usual name; those of several are named as they are.
  static LogicalResult lowerKernels(ModuleOp module, ArrayRef<func::FuncOp> kernels,
                                    LLVMTypeConverter &types) {
    std::vector<abi::KernelInfo> infos;
    struct Callee {
      std::string name;
      SmallVector<Type> arguments;
      SmallVector<int64_t> firstWords;
    };
    SmallVector<Callee> callees;
    for (func::FuncOp kernel : kernels) {
      FailureOr<abi::KernelInfo> info = lower::describeKernel(kernel);
      if (failed(info))
        return failure();
      if (kernels.size() > 1)
        info->entry += "_" + kernel.getName().str();
      infos.push_back(*info);
      auto firstWords = kernel->getAttrOfType<DenseI64ArrayAttr>(kFirstWordsAttr);
      callees.push_back(
          {kernel.getName().str(), llvm::to_vector(kernel.getArgumentTypes()),
           SmallVector<int64_t>(firstWords ? firstWords.asArrayRef() : ArrayRef<int64_t>())});
      kernel->removeAttr(kFirstWordsAttr);
      kernel.setPrivate();
    }
    lower::attachInfos(module, infos);
    lower::defineIntegers(module);
    if (failed(simplify(module)) || failed(lower::convertToLLVM(module, types)))
      return failure();
    for (auto [info, callee] : llvm::zip(infos, callees)) {
      auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(callee.name);
      function.setLinkage(LLVM::Linkage::Internal);
      EntryBuilder(function, callee.arguments, callee.firstWords, info.entry, types);
    }
    return success();
  }
};

} // namespace
} // namespace ditron::cpu
