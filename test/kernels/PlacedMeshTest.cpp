// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels placed along the axes of a mesh: SUMMA and Cannon's algorithm from one product, and verbs
// that name peers along an axis.
#include "Placed.h"
#include "ditron/lang/Dist.h"
#include "ditron/support/Error.h"
#include <cmath>
#include <gmock/gmock.h>

namespace ditron::kernels {
namespace {

using testing::HasSubstr;

GemmConfig small() {
  GemmConfig config;
  config.m = 8, config.n = 16, config.k = 8, config.group = 2;
  return config;
}

/// C = A * B, of all of which each rank of a square mesh has a block.
Kernel blocks(const Ways &way) {
  return distribute(gemm(DType::f32, small()), {{"A", way.of(gathered(1)).along("col")},
                                                {"B", way.of(gathered(0)).along("row")}});
}

const Dimensions kBlock{{"M", 9}, {"N", 21}, {"K", 10}};

double blockOf(int64_t size, int64_t rank, const Place &at) {
  int64_t row = rank / size, col = rank % size;
  double sum = 0;
  for (int64_t s = 0; s < size; ++s)
    for (int64_t k = 0; k < kBlock.at("K"); ++k)
      sum += element(row * size + s, 0, {at[0], k}) * element(s * size + col, 1, {k, at[1]});
  return sum;
}

std::string square(int size) { return fmt::format("row={},col={}", size, size); }

TEST(PlacedMesh, ProductsOfBlocks) {
  for (const Ways &way : kWays)
    for (int size : {1, 2, 3})
      for (const char *backend : {"cpu", "reference"}) {
        Kernel kernel = blocks(way);
        EXPECT_EQ(kernel.signature().text(), "gemm(A[M,K], B[K,N]) -> C[M,N]");
        expectOutput(kernel, kBlock, {size * size, 2, backend, 1, square(size)},
                     [&](int64_t rank, const Place &at) { return blockOf(size, rank, at); });
      }
}

TEST(PlacedMesh, ProductsOfBlocksAreProved) {
  for (const Ways &way : kWays)
    for (int size : {2, 3}) {
      SCOPED_TRACE(fmt::format("ring {}, copy {}", way.isRing, way.engine == Engine::copy));
      CheckOptions options;
      options.ranks = size * size;
      options.cores = 2;
      options.mesh = *MeshAxes::parse(square(size));
      options.shape = {{"M", 6}, {"N", 5}, {"K", 7}};
      Verdict verdict = check(blocks(way), options);
      EXPECT_TRUE(verdict.clean()) << verdict.text();
      EXPECT_EQ(verdict.method, Method::proved);
    }
}

TEST(PlacedMesh, MeshesThatAreNotSquareAreRefused) {
  Options options;
  options.ranks = 2;
  options.mesh = runtime::MeshRequest::parse("row=2,col=1");
  EXPECT_THAT(
      [&] {
        runRanks(options, [&](Context &context) {
          Tensor a = context.tensor<f32>({4, 4}), c = context.tensor<f32>({4, 4});
          context.compile(blocks(kWays[0]))(a, a, c);
          context.sync();
        });
      },
      testing::ThrowsMessage<CompileError>(
          HasSubstr("'A' is gathered along K by 1 ranks (axis col of the mesh) and 'B' by 2 (axis "
                    "row), expected as many")));
}

TEST(PlacedMesh, AxesThatTheMeshLacksAreRefused) {
  for (const char *backend : {"cpu", "reference"}) {
    Options options;
    options.ranks = 2;
    options.backend = backend;
    std::string message;
    try {
      runRanks(options, [&](Context &context) {
        Tensor a = context.tensor<f32>({4, 4}), c = context.tensor<f32>({4, 4});
        context.compile(blocks(kWays[0]))(a, a, c);
        context.sync();
      });
    } catch (const CompileError &error) {
      message = error.what();
    }
    EXPECT_THAT(message, HasSubstr("is none of the mesh")) << backend;
  }
}

/// Products with a transfer among the ranks of one row, or of one column, of a mesh of 2 x 3.
TEST(PlacedMesh, EveryPlacementAlongAnyAxis) {
  const Dimensions dims{{"M", 11}, {"N", 18}, {"K", 9}};
  MeshAxes mesh = *MeshAxes::parse("row=2,col=3");
  auto product = [&](int64_t rankA, int64_t row, int64_t rankB, int64_t column) {
    double sum = 0;
    for (int64_t k = 0; k < dims.at("K"); ++k)
      sum += element(rankA, 0, {row, k}) * element(rankB, 1, {k, column});
    return sum;
  };
  for (Placement placement : {gathered(0), gathered(0).ring(), reduceScattered(0), allReduced()})
    for (Engine engine : {Engine::core, Engine::copy})
      for (const char *axis : {"row", "col"}) {
        bool isGather = placement.kind == Placement::Kind::gathered;
        bool isScatter = placement.kind == Placement::Kind::reduceScattered;
        MeshAxes::Line line = *mesh.find(axis);
        auto wanted = [&](int64_t rank, const Place &at) {
          int64_t M = dims.at("M");
          if (isGather)
            return product(line.rankAt(rank, at[0] / M), at[0] % M, rank, at[1]);
          double sum = 0;
          for (int64_t place = 0; place < line.extent; ++place) {
            int64_t peer = line.rankAt(rank, place);
            sum += product(peer, at[0] + (isScatter ? line.placeOf(rank) * M : 0), peer, at[1]);
          }
          return sum;
        };
        Kernel kernel = distribute(gemm(DType::f32, small()),
                                   {{isGather ? "A" : "C", placement.on(engine).along(axis)}});
        for (const char *backend : {"cpu", "reference"})
          expectOutput(kernel, dims, {6, 2, backend, 1, mesh.text()}, wanted);
      }
}

/// Places, and a peer along an axis of three.
TEST(PlacedMesh, PlacesAlongNamedAxes) {
  Kernel kernel("shift(x[1]) -> y[4]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto landed = symmetric<f32>({Index(1)}, "landed");
    auto here = signals(Index(1), "here");
    Index next = (rank("depth") + 1) % numRanks("depth");
    put(x, landed.on(rankAt("depth", next)));
    notify(here.on(rankAt("depth", next))(0));
    wait(here(0), 1);
    y.tiled(1)(0) = landed.tiled(1)(0);
    y.tiled(1)(1) = cast<f32>(toTile(rank("row")));
    y.tiled(1)(2) = cast<f32>(toTile(rank("depth")));
    y.tiled(1)(3) = cast<f32>(toTile(numRanks("col")));
  });
  for (const char *backend : {"cpu", "reference"})
    expectOutput(kernel, {}, {12, 1, backend, 1, "row=2,depth=2,col=3"},
                 [](int64_t rank, const Place &at) {
                   int64_t depth = rank / 3 % 2, from = rank + (depth == 0 ? 3 : -3);
                   double wanted[] = {element(from, 0, {0}), double(rank / 6), double(depth), 3};
                   return wanted[at[0]];
                 });
}

} // namespace
} // namespace ditron::kernels
