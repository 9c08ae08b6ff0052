// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlaceExchanges: rows of an argument go to the ranks that they are for, by counts.
//
//     func @experts(%A {dist.placement = #dist.placement<exchanged dim 0 counts "counts">}, %W,
//                   %counts, %C) {                           A[T,K], W[G,N,K], counts[G], C[T,N]
//       dist.tiles (%i, %j) of (%m, %n) {
//         %a = memref.subview %A[%first, 0] [%rows, %k]
//         %c = memref.subview %C[%first, 0] [%rows, %n]
//         ...
//  ->
//     func @experts(%A, %W, %counts, %C)                     A[T,K], W[G,N,K], counts[R*G], C[R*T,N]
//       %all = dist.symmetric "counts.of"(%ranks, R*G)
//       %rows = dist.symmetric "A.exchanged"(R, T, %k)
//       dist.role "exchange" cores %c0 for %c1 {
//         for each peer: dist.put %counts, %all[%rank] on %peer; dist.notify %counted[%rank]
//         for each other rank, the one before this one first:
//           dist.put rows of %A, %rows[%rank] on %peer; dist.notify %ready[%rank] on %peer
//       }
//       dist.role "compute" cores %c1 for %rest {
//         for each rank %s: dist.wait %counted[%s]
//         dist.tiles (%s, %i, %j) of (%ranks, %m, %n) order <"own-shard-first"> {
//           if %s is another rank: dist.wait %ready[%s]
//           the tile of the rows of %s: in %A or %rows[%s], with %all[%s, G * rank + g] for counts[g],
//           and %C where these rows stand among those of all ranks
//
// Rows of A are sorted by group, those of rank 0 first, then those of rank 1. In C the rows of a group
// stand behind one another, in the order of the ranks that they come from: all ranks know all counts,
// so each knows where rows are. What a tile needs comes from one rank, and tiles of the own rows wait
// for nobody. Such a kernel reads counts and rows in one loop over tiles, and slices what it writes by
// group (OverlappedExchange.cpp); any other one begins when all rows are there, those of a group
// together (JoinedExchange.cpp). test/device/place-exchanges.mlir shows both,
// place-exchanges-invalid.mlir what is refused.
//
#include "ditron/device/AccessSpace.h"
#include "ditron/device/Provenance.h"
#include "ditron/device/transforms/Exchanges.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ditron::device {
#define GEN_PASS_DEF_PLACEEXCHANGES
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;
namespace core = ditron::core;

namespace {

//===-- What can be exchanged -----------------------------------------------------------------===//

struct PlaceExchanges : ditron::device::impl::PlaceExchangesBase<PlaceExchanges> {
  void runOnOperation() override {
    if (failed(placeArguments(getOperation(), {PlacementKind::exchanged},
                              [&](auto placed) { return place(placed); })))
      signalPassFailure();
  }

private:
  LogicalResult place(ArrayRef<PlacedArgument> placed) {
    func::FuncOp kernel = getOperation();
    auto exchange = exchangeOf(kernel, placed);
    if (failed(exchange))
      return failure();
    if (!overlapExchange(kernel, *exchange))
      joinExchange(kernel, *exchange);
    finish(kernel, *exchange);
    return success();
  }

  static FailureOr<Exchange> exchangeOf(func::FuncOp kernel, ArrayRef<PlacedArgument> placed) {
    Exchange exchange{SmallVector<PlacedArgument>(placed), {}, {}};
    exchange.name = placed.front().placement.getCounts().str();
    if (failed(checkKernel(kernel, exchange)))
      return failure();
    for (BlockArgument argument : kernel.getArguments())
      if (kernel.getArgAttr(argument.getArgNumber(), core::kNameAttr) ==
          StringAttr::get(kernel.getContext(), exchange.name))
        exchange.counts = argument;
    if (failed(checkCounts(kernel, exchange)))
      return failure();
    return exchange;
  }

  static LogicalResult checkKernel(func::FuncOp kernel, const Exchange &exchange) {
    const PlacedArgument &first = exchange.rows.front();
    if (hasVerbs(kernel))
      return kernel.emitError() << "'" << first.name << "' is exchanged, but the kernel has verbs "
                                << "of its own: expected a kernel of one device";
    for (BlockArgument argument : kernel.getArguments())
      if (PlacementAttr other = placementOf(kernel, argument.getArgNumber());
          other && other.getKind() != PlacementKind::exchanged)
        return kernel.emitError() << "'" << first.name << "' is exchanged and "
                                  << describe(argument)
                                  << " is placed in another way: expected one of them";
    for (const PlacedArgument &rows : exchange.rows) {
      if (!kernel.getArgAttr(rows.value.getArgNumber(), core::kReadOnlyAttr))
        return kernel.emitError() << "'" << rows.name << "' is exchanged, but the kernel writes "
                                  << "it: expected an input";
      if (cast<MemRefType>(rows.value.getType()).getRank() != 2 || rows.placement.getDim() != 0)
        return kernel.emitError() << "'" << rows.name
                                  << "' is exchanged, expected the rows of a matrix";
      if (rows.placement.getCounts() != exchange.name || rows.extent != first.extent ||
          rows.placement.getAxis() != exchange.axis())
        return kernel.emitError() << "'" << first.name << "' and '" << rows.name
                                  << "' are exchanged in two ways: expected the same counts, rows "
                                     "and axis";
    }
    return success();
  }

  static LogicalResult checkCounts(func::FuncOp kernel, const Exchange &exchange) {
    StringRef rows = exchange.rows.front().name;
    auto type = exchange.counts ? dyn_cast<MemRefType>(exchange.counts.getType()) : MemRefType();
    bool isCounts = type && type.getRank() == 1 && type.getElementType().isInteger(32) &&
                    kernel.getArgAttr(exchange.counts.getArgNumber(), core::kReadOnlyAttr);
    StringAttr extent = isCounts ? extentName(exchange.counts, 0) : StringAttr();
    if (!extent || !llvm::all_of(extent.getValue(), llvm::isAlpha))
      return kernel.emitError() << "'" << rows << "' is exchanged by '" << exchange.name
                                << "': expected an input of i32 with one named dimension";
    for (Operation *user : exchange.counts.getUsers())
      if (!isa<memref::LoadOp, memref::DimOp>(user))
        return user->emitError() << "'" << rows << "' is exchanged by '" << exchange.name
                                 << "', which is read here other than element by element";
    return success();
  }

  /// The signature of what is launched.
  static void finish(func::FuncOp kernel, const Exchange &exchange) {
    StringAttr rows = exchange.rows.front().extent;
    for (BlockArgument argument : kernel.getArguments()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      bool isExchanged =
          llvm::any_of(exchange.rows, [&](auto &own) { return own.value == argument; });
      for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank && !isExchanged; ++dim)
        if (argument == exchange.counts || extentName(argument, dim) == rows)
          setWhole(kernel, argument, dim, exchange.axis());
    }
    for (const PlacedArgument &argument : exchange.rows)
      kernel.removeArgAttr(argument.value.getArgNumber(), kPlacementAttr);
  }
};

} // namespace
