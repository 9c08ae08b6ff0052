// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-lower-to-llvm: what is left of a kernel becomes the LLVM dialect, in one conversion; then
// the kernel gets the entry point that the driver launches, which the target marks as one:
//
//   func.func @k(%A: memref<?x?xf32, ...>, %n: index, %status: !llvm.ptr)
// becomes
//   llvm.func @k(... one argument a word ...)
//   llvm.func @ditron_kernel(%words: i64, ..., %status: !llvm.ptr) attributes {...}
//
// Words are those of the CPU's entry point: of a view its address, extents and strides (in
// elements); of a scalar its value. Tensor maps come behind the status, each 128 bytes in the
// launch's own memory of parameters. test/targets/gpu/lower-to-llvm.mlir shows it.
#include "ditron/core/KnownShape.h"
#include "ditron/device/DistOps.h"
#include "ditron/lower/Arithmetic.h"
#include "ditron/lower/DescribeKernel.h"
#include "ditron/lower/ToLLVM.h"
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_LOWERTOLLVM
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Rewrites within the dialects that the conversion then has simpler cases of.
LogicalResult simplify(ModuleOp module, const GpuTarget &gpu) {
  RewritePatternSet patterns(module.getContext());
  lower::populateSimplificationPatterns(patterns);
  gpu.addMathPatterns(patterns);
  return applyPatternsAndFoldGreedily(module, std::move(patterns));
}

/// A word of which only these bits can be set, said in a way that LLVM understands.
Value masked(OpBuilder &b, mlir::Location loc, Value word, int64_t mask) {
  if (mask == -1)
    return word;
  Value bits = b.create<LLVM::ConstantOp>(loc, b.getI64Type(), b.getI64IntegerAttr(mask));
  return b.create<LLVM::AndOp>(loc, word, bits);
}

/// A view of which a launch has written words: how its core::kAlignmentAttr says that they are
/// (0: any), whether it is marked core::kUnitStrideAttr, and which of them the compiler knows: its
/// core::kKnownExtentsAttr, and strides where it is marked core::kDenseAttr.
struct WrittenView {
  MemRefType type;
  int64_t alignment = 0;
  bool hasUnitStride = false;
  DenseI64ArrayAttr extents = {};
  bool isDense = false;

  int64_t extent(int64_t dim) const { return extents ? extents[dim] : core::kUnknownExtent; }

  /// The stride of a dimension, if it is known.
  std::optional<int64_t> stride(int64_t dim) const {
    int64_t stride = 1;
    for (int64_t inner = dim + 1; inner < type.getRank(); ++inner) {
      if (extent(inner) == core::kUnknownExtent)
        return std::nullopt;
      stride *= extent(inner);
    }
    return isDense ? std::optional(stride) : std::nullopt;
  }

  /// The fields of its descriptor, from one word after the other.
  SmallVector<Value> fields(OpBuilder &b, mlir::Location loc, function_ref<Value()> next) const {
    int64_t rank = type.getRank(), elements = alignment / core::elementBytes(type.getElementType());
    int64_t ofRow = elements > 1 ? 2 * elements : 1; // half a row is a multiple, too
    auto word = [&](int64_t mask) { return alignment ? masked(b, loc, next(), mask) : next(); };
    auto constant = [&](int64_t value) {
      return b.create<LLVM::ConstantOp>(loc, b.getI64Type(), b.getI64IntegerAttr(value));
    };
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value base = b.create<LLVM::IntToPtrOp>(loc, pointer, word(-alignment));
    SmallVector<Value> fields{base, base, constant(0)};
    for (int64_t dim = 0; dim < rank; ++dim) {
      Value given = word(INT32_MAX & (dim + 1 == rank ? -ofRow : -1));
      int64_t known = extent(dim);
      fields.push_back(known == core::kUnknownExtent ? given : constant(known));
    }
    for (int64_t dim = 0; dim + 1 < rank; ++dim) {
      Value given = word(-elements);
      std::optional<int64_t> known = stride(dim);
      fields.push_back(known ? constant(*known) : given);
    }
    if (rank > 0) {
      Value last = next();
      fields.push_back(hasUnitStride ? constant(1) : last);
    }
    return fields;
  }
};

