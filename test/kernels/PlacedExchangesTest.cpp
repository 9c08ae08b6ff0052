// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that go to other ranks by counts: the tokens of experts.
#include "Placed.h"
#include "ditron/support/Error.h"
#include <cmath>
#include <gmock/gmock.h>

namespace ditron::kernels {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = 23, kGroups = 3;
const Dimensions kShape{{"T", kRows}, {"G", kGroups}, {"N", 9}, {"K", 13}};

/// How many rows a rank has for a group of all: some none, and some rows for nobody.
int64_t countOf(int64_t rank, int64_t group, int64_t ranks) {
  int64_t most = kRows / (ranks * kGroups);
  return (5 * rank + 3 * group) % (most + 2) > most ? 0 : (5 * rank + 3 * group) % (most + 2);
}

GemmTile small() {
  GemmTile tile;
  tile.m = 4, tile.n = 8, tile.k = 8, tile.group = 2;
  return tile;
}

/// Where a row of the output comes from.
struct Origin {
  int64_t rank, row, group;
};
std::vector<Origin> originsOf(int64_t owner, int64_t ranks) {
  std::vector<Origin> rows;
  for (int64_t g = 0; g < kGroups; ++g)
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t first = 0, slot = owner * kGroups + g;
      for (int64_t before = 0; before < slot; ++before)
        first += countOf(rank, before, ranks);
      for (int64_t i = 0; i < countOf(rank, slot, ranks); ++i)
        rows.push_back({rank, first + i, g});
    }
  return rows;
}

Kernel experts(int cores) {
  return distribute(groupedGemm(DType::f32, small()), {{"A", exchanged("counts").cores(cores)}});
}

TEST(PlacedExchanges, ProductsOfExperts) {
  for (int cores : {0, 1, 2})
    for (int ranks : {1, 2, 3, 4})
      for (const char *backend : {"cpu", "reference"}) {
        Kernel kernel = experts(cores);
        EXPECT_EQ(kernel.signature().text(),
                  "grouped-gemm(A[T,K], W[G,N,K], counts[R*G]) -> C[R*T,N]");
        auto input = [&](int64_t rank, size_t n, const Place &at) {
          return n == 2 ? double(countOf(rank, at[0], ranks)) : element(rank, n, at);
        };
        auto wanted = [&](int64_t rank, const Place &at) {
          std::vector<Origin> rows = originsOf(rank, ranks);
          if (at[0] >= static_cast<int64_t>(rows.size()))
            return static_cast<double>(NAN);
          Origin from = rows[at[0]];
          double sum = 0;
          for (int64_t k = 0; k < kShape.at("K"); ++k)
            sum += element(from.rank, 0, {from.row, k}) * element(rank, 1, {from.group, at[1], k});
          return sum;
        };
        expectOutput(kernel, kShape, {ranks, 3, backend}, wanted, input);
      }
}

TEST(PlacedExchanges, AreProved) {
  CheckOptions options;
  options.ranks = 3;
  options.cores = 2;
  options.shape = kShape;
  options.input = [](int64_t rank, size_t n, int64_t at) {
    return n == 2 ? double(countOf(rank, at, 3)) : 1.0;
  };
  for (int cores : {0, 1}) {
    Verdict verdict = check(experts(cores), options);
    EXPECT_TRUE(verdict.clean()) << verdict.text();
    EXPECT_EQ(verdict.method, Method::proved);
  }
}

TEST(PlacedExchanges, CountsBeyondTheRowsEndTheLaunch) {
  Options options;
  options.ranks = 2;
  EXPECT_THAT(
      [&] {
        runRanks(options, [&](Context &context) {
          Tensor a = context.tensor<f32>({4, 8}), w = context.tensor<f32>({1, 8, 8});
          Tensor counts = context.tensor<i32>({2}), c = context.tensor<f32>({8, 8});
          counts.set({0}, 3), counts.set({1}, 2);
          context.compile(experts(1))(a, w, counts, c);
          context.sync();
        });
      },
      testing::ThrowsMessage<CompileError>(HasSubstr("'counts' counts 5 rows, but 'A' has 4")));
}

TEST(PlacedExchanges, Refusals) {
  auto refusal = [](const Kernel &kernel, const Placements &placements) -> std::string {
    try {
      distribute(kernel, placements);
    } catch (const CompileError &error) {
      return error.what();
    }
    return "no error";
  };
  Kernel grouped = groupedGemm(DType::f32, small()), product = gemm(DType::f32);
  EXPECT_THAT(refusal(grouped, {{"A", exchanged("sizes")}}), HasSubstr("PlacedExchangesTest.cpp:"));
  EXPECT_THAT(refusal(grouped, {{"A", exchanged("sizes")}}),
              HasSubstr("there is no argument 'sizes': there are A, W, counts, C"));
  EXPECT_THAT(refusal(grouped, {{"A", exchanged("W")}}),
              HasSubstr("'A' is exchanged by 'W': expected an input of i32 with one named "
                        "dimension"));
  EXPECT_THAT(refusal(grouped, {{"W", exchanged("counts")}}),
              HasSubstr("'W' is exchanged, expected the rows of a matrix"));
  EXPECT_THAT(refusal(grouped, {{"C", exchanged("counts")}}),
              HasSubstr("'C' cannot be exchanged(\"counts\"): it is an output, expected an input"));
  EXPECT_THAT(refusal(grouped, {{"A", exchanged("counts").on(Engine::copy)}}),
              HasSubstr("it is moved by copy engines, which know no counts: expected cores"));
  EXPECT_THAT(refusal(grouped, {{"A", exchanged("counts").ring()}}),
              HasSubstr("it goes round a ring, expected a gathered input"));
  EXPECT_THAT(refusal(grouped, {{"A", exchanged("counts")}, {"W", gathered(1)}}),
              HasSubstr("'A' is exchanged and argument 'W' is placed in another way"));
}

} // namespace
} // namespace ditron::kernels
