// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/NvidiaTarget.h"
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "ditron/targets/nvidia/analysis/Streams.h"
#include "ditron/targets/nvidia/analysis/TensorViews.h"
#include "ditron/targets/nvidia/emit/Approximations.h"
#include "ditron/targets/nvidia/emit/NvidiaCode.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace ditron::nvidia {

namespace {

/// Products by mma.sync, whose operands ldmatrix reads, by warps that slice their terms, and element by
/// element.
class WarpProducts : public Products {
public:
  WarpProducts(bool slices, bool streams) : slices_(slices), streams_(streams) {}
  int64_t warps() const override { return slices_ ? kSlicingWarps : 0; }
  int64_t producerWarps() const override { return streams_ ? kWarpgroup : 0; }
  int64_t ctasPerSm() const override { return slices_ && !streams_ ? 2 : 0; }
  Layout accumulator(core::DotOp dot, Threads threads) const override {
    if (kindOf(dot) != DotKind::matrix)
      return Products::accumulator(dot, threads);
    return nvidia::accumulator(shapeOf(tileOf(dot.getAcc())), threads.warps);
  }
  SmallVector<std::pair<Value, Layout>> prescribed(Operation *op, Threads) const override {
    auto dot = dyn_cast<SlicedDotOp>(op);
    if (!dot)
      return {};
    SlicedShape shape = shapeOfSliced(dot);
    return {{dot.getWeights(), slicedWeights(shape)},
            {dot.getFactor(), slicedFactor(shape)},
            {dot.getAcc(), slicedSums(shape)},
            {dot.getResult(), slicedSums(shape)}};
  }

private:
  bool slices_, streams_;
};

/// Products by wgmma, of tiles that TMA has brought.
class WarpgroupProducts : public Products {
public:
  WarpgroupProducts(int64_t warps, int64_t ctas, bool storesTiles)
      : warps_(warps), ctas_(ctas), storesTiles_(storesTiles) {}
  int64_t warps() const override { return warps_; }
  int64_t ctasPerSm() const override { return ctas_; }
  int64_t producerWarps() const override { return kWarpgroup; }
  bool multiply8BitFloats() const override { return true; }
  Layout operand(RankedTensorType tile) const override {
    if (inPanels(tile).getShape() != tile.getShape()) // roles widen it
      return Products::operand(tile);
    return sharedPanels(shapeOf(tile), core::elementBytes(tile.getElementType()));
  }
  std::optional<Layout> left(RankedTensorType tile, Threads threads) const override {
    return warpgroupAccumulator(shapeOf(tile), threads.warps);
  }
  Layout accumulator(core::DotOp dot, Threads threads) const override {
    return warpgroupAccumulator(shapeOf(tileOf(dot.getAcc())), threads.warps);
  }
  bool stores(core::StoreOp store, Threads threads) const override {
    return storesTiles_ && canStoreByTma(store, threads.warps);
  }

private:
  int64_t warps_, ctas_;
  bool storesTiles_;
};

} // namespace

NvidiaTarget::NvidiaTarget(const Chip &chip) : chip_(chip) {
  constexpr int64_t kMostWarps = 32, kThreads = 1536; // of an SM of any chip
  traits_ = {kLanes, kMostWarps, chip.sharedBytes, chip.registers, chip.coreRegisters, kThreads};
}

DeviceTraits NvidiaTarget::deviceTraits() const {
  constexpr int64_t kReserved = 1024; // shared bytes of a CTA beside what a kernel asks for
  return {.sms = chip_.sms,
          .hasWarpgroups = chip_.hasWarpgroups,
          .hasSlowReleases = chip_.hasWarpgroups,
          .accumulator = chip_.accumulator,
          .registersPerSm = chip_.coreRegisters,
          .sharedBytesPerSm = chip_.sharedBytes + kReserved,
          .registersPerThread = chip_.registers,
          .reservedBytesPerCta = kReserved};
}

