// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole compiler, in order.
#include "ditron/compiler/Pipeline.h"
#include "ditron/core/transforms/Passes.h"
#include "ditron/device/transforms/Passes.h"
#include "ditron/lower/Passes.h"
#include "ditron/targets/cpu/transforms/Passes.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace ditron {

void addFrontPipeline(OpPassManager &passes, Checks checks) {
  OpPassManager &kernel = passes.nest<func::FuncOp>();
  kernel.addPass(device::createCheckEffects()); // refuse what cannot be right
  if (checks == Checks::explicitly)
    kernel.addPass(lower::createCheckBounds());  // before what nobody uses goes unchecked
  kernel.addPass(core::createPromoteVars());     // variables become values
  kernel.addPass(core::createFuseDot());         // acc + dot(a, b) accumulates
  kernel.addPass(device::createFusePutNotify()); // put, then notify: one operation
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
}

void addCpuPipeline(OpPassManager &passes, const TargetTraits &target,
                    const CompileRequest &request) {
  addFrontPipeline(passes, Checks::explicitly);
  passes.addPass(lower::createHoistSymmetric()); // symmetric memory becomes arguments
  OpPassManager &kernel = passes.nest<func::FuncOp>();
  if (request.recorded)
    kernel.addPass(device::createMarkTiles()); // the timeline shows the tiles
  kernel.addPass(device::createDealTiles());   // loops over tiles become loops of this core
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(cpu::createTilesToLoops(
      {target.vectorBytes, target.vectorRegisters, target.coreMemoryBytes}));
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  passes.addPass(cpu::createDistToRuntime()); // verbs become calls
  passes.addPass(cpu::createLowerToLLVM());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void addNvidiaTiles(OpPassManager &passes, const CompileRequest &request) {
  const std::string &chip = request.target;
  int64_t warps = request.schedule.warps, resident = request.schedule.resident;
  addFrontPipeline(passes, Checks::explicitly);
  passes.nest<func::FuncOp>().addPass(nvidia::createCheckSupported()); // what has no lowering
  passes.addPass(lower::createHoistSymmetric()); // symmetric memory becomes arguments
  OpPassManager &kernel = passes.nest<func::FuncOp>();
  if (request.tensorMaps)
    kernel.addPass(nvidia::createFormClusters({chip})); // cores take tiles together
  kernel.addPass(device::createDealTiles()); // loops over tiles become loops of this core
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(nvidia::createSpreadTiles());  // each of which may have a core
  kernel.addPass(nvidia::createDistToDevice()); // a core is a block of threads
  if (request.tensorMaps)
    kernel.addPass(nvidia::createTurnProducts({chip, warps, resident})); // few rows
  kernel.addPass(nvidia::createSimplifyDots(
      {chip, warps, resident, request.tensorMaps})); // 8-bit floats may multiply as f16
  kernel.addPass(nvidia::createDeferLoads());        // weights wait for their store
  kernel.addPass(nvidia::createAssignLayouts({chip, warps, resident, request.tensorMaps,
                                              request.tensorStores})); // tiles are dealt to threads
  kernel.addPass(nvidia::createSpecializeWarps(
      {chip, request.schedule.stages, request.tensorStores})); // a thread feeds the others
  kernel.addPass(nvidia::createOverlapLaunches({chip}));       // before the last one's end
  kernel.addPass(nvidia::createPipelineLoads({chip, request.schedule.stages})); // fetched ahead
  passes.addPass(nvidia::createTilesToThreads({chip})); // and become their registers
}

void addNvidiaPipeline(OpPassManager &passes, const CompileRequest &request) {
  addNvidiaTiles(passes, request);
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(nvidia::createLowerToNvvm());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace ditron