/// The entry point: takes words, calls the function.
class EntryBuilder {
public:
  EntryBuilder(LLVM::LLVMFuncOp callee, const LLVMTypeConverter &types)
      : types_(types), callee_(callee), b_(callee->getContext()), loc_(callee.getLoc()) {
    b_.setInsertionPointAfter(callee);
  }

  /// An argument of the kernel: its type, what it describes if it is a tensor map, the bytes of its
  /// core::kAlignmentAttr (0: none), whether it is marked core::kUnitStrideAttr, and as in WrittenView.
  struct Argument {
    Type type;
    Attribute map;
    int64_t alignment = 0;
    bool hasUnitStride = false;
    DenseI64ArrayAttr extents = {};
    bool isDense = false;
  };

  LLVM::LLVMFuncOp build(StringRef name, ArrayRef<Argument> arguments) {
    SmallVector<Type> parameters;
    for (const Argument &argument : arguments) {
      if (auto view = dyn_cast<MemRefType>(argument.type))
        parameters.append(static_cast<size_t>(1 + 2 * view.getRank()), b_.getI64Type());
      else
        parameters.push_back(types_.convertType(argument.type));
    }
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b_.getContext()), parameters);
    auto entry = b_.create<LLVM::LLVMFuncOp>(loc_, name, type);
    Block *block = entry.addEntryBlock(b_);
    b_.setInsertionPointToEnd(block);
    next_ = block->getArguments().begin();
    for (const Argument &argument : arguments) {
      if (argument.map)
        passByValue(entry, next_->getArgNumber());
      add(argument);
    }
    b_.create<LLVM::CallOp>(loc_, callee_, values_);
    b_.create<LLVM::ReturnOp>(loc_, ValueRange());
    return entry;
  }

private:
  /// A tensor map lies among the parameters: TMA reads it there.
  void passByValue(LLVM::LLVMFuncOp entry, unsigned parameter) {
    constexpr int64_t kBytes = 128, kAlignment = 64;
    Type bytes = LLVM::LLVMArrayType::get(b_.getI8Type(), kBytes);
    entry.setArgAttr(parameter, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    entry.setArgAttr(parameter, LLVM::LLVMDialect::getAlignAttrName(),
                     b_.getI64IntegerAttr(kAlignment));
  }

  /// The values that one argument of the function has become.
  void add(const Argument &argument) {
    auto view = dyn_cast<MemRefType>(argument.type);
    if (!view) {
      values_.push_back(*next_++);
      return;
    }
    WrittenView written{view, argument.alignment, argument.hasUnitStride, argument.extents,
                        argument.isDense};
    values_.append(written.fields(b_, loc_, [&]() -> Value { return *next_++; }));
  }

  const LLVMTypeConverter &types_;
  LLVM::LLVMFuncOp callee_;
  OpBuilder b_;
  mlir::Location loc_;
  Block::args_iterator next_;
  SmallVector<Value> values_;
};

/// The same view with another base.
void lowerShift(ShiftOp shift, const LLVMTypeConverter &types) {
  OpBuilder b(shift);
  mlir::Location loc = shift.getLoc();
  Type structure = types.convertType(shift.getSource().getType());
  Value before =
      b.create<UnrealizedConversionCastOp>(loc, structure, shift.getSource()).getResult(0);
  MemRefDescriptor descriptor(before);
  Value base = descriptor.alignedPtr(b, loc);
  Value bytes = b.create<arith::IndexCastOp>(loc, b.getI64Type(), shift.getBytes());
  Value after = b.create<LLVM::GEPOp>(loc, base.getType(), b.getI8Type(), base,
                                      ArrayRef<LLVM::GEPArg>{bytes});
  descriptor.setAllocatedPtr(b, loc, after);
  descriptor.setAlignedPtr(b, loc, after);
  auto view = b.create<UnrealizedConversionCastOp>(loc, shift.getType(), Value(descriptor));
  shift.getResult().replaceAllUsesWith(view.getResult(0));
  shift.erase();
}

