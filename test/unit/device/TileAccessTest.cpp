// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the analysis hands to who builds on it: expressions, windows, loops and symbols. What it finds
// form by form is in test/device/tile-access.mlir.
#include "ditron/device/TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace ditron::device;

namespace {

using Kind = Coordinate::Kind;

/// C[M,N] = A[M,K] * ..., the rows of C in shards of the ranks.
constexpr const char *kKernel = R"(
!v = memref<?x?xf32, strided<[?, ?], offset: ?>>
!w = memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
func.func @kernel(%A: !v, %C: !v, %n: index)
    attributes {tile.kernel, tile.extents = [["M", "K"], ["R*M", "N"], []]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %rows = memref.dim %C, %c0 : !v
  %columns = memref.dim %C, %c1 : !v
  %k = memref.dim %A, %c1 : !v
  %steps = arith.ceildivsi %k, %c32 : index
  %ranks = dist.num_ranks
  %share = arith.divsi %rows, %ranks : index
  %c = memref.expand_shape %C [[0, 1], [2]] output_shape [%ranks, %share, %columns] : !v into !w
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  dist.tiles (%s, %i) of (%ranks, %n) order <"row-major"> {
    %sum = scf.for %step = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<16x32xf32>) {
      %a = tile.load %A[%i, %step] : !v -> tensor<16x32xf32>
      %next = arith.addf %acc, %a : tensor<16x32xf32>
      scf.yield %next : tensor<16x32xf32>
    }
    tile.store %sum, %c[%s, %i, %c0] : tensor<16x32xf32>, !w
  }
  return
}
)";

class TileAccessTest : public testing::Test {
protected:
  TileAccessTest() {
    context_.loadDialect<ditron::core::TileDialect, DistDialect, arith::ArithDialect,
                         func::FuncDialect, memref::MemRefDialect, scf::SCFDialect,
                         tensor::TensorDialect>();
    module_ = parseSourceString<ModuleOp>(kKernel, &context_);
    kernel_ = *module_->getOps<func::FuncOp>().begin();
  }

  AffineExpr variable(unsigned n) { return getAffineDimExpr(n, &context_); }
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, &context_); }
  /// The symbol of an extent that the signature names.
  AffineExpr extent(const TileAccess &analysis, StringRef name) {
    for (auto [n, symbol] : llvm::enumerate(analysis.symbols()))
      if (symbol.name && symbol.name.getValue() == name)
        return getAffineSymbolExpr(n, &context_);
    return {};
  }

  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
  func::FuncOp kernel_;
};

TEST_F(TileAccessTest, LoadIsPointAndSweep) {
  TileAccess analysis(kernel_);
  ASSERT_EQ(analysis.accesses().size(), 2u);
  const Access &load = analysis.accesses().front();
  EXPECT_TRUE(load.reads && !load.writes && load.isKnown() && !load.isConditional);
  EXPECT_EQ(load.buffer, kernel_.getArgument(0));
  EXPECT_FALSE(load.peer);
  ASSERT_EQ(load.loops.size(), 1u);
  EXPECT_EQ(load.numVariables(), 3u); // two coordinates of the point, and the loop
  ASSERT_EQ(load.coordinates.size(), 2u);
  EXPECT_EQ(load.coordinates[0].kind, Kind::point);
  EXPECT_EQ(load.coordinates[0].first, variable(1) * 16);
  EXPECT_EQ(load.coordinates[0].size, constant(16));
  const Coordinate &sweep = load.coordinates[1];
  EXPECT_EQ(sweep.kind, Kind::sweep);
  EXPECT_EQ(sweep.first, variable(2) * 32);
  EXPECT_EQ(sweep.begin, constant(0));
  EXPECT_EQ(sweep.extent, extent(analysis, "K"));
  EXPECT_EQ(sweep.loop, load.loops.front());
  EXPECT_EQ(sweep.carry, Carry::reduction);
}

TEST_F(TileAccessTest, SplitDimensionHasTwoCoordinates) {
  TileAccess analysis(kernel_);
  const Access &store = analysis.accesses().back();
  EXPECT_TRUE(store.writes && !store.reads && store.loops.empty());
  ASSERT_EQ(store.coordinates.size(), 3u);
  EXPECT_EQ(store.coordinates[0].dim, 0);
  EXPECT_EQ(store.coordinates[1].dim, 0);
  EXPECT_EQ(store.coordinates[2].dim, 1);
  EXPECT_EQ(store.coordinates[0].first, variable(0));
  EXPECT_EQ(store.coordinates[0].size, constant(1));
  EXPECT_EQ(store.coordinates[1].first, variable(1) * 16);
  AffineExpr ranks = store.coordinates[0].extent;
  EXPECT_EQ(store.coordinates[1].extent, extent(analysis, "R*M").floorDiv(ranks));
}

TEST_F(TileAccessTest, ExtentsOfOneNameAreOneSymbol) {
  kernel_->setAttr(kExtentsAttr, Builder(&context_).getArrayAttr(
                                     {Builder(&context_).getStrArrayAttr({"N", "N"}),
                                      Builder(&context_).getStrArrayAttr({"N", "N"})}));
  TileAccess analysis(kernel_);
  EXPECT_EQ(analysis.accesses().front().coordinates[0].extent,
            analysis.accesses().front().coordinates[1].extent);
  kernel_->removeAttr(kExtentsAttr);
  TileAccess other(kernel_);
  EXPECT_NE(other.accesses().front().coordinates[0].extent,
            other.accesses().front().coordinates[1].extent);
}

TEST_F(TileAccessTest, LoopThatUsesItsSumIsOrdered) {
  scf::ForOp loop;
  kernel_.walk([&](scf::ForOp found) { loop = found; });
  EXPECT_EQ(carryOf(loop), Carry::reduction);
  loop->setAttr(kReorderableAttr, UnitAttr::get(&context_));
  EXPECT_EQ(carryOf(loop), Carry::marked);
  loop->removeAttr(kReorderableAttr);
  // The sum so far is looked at: the order matters.
  OpBuilder builder(loop.getBody()->getTerminator());
  builder.create<arith::NegFOp>(loop.getLoc(), loop.getRegionIterArg(0));
  EXPECT_EQ(carryOf(loop), Carry::ordered);
}

} // namespace
