// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlaceResults: a result that is a sum over the ranks is added up while the kernel runs.
//
//     func @gemm(%A, %B, %bias, %C {dist.placement = #dist.placement<reduce_scattered dim 0>}) {
//       dist.tiles (%i, %j) of (ceildiv(M, 128), %columns) order <"grouped", 8> {
//         %sum = scf.for %k ... { load %A[%i, %k] ... dot }
//         tile.store relu(%sum + %bias), %C[%i, %j]
//       }
//     }
//  ->
//     func @gemm(%A, %B, %bias, %C) {                                               A[R*M,K]
//       %staged = dist.symmetric "C.staged"(%ranks, %m, %n)           summands that leave
//       %summands = dist.symmetric "C.summands"(%ranks, %m, %n)       those that come, by rank
//       %done = dist.signals "C.done"(ceildiv(%m, 128), %columns)
//       dist.tiles (%s, %i, %j) of (%ranks, ceildiv(%m, 128), %columns)
//           order <"next-rank-first", 8 over batch> {
//         %sum = scf.for %k ... { load %A[%s][%i, %k] ... dot }       A as [R,M,K]
//         scf.if %s == %rank {
//           dist.wait %done[%i, %j] >= %ranks - 1
//           %total = %sum and %summands[r, %i, %j] of the other ranks, in the order of the ranks
//           tile.store relu(%total + %bias), %C[%i, %j]
//         } else {
//           tile.store %sum, %staged[%s, %i, %j]
//           dist.put chunk of %staged[%s, %i, %j], %summands[%rank, %i, %j] on %s
//           dist.notify %done[%i, %j] on %s add %c1
//         }
//       }
//     }
//
// Own tiles come last on every core, and the others wait for nothing, so no rank waits in a circle. In rounds an own
// tile waits for tiles that every rank visits before its own ones of the same round.
// Arguments that the sum reads are R times as large along the dimension; those that only follow
// from it (a residual) are the rank's part.
//
// all_reduced: the columns of tiles are dealt to the ranks, %s * w to (%s + 1) * w, and summed in
// the same way; the rank that has a sum also puts it to the others ("C.sums"), which copy it to
// their C in a second loop. In rounds they are dealt by rows; from three rounds on the own tiles of each come behind
// the others' of the next one (order "others-ahead").
//
// By copy engines summands and sums travel in chunks of several tiles: ResultsByCopyEngines.cpp shows
// it. The tiles of an all-reduce are dealt by rows then, which are many where copy engines pay.
// test/device/place-results.mlir shows all forms, and place-results-invalid.mlir what is refused.
//
#include "ditron/device/transforms/Passes.h"
#include "ditron/device/transforms/ResultWriter.h"

namespace ditron::device {
#define GEN_PASS_DEF_PLACERESULTS
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;
namespace core = ditron::core;

namespace {

struct PlaceResults : ditron::device::impl::PlaceResultsBase<PlaceResults> {
  void runOnOperation() override {
    if (failed(placeArguments(getOperation(),
                              {PlacementKind::reduceScattered, PlacementKind::allReduced},
                              [&](auto placed) { return place(placed); })))
      signalPassFailure();
  }

private:
  LogicalResult place(ArrayRef<PlacedArgument> placed) {
    func::FuncOp kernel = getOperation();
    if (placed.size() > 1)
      return kernel.emitError() << "'" << placed[0].name << "' and '" << placed[1].name
                                << "' are both summed over the ranks: expected one result";
    if (kernel.getArgAttr(placed.front().value.getArgNumber(), core::kReadOnlyAttr))
      return kernel.emitError() << "'" << placed.front().name
                                << "' is summed over the ranks, but is an input: expected a result";
    auto result = findResult(kernel, placed.front());
    if (failed(result))
      return failure();
    auto writer = result->isByCores() ? makeCoreWriter(kernel, *result)
                                      : makeCopyEngineWriter(kernel, *result);
    if (failed(writer->write()))
      return failure();
    kernel.removeArgAttr(placed.front().value.getArgNumber(), kPlacementAttr);
    return success();
  }
};

} // namespace
