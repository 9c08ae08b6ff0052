// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chip of AMD's as a target. A core is a
// workgroup, a warp a wavefront; shared memory is LDS, as much of it as the kernel takes and no
// more at its launch.
#include "ditron/lower/DescribeKernel.h"
#include "ditron/targets/amd/AmdCode.h"
#include "ditron/targets/amd/AmdInstructions.h"
#include "ditron/targets/amd/Mfma.h"
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron::amd {

namespace {

/// A function of f32 as LLVM's own, of which the code generator makes a few instructions around one
/// of the chip's, right to 1 ulp.
template <class From, class To> struct IntrinsicPattern : OpRewritePattern<From> {
  explicit IntrinsicPattern(MLIRContext *context)
      : OpRewritePattern<From>(context, /*benefit=*/20) {}
  LogicalResult matchAndRewrite(From op, PatternRewriter &b) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!getElementTypeOrSelf(op.getType()).isF32() || (vector && vector.getRank() != 1))
      return b.notifyMatchFailure(op, "scalars and vectors of f32 only");
    b.replaceOpWithNewOp<To>(op, TypeRange(op.getType()), op->getOperands());
    return success();
  }
};

/// Products by MFMA, and element by element.
class MfmaProducts : public gpu::Products {
public:
  explicit MfmaProducts(const Chip &chip) : chip_(chip) {}
  gpu::Layout accumulator(core::DotOp dot, gpu::Threads threads) const override {
    std::optional<MfmaShape> shape = mfmaShape(chip_, dot, threads.warps);
    return shape ? shape->accumulator(threads.warps) : Products::accumulator(dot, threads);
  }

private:
  const Chip &chip_;
};

class AmdTarget final : public gpu::GpuTarget {
public:
  explicit AmdTarget(const Chip &chip)
      : chip_(chip), traits_{.lanes = chip.lanes,
                             .mostWarps = kMostThreads / chip.lanes,
                             .sharedBytes = chip.ldsBytes,
                             .threadRegisters = chip.vectorRegisters,
                             .registers = chip.registers,
                             .threads = chip.threads,
                             .copiesAlone = false,
                             .meetsInPart = false} {}

  std::string_view name() const override { return chip_.name; }
  std::string_view machines() const override { return "AMD GPUs"; }
  DeviceTraits deviceTraits() const override {
    return {.sms = chip_.computeUnits,
            .lanes = chip_.lanes,
            .registersPerSm = chip_.registers,
            .sharedBytesPerSm = chip_.ldsBytes,
            .threadsPerSm = chip_.threads,
            .registersPerThread = chip_.vectorRegisters,
            .threadsPerCta = kMostThreads};
  }
  bool isFor(std::string_view architecture) const override {
    return architecture.starts_with("gfx");
  }
  bool runsOn(std::string_view architecture) const override { return architecture == chip_.name; }
  void registerTranslations(DialectRegistry &registry) const override {
    registerROCDLDialectTranslation(registry);
  }
  void optimize(llvm::Module &code, const abi::KernelInfo &info) const override {
    lower::embedInfo(info, code, kConstantSpace);
    amd::optimize(code, chip_);
  }
  std::string assembly(llvm::Module &code, const abi::KernelInfo &) const override {
    return emitAssembly(code, chip_);
  }
  std::string object(llvm::Module &code, const abi::KernelInfo &info,
                     Resources *resources) const override;

  const gpu::Traits &traits() const override { return traits_; }
  std::unique_ptr<gpu::Instructions> instructions(OpBuilder &b, mlir::Location loc,
                                                  gpu::Meeting) const override {
    return std::make_unique<Instructions>(b, loc, chip_);
  }
  llvm::StringRef syncScope(ScopeName scope) const override { return amd::syncScope(scope); }
  std::unique_ptr<gpu::Products> products(func::FuncOp, const CompileRequest &) const override {
    return std::make_unique<MfmaProducts>(chip_);
  }
  void addThreadPatterns(TypeConverter &types, ConversionTarget &, RewritePatternSet &patterns,
                         const gpu::ThreadContext &context) const override {
    addMfmaPatterns(patterns, types, context, chip_);
  }
  void addMathPatterns(RewritePatternSet &patterns) const override {
    patterns.add<IntrinsicPattern<math::ExpOp, LLVM::ExpOp>,
                 IntrinsicPattern<math::Exp2Op, LLVM::Exp2Op>>(patterns.getContext());
  }
  void finishEntry(LLVM::LLVMFuncOp entry, int64_t threads, int64_t ctasPerSm) const override;

private:
  static constexpr int64_t kMostThreads = 1024; ///< of a workgroup
  static constexpr unsigned kConstantSpace = 4; ///< the address space of what nobody writes

  const Chip &chip_;
  gpu::Traits traits_;
};

} // namespace

std::string AmdTarget::object(llvm::Module &code, const abi::KernelInfo &,
                              Resources *resources) const {
  std::string object = emitObject(code, chip_);
  if (resources)
    *resources = resourcesOf(object);
  return object;
}

/// LDS of the size that the kernels take at most: launches add none.
static void fixShared(ModuleOp module) {
  auto shared = module.lookupSymbol<LLVM::GlobalOp>(gpu::kSharedSymbol);
  int64_t bytes = 0;
  for (const abi::KernelInfo &info : lower::attachedInfos(module))
    bytes = std::max(bytes, info.sharedBytes);
  auto type = LLVM::LLVMArrayType::get(Builder(module).getI8Type(), static_cast<uint64_t>(bytes));
  shared.setGlobalTypeAttr(TypeAttr::get(type));
  shared.setLinkage(LLVM::Linkage::Internal);
}

// How many workgroups share a CU, the code generator decides: it takes registers for what it
// schedules, and spills none to make room for more.
void AmdTarget::finishEntry(LLVM::LLVMFuncOp entry, int64_t threads, int64_t) const {
  Builder b(entry);
  entry->setAttr(ROCDL::ROCDLDialect::getKernelFuncAttrName(), b.getUnitAttr());
  entry->setAttr(ROCDL::ROCDLDialect::getFlatWorkGroupSizeAttrName(),
                 b.getStringAttr(fmt::format("{},{}", threads, threads)));
  fixShared(entry->getParentOfType<ModuleOp>());
}

//===-- The family ----------------------------------------------------------------------------===//

static const std::vector<AmdTarget> &allTargets() {
  static const std::vector<AmdTarget> all(chips().begin(), chips().end());
  return all;
}

static void registerDialects(DialectRegistry &registry) {
  registry.insert<gpu::SimtDialect>();
  registry.addExtension(+[](MLIRContext *context, gpu::SimtDialect *dialect) {
    context->loadDialect<ROCDL::ROCDLDialect>();
    for (const AmdTarget &target : allTargets())
      dialect->addTargets(&target);
  });
}

const TargetFamily &family();
const TargetFamily &family() {
  static const TargetFamily family = [] {
    TargetFamily result{{}, registerDialects, [] {}};
    for (const AmdTarget &target : allTargets())
      result.targets.push_back(&target);
    return result;
  }();
  return family;
}

} // namespace ditron::amd
