// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PrintTileAccess: a remark at each access says which part of which buffer it is.
//
//     %a = tile.load %A[%i, %k]    remark: reads 'A'[t0 * 128 : 128, sweep l0 * 64 : 64, reduction]
//
// The kernel stays as it is. test/device/tile-access.mlir shows it.
//
#include "ditron/device/TileAccess.h"
#include "ditron/device/transforms/Passes.h"

namespace ditron::device {
#define GEN_PASS_DEF_PRINTTILEACCESS
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

namespace {

using namespace ditron::device;

struct PrintTileAccess : ditron::device::impl::PrintTileAccessBase<PrintTileAccess> {
  void runOnOperation() override {
    const auto &analysis = getAnalysis<TileAccess>();
    for (const Access &access : analysis.accesses()) {
      mlir::InFlightDiagnostic remark = access.op->emitRemark() << analysis.describe(access);
      for (const Coordinate &coordinate : access.coordinates)
        if (coordinate.where)
          remark.attachNote(coordinate.where) << "seen here: it " << coordinate.reason;
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
