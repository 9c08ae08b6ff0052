// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole compiler, in order.
#include "ditron/compiler/Pipeline.h"
#include "ditron/core/transforms/Passes.h"
#include "ditron/device/transforms/Passes.h"
#include "ditron/lower/Passes.h"
#include "ditron/targets/cpu/transforms/Passes.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace ditron {

void addFrontPipeline(OpPassManager &passes, Checks checks) {
  OpPassManager &kernel = passes.nest<func::FuncOp>();
  kernel.addPass(device::createCheckEffects());    // refuse what cannot be right
  kernel.addPass(lower::createDefineArithmetic()); // what kernels say that LLVM leaves open
  if (checks == Checks::explicitly)
    kernel.addPass(lower::createCheckBounds());   // before what nobody uses goes unchecked
  kernel.addPass(core::createPromoteVars());      // variables become values
  kernel.addPass(core::createFuseDot());          // acc + dot(a, b) accumulates
  kernel.addPass(device::createPlaceExchanges()); // rows to other ranks, by counts
  kernel.addPass(device::createPlaceArguments()); // gathered: verbs, waits, tiles by shard
  kernel.addPass(device::createPlaceResults());   // summed over the ranks
  kernel.addPass(device::createCheckCopyRoles()); // refuse what copy engines cannot do
  kernel.addPass(device::createFusePutNotify());  // put, then notify: one operation
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
}

/// Axes of the mesh become numbers.
static void addMesh(OpPassManager &kernel, const CompileRequest &request) {
  kernel.addPass(device::createResolveMesh({request.mesh, request.ranks}));
}

void addCpuPipeline(OpPassManager &passes, const VectorTraits &target,
                    const CompileRequest &request) {
  addFrontPipeline(passes, Checks::explicitly);
  OpPassManager &front = passes.nest<func::FuncOp>();
  addMesh(front, request);
  front.addPass(device::createExpandInboxes()); // buffers and signals are as fast here
  front.addPass(device::createFusePutNotify());
  passes.addPass(lower::createHoistSymmetric()); // symmetric memory becomes arguments
  OpPassManager &kernel = passes.nest<func::FuncOp>();
  if (request.recorded)
    kernel.addPass(device::createMarkTiles()); // the timeline shows the tiles
  kernel.addPass(device::createDealTiles());   // loops over tiles become loops of this core
  addMesh(kernel, request);                    // whose orders may follow an axis
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(cpu::createTilesToLoops({target.vectorBytes, target.vectorRegisters,
                                          target.coreMemoryBytes, target.multipliesPairs}));
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  if (target.vectorBytes == cpu::kTableBytes)
    passes.addNestedPass<func::FuncOp>(cpu::createLookUpNibbles());
  passes.addPass(cpu::createDistToRuntime()); // verbs become calls
  passes.addPass(cpu::createSelectViews());   // one of many arguments: from the launch's words
  passes.addPass(cpu::createLowerToLLVM());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void addGpuTiles(OpPassManager &passes, const gpu::GpuTarget &target,
                 const CompileRequest &request) {
  int64_t warps = request.schedule.warps, ctasPerSm = request.schedule.ctasPerSm;
  using Stage = gpu::GpuTarget::Stage;
  std::string name(target.name());
  addFrontPipeline(passes, Checks::explicitly);
  OpPassManager &front = passes.nest<func::FuncOp>();
  addMesh(front, request);
  front.addPass(gpu::createCheckSupported({name})); // what has no lowering
  front.addPass(gpu::createFoldExtents());          // what is known of all launches
  front.addPass(device::createPutTiles());          // tiles go to peers from registers
  front.addPass(device::createPackTiles());         // tiles that nobody sees inside of
  passes.addPass(lower::createHoistSymmetric());    // symmetric memory becomes arguments
  passes.nest<func::FuncOp>().addPass(gpu::createSelectViews()); // one of many: from a table
  OpPassManager &kernel = passes.nest<func::FuncOp>();
  kernel.addPass(gpu::createFoldExtents());        // of those views, too, and of symmetric memory
  kernel.addPass(lower::createOutlineCopyRoles()); // copy engines follow a program on the host
  target.addPasses(Stage::beforeDealing, kernel, request);
  if (request.recorded)
    kernel.addPass(device::createMarkTiles()); // the timeline shows the tiles
  kernel.addPass(device::createDealTiles());   // loops over tiles become loops of this core
  addMesh(kernel, request);                    // whose orders may follow an axis
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(lower::createProveRequirements()); // that hold for all of them
  kernel.addPass(gpu::createSpreadTiles());         // each of which may have a core
  kernel.addPass(gpu::createDistToDevice({name, request.recorded})); // a core is a block of threads
  kernel.addPass(gpu::createMergeNotifies());     // which releases to all ranks at once
  kernel.addPass(gpu::createPrefetchConstants()); // weights come nearer before tasks wait
  kernel.addPass(gpu::createSinkWaits());         // and tasks find out what they read
  passes.addPass(gpu::createOutlineRegions(
      {name, warps, ctasPerSm, request.tensorMaps})); // phases may be planned apart
  OpPassManager &region = passes.nest<func::FuncOp>();
  target.addPasses(Stage::beforeLayouts, region, request);
  region.addPass(gpu::createSimplifyDots(
      {name, warps, ctasPerSm, request.tensorMaps})); // 8-bit floats may multiply as f16
  region.addPass(gpu::createDeferLoads());            // weights wait for their store
  region.addPass(gpu::createAssignLayouts({name, warps, ctasPerSm, request.tensorMaps,
                                           request.tensorStores})); // tiles are dealt to threads
  target.addPasses(Stage::afterLayouts, region, request);
  region.addPass(gpu::createHoistConversions());           // which change outside of loops
  region.addPass(gpu::createReceiveTogether());            // and are waited for together
  region.addPass(gpu::createAwaitElements({name, warps})); // of memory that says what is there
  region.addPass(gpu::createCarryRows());                  // of tables, while the task before runs
  region.addPass(gpu::createOrderAccesses());  // threads meet where they read what others wrote
  region.addPass(gpu::createJoinReductions()); // warps meet once for several sums
  region.addPass(gpu::createPipelineLoads({name, request.schedule.stages})); // tiles are prefetched
  passes.addPass(gpu::createJoinRegions({name}));                            // phases share a CTA
  passes.addPass(gpu::createTilesToThreads({name})); // and tiles become registers
}

void addGpuPipeline(OpPassManager &passes, const gpu::GpuTarget &target,
                    const CompileRequest &request) {
  addGpuTiles(passes, target, request);
  passes.nest<func::FuncOp>().addPass(gpu::createSwitchTypes()); // of tasks
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(gpu::createLowerToLLVM({std::string(target.name())}));
  passes.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace ditron
