// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MarkTiles: loops over tiles say which tile they are at.
//
//     dist.tiles (%i, %j) of (%rows, %columns) order <"row-major"> {
//       body(%i, %j)
//     }
//  ->
//     dist.tiles (%i, %j) of (%rows, %columns) order <"row-major"> {
//       dist.mark_tile(%i, %j)
//       body(%i, %j)
//     }
//     dist.mark_tile()
//
// Only kernels whose launches are recorded go through it. test/device/mark-tiles.mlir shows it.
//
#include "ditron/device/DistOps.h"
#include "ditron/device/transforms/Passes.h"

namespace ditron::device {
#define GEN_PASS_DEF_MARKTILES
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;

namespace {

struct MarkTiles : ditron::device::impl::MarkTilesBase<MarkTiles> {
  void runOnOperation() override {
    getOperation().walk([](TilesOp tiles) {
      Block &body = tiles.getBody().front();
      OpBuilder builder(&body, body.begin());
      builder.create<MarkTileOp>(tiles.getLoc(), body.getArguments());
      builder.setInsertionPointAfter(tiles);
      builder.create<MarkTileOp>(tiles.getLoc(), ValueRange());
    });
  }
};

} // namespace