/// The compute capability of an architecture, ten times the major version and the minor one.
static std::optional<int> capabilityOf(StringRef architecture) {
  int number = 0;
  if (!architecture.consume_front("sm_") || architecture.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

bool NvidiaTarget::isFor(std::string_view architecture) const {
  return capabilityOf(architecture).has_value();
}

bool NvidiaTarget::runsOn(std::string_view architecture) const {
  std::optional<int> capability = capabilityOf(architecture);
  return capability && chip_.runsOn(*capability / 10, *capability % 10);
}

void NvidiaTarget::registerTranslations(DialectRegistry &registry) const {
  registerNVVMDialectTranslation(registry);
}

void NvidiaTarget::optimize(llvm::Module &code, const abi::KernelInfo &info) const {
  nvidia::optimize(code, chip_, info);
}

std::string NvidiaTarget::assembly(llvm::Module &code, const abi::KernelInfo &info) const {
  return emitPtx(code, chip_, info);
}

std::string NvidiaTarget::object(llvm::Module &code, const abi::KernelInfo &info,
                                 Resources *resources) const {
  return assemble(assembly(code, info), chip_, resources);
}

//===-- Tiles on threads ----------------------------------------------------------------------===//

/// Where one warpgroup has to wait for its own products, as in attention, two CTAs share an SM if both have
/// room: one multiplies while the other one computes.
static int64_t ctasOf(func::FuncOp function, const Chip &chip, const RolePlan &roles) {
  constexpr int64_t kShared = 2;
  bool shares = roles.warps == kWarpgroup && roles.chainsProducts() &&
                planRoles(function, chip.share(kShared), roles.warps);
  return shares ? kShared : 1;
}

std::unique_ptr<Products> NvidiaTarget::products(func::FuncOp function,
                                                 const CompileRequest &request) const {
  auto roles = request.tensorMaps ? planRoles(function, chip_.share(request.schedule.ctasPerSm),
                                              request.schedule.warps)
                                  : std::nullopt;
  if (!roles)
    return std::make_unique<WarpProducts>(hasSlicedDots(function),
                                          !streamedLoads(function, chip_).empty());
  return std::make_unique<WarpgroupProducts>(roles->warps, ctasOf(function, chip_, *roles),
                                             request.tensorStores);
}

std::unique_ptr<gpu::Instructions> NvidiaTarget::instructions(OpBuilder &b, mlir::Location loc,
                                                              gpu::Meeting threads) const {
  return std::make_unique<Instructions>(b, loc, threads);
}

StringRef NvidiaTarget::syncScope(ScopeName scope) const {
  return llvm::StringSwitch<StringRef>(scope)
      .Case("cta", "block")
      .Case("gpu", "device")
      .Default("");
}

void NvidiaTarget::addPasses(Stage stage, OpPassManager &kernel,
                             const CompileRequest &request) const {
  std::string chip(chip_.name);
  switch (stage) {
  case Stage::beforeDealing:
    if (request.tensorMaps)
      kernel.addPass(createFormClusters({chip})); // CTAs share tiles by multicast
    return;
  case Stage::beforeLayouts:
    if (request.tensorMaps)
      kernel.addPass(createSwapOperands(
          {chip, request.schedule.warps, request.schedule.ctasPerSm})); // swap-AB
    kernel.addPass(createSliceProducts({chip, request.tensorMaps, request.schedule.warps,
                                        request.schedule.ctasPerSm})); // sliced-K
    return;
  case Stage::afterLayouts:
    kernel.addPass(createStreamConstants({chip, request.schedule.stages})); // weights of tasks
    kernel.addPass(createSpecializeWarps({chip, request.schedule.stages, request.tensorStores}));
    kernel.addPass(createLoadFirst());                              // what is multiplied by them
    kernel.addPass(createDependentLaunch({chip, request.inGraph})); // PDL
    return;
  }
}

void NvidiaTarget::addThreadPatterns(TypeConverter &types, ConversionTarget &legal,
                                     RewritePatternSet &patterns,
                                     const ThreadContext &context) const {
  types.addConversion([](PipeType pipe) -> Type { return pipeType(pipe.getContext()); });
  types.addConversion([](GateType gate) -> Type { return pipeType(gate.getContext()); });
  types.addConversion([](OutboxType outbox) -> Type { return pipeType(outbox.getContext()); });
  types.addConversion([](ClusterBoxType box) -> Type { return pipeType(box.getContext()); });
  types.addConversion([](QueueType queue) -> Type { return pipeType(queue.getContext()); });
  legal.addIllegalDialect<NvidiaDialect>();
  addMatrixPatterns(patterns, types, context);
  addSlicedPatterns(patterns, types, context);
  addRolePatterns(patterns, types, context);
  addClusterPatterns(patterns, types, context);
  addQueuePatterns(patterns, types, context);
  addPackedLoadPatterns(patterns, types, context);
  addStreamPatterns(patterns, types, context);
  addOutboxPatterns(patterns, types, context);
  addGatePatterns(patterns, types, context);
  addTmaStorePatterns(patterns, types, context);
  addWarpgroupPatterns(patterns, types, context);
}

void NvidiaTarget::addMathPatterns(RewritePatternSet &patterns) const {
  addApproximatePatterns(patterns);
}

void NvidiaTarget::finishEntry(LLVM::LLVMFuncOp entry, int64_t threads, int64_t ctasPerSm) const {
  Builder b(entry);
  entry->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  entry->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                 b.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  entry->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                 b.getI32IntegerAttr(static_cast<int32_t>(ctasPerSm)));
  for (unsigned n = 0; n < entry.getNumArguments(); ++n)
    if (entry.getArgAttr(n, LLVM::LLVMDialect::getByValAttrName()))
      entry.setArgAttr(n, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
}

//===-- The family ----------------------------------------------------------------------------===//

static const std::vector<NvidiaTarget> &allTargets() {
  static const std::vector<NvidiaTarget> all(chips().begin(), chips().end());
  return all;
}

static void registerDialects(DialectRegistry &registry) {
  registry.insert<SimtDialect, NvidiaDialect>();
  registry.addExtension(+[](MLIRContext *context, SimtDialect *dialect) {
    context->loadDialect<NVVM::NVVMDialect>();
    for (const NvidiaTarget &target : allTargets())
      dialect->addTargets(&target);
  });
}

const TargetFamily &family();
const TargetFamily &family() {
  static const TargetFamily family = [] {
    TargetFamily result{{}, registerDialects, [] { registerPasses(); }};
    for (const NvidiaTarget &target : allTargets())
      result.targets.push_back(&target);
    return result;
  }();
  return family;
}

} // namespace ditron::nvidia