/// A view of a table: its words are loaded where it is.
void lowerViewAt(ViewAtOp op, const LLVMTypeConverter &types) {
  OpBuilder b(op);
  mlir::Location loc = op.getLoc();
  auto aligned = op->getAttrOfType<IntegerAttr>(core::kAlignmentAttr);
  WrittenView written{cast<MemRefType>(op.getView().getType()), aligned ? aligned.getInt() : 0,
                      op->hasAttr(core::kUnitStrideAttr),
                      op->getAttrOfType<DenseI64ArrayAttr>(core::kKnownExtentsAttr),
                      op->hasAttr(core::kDenseAttr)};
  Value first = b.create<arith::IndexCastOp>(loc, b.getI64Type(), op.getWord());
  Value words = b.create<LLVM::GEPOp>(loc, op.getTable().getType(), b.getI64Type(), op.getTable(),
                                      ArrayRef<LLVM::GEPArg>{first});
  int32_t number = 0;
  SmallVector<Value> fields = written.fields(b, loc, [&]() -> Value {
    Value at = b.create<LLVM::GEPOp>(loc, words.getType(), b.getI64Type(), words,
                                     ArrayRef<LLVM::GEPArg>{number++});
    auto word = b.create<LLVM::LoadOp>(loc, b.getI64Type(), at);
    word.setInvariant(true); // the table stays as it is
    return word;
  });
  Value structure = MemRefDescriptor::pack(b, loc, types, written.type, fields);
  auto view = b.create<UnrealizedConversionCastOp>(loc, written.type, structure);
  op.getView().replaceAllUsesWith(view.getResult(0));
  op.erase();
}

class LowerToLLVM : public impl::LowerToLLVMBase<LowerToLLVM> {
public:
  using LowerToLLVMBase::LowerToLLVMBase;

private:
  /// Whether threads may move runs of an argument's elements: neither where TMA moves
  /// its tiles, nor where elements are read one by one. Nobody else is served by what is known of
  /// its numbers, and those that are used as they come need no registers.
  static bool hasRuns(func::FuncOp kernel, unsigned argument) {
    bool isMoved = llvm::any_of(llvm::seq(kernel.getNumArguments()), [&](unsigned n) {
      auto map = kernel.getArgAttrOfType<DictionaryAttr>(n, kTensorMapAttr);
      return map && map.getAs<IntegerAttr>("argument").getInt() == argument;
    });
    return !isMoved && !isReadSingly(kernel, argument);
  }

  static bool isReadSingly(func::FuncOp kernel, unsigned argument) {
    return llvm::all_of(kernel.getArgument(argument).getUsers(),
                        [](Operation *user) { return isa<memref::LoadOp, memref::DimOp>(user); });
  }

  /// The program's number of an argument of the function, which those in tables are none of.
  static int64_t numberOf(func::FuncOp kernel, BlockArgument argument) {
    int64_t number = argument.getArgNumber();
    if (auto tabled = kernel->getAttrOfType<DenseI64ArrayAttr>(kTabledAttr))
      for (int64_t other : tabled.asArrayRef()) // ascending
        number += other <= number;
    return number;
  }

  static std::vector<int64_t> readAhead(func::FuncOp kernel) {
    std::vector<int64_t> numbers;
    for (BlockArgument argument : kernel.getArguments())
      if (kernel.getArgAttr(argument.getArgNumber(), kReadAheadAttr))
        numbers.push_back(numberOf(kernel, argument));
    return numbers;
  }

  /// The numbers of arguments to whose code it makes no difference how they are aligned.
  static std::vector<int64_t> readSingly(func::FuncOp kernel) {
    std::vector<int64_t> numbers;
    for (BlockArgument argument : kernel.getArguments())
      if (isReadSingly(kernel, argument.getArgNumber()) &&
          llvm::any_of(argument.getUsers(), llvm::IsaPred<memref::LoadOp>))
        numbers.push_back(numberOf(kernel, argument));
    return numbers;
  }

  /// What becomes of a kernel: the name of its function, and its entry point.
  struct Entry {
    std::string kernel;
    abi::KernelInfo info;
    SmallVector<EntryBuilder::Argument> arguments;
    int64_t ctasPerSm;
  };

