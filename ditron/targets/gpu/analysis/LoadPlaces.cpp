// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/LoadPlaces.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Distribution.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

/// Whether the load stands in the block where a launch that begins early waits for those before it.
static bool isBesideWait(core::LoadOp load, func::FuncOp function) {
  return function->hasAttr(kDependentLaunchAttr) && load->getBlock() == &function.front();
}

/// Nobody else computes while a CTA that is alone on its SM waits: where it waits often,
/// what is read late had better be read as early as registers are there. Not in a launch that begins while
/// the one in front of it may still write what is read.
Instructions::Place placeOf(core::LoadOp load) {
  constexpr int64_t kOften = 8;
  auto function = load->getParentOfType<func::FuncOp>();
  if (!load->hasAttr(kDeferredAttr) || isBesideWait(load, function))
    return Instructions::Place::here;
  RankedTensorType tile = tileOf(load.getTile());
  Distribution places = *Distribution::of(core::layoutOf(tile), shapeOf(tile));
  int64_t bytes = core::elementBytes(tile.getElementType());
  int64_t run = places.run(std::max<int64_t>(1, accessBytes(load.getView()) / bytes));
  bool isOften = places.registers() / run > kOften;
  bool mayBeginEarly = function->hasAttr(kDependentLaunchAttr) || isRegion(function);
  return ctasPerSmOf(function) == 1 && isOften && !mayBeginEarly ? Instructions::Place::anywhere
                                                                 : Instructions::Place::late;
}

} // namespace ditron::gpu