  static FailureOr<abi::KernelInfo> describe(func::FuncOp kernel, int64_t threads) {
    FailureOr<abi::KernelInfo> info = lower::describeKernel(kernel);
    if (failed(info))
      return failure();
    info->threads = threads;
    info->readSingly = readSingly(kernel);
    info->readAhead = readAhead(kernel);
    for (unsigned n = 0; n < kernel.getNumArguments(); ++n)
      if (auto map = kernel.getArgAttrOfType<DictionaryAttr>(n, kTensorMapAttr)) {
        auto fitted = map.getAs<IntegerAttr>("fitted");
        info->tensorMaps.push_back({map.getAs<IntegerAttr>("argument").getInt(),
                                    map.getAs<DenseI64ArrayAttr>("box").asArrayRef().vec(),
                                    map.contains("tf32"), fitted ? fitted.getInt() : -1});
      }
    return info;
  }

  static FailureOr<Entry> entryOf(func::FuncOp kernel, const GpuTarget &target) {
    if (failed(requireLayouts(kernel)))
      return failure();
    auto info = describe(kernel, ownWarpsOf(kernel) * target.traits().lanes);
    if (failed(info))
      return failure();
    Entry entry{kernel.getName().str(), *info, {}, ctasPerSmOf(kernel)};
    for (unsigned n = 0; n < kernel.getNumArguments(); ++n) {
      auto aligned = kernel.getArgAttrOfType<IntegerAttr>(n, core::kAlignmentAttr);
      entry.arguments.push_back(
          {kernel.getArgument(n).getType(), kernel.getArgAttr(n, kTensorMapAttr),
           aligned && hasRuns(kernel, n) ? aligned.getInt() : 0,
           aligned || kernel.getArgAttr(n, core::kUnitStrideAttr),
           kernel.getArgAttrOfType<DenseI64ArrayAttr>(n, core::kKnownExtentsAttr),
           kernel.getArgAttr(n, core::kDenseAttr) != Attribute()});
    }
    return entry;
  }

  /// However long it is: a call would put the registers of products into memory.
  static void inlineAlways(LLVM::LLVMFuncOp function) {
    function.setLinkage(LLVM::Linkage::Internal);
    function.setPassthroughAttr(Builder(function).getStrArrayAttr({"alwaysinline"}));
  }

  LogicalResult lower(ModuleOp module, LLVMTypeConverter &types, const GpuTarget &target) {
    types.addTypeAttributeConversion([](BaseMemRefType, device::SpaceAttr space) {
      return IntegerAttr::get(IntegerType::get(space.getContext(), 64), 0);
    });
    lower::defineIntegers(module);
    module.walk([&](ShiftOp shift) { lowerShift(shift, types); });
    module.walk([&](ViewAtOp view) { lowerViewAt(view, types); });
    if (failed(simplify(module, target)) || failed(lower::convertToLLVM(module, types)))
      return failure();
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        inlineAlways(function);
    return success();
  }

  /// One kernel's entry point has the usual name; those of several are named as they are.
  LogicalResult lowerKernels(ModuleOp module, ArrayRef<func::FuncOp> kernels,
                             const GpuTarget &target) {
    std::vector<Entry> entries;
    for (func::FuncOp kernel : kernels) {
      FailureOr<Entry> entry = entryOf(kernel, target);
      if (failed(entry))
        return failure();
      if (kernels.size() > 1)
        entry->info.entry += "_" + entry->kernel;
      kernel.setPrivate();
      entries.push_back(std::move(*entry));
    }
    // What LLVM takes for granted before it knows the target: words of 64 bits are read at once.
    module->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                    StringAttr::get(&getContext(), "e-i64:64"));
    LLVMTypeConverter types(&getContext(), mlir::LowerToLLVMOptions(&getContext()));
    if (failed(lower(module, types, target)))
      return failure();
    std::vector<abi::KernelInfo> infos;
    for (const Entry &entry : entries)
      infos.push_back(entry.info);
    lower::attachInfos(module, infos); // finishEntry asks them
    for (const Entry &entry : entries) {
      auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(entry.kernel);
      target.finishEntry(EntryBuilder(callee, types).build(entry.info.entry, entry.arguments),
                         entry.info.threads, entry.ctasPerSm);
    }
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const GpuTarget *target = targetNamed(targetName, module);
    auto kernels = llvm::to_vector(llvm::make_filter_range(
        module.getOps<func::FuncOp>(), [](func::FuncOp one) { return !isRegion(one); }));
    if (!target || failed(lowerKernels(module, kernels, *target)))
      signalPassFailure();
  }
};

} // namespace
} // namespace ditron::gpu
