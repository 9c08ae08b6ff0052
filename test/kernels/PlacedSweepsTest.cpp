// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over a dimension that is gathered: attention over the keys of all ranks, and windows of a
// dimension.
#include "Placed.h"
#include "ditron/support/Error.h"
#include <cmath>
#include <gmock/gmock.h>
#include <limits>

namespace ditron::kernels {
namespace {

using testing::HasSubstr;

//===-- Attention -----------------------------------------------------------------------------===//

constexpr int kHead = 16;

/// softmax(q * k^T + bias) * v of one head, tiles of keys in the order of `keys`.
template <class Keys> Kernel attention(const Keys &keys) {
  return {"attention(q[T,D], k[S,D], v[S,D], bias[S]) -> o[T,D]",
          [&](In<f32> q, In<f32> k, In<f32> v, In<f32, 1> bias, Out<f32> o) {
            auto qs = q.tiled(8, kHead), ks = k.tiled(8, kHead), vs = v.tiled(8, kHead);
            auto os = o.tiled(8, kHead);
            auto biases = bias.tiled(8);
            for (auto [i, column] : os.tiles()) {
              Tile mine = qs(i, 0);
              Var top = full<f32>({8, 1}, std::numeric_limits<f32>::lowest());
              Var total = zeros<f32>(8, 1), sums = zeros<f32>(8, kHead);
              for (auto j : keys(ks.rows())) {
                auto scores = dot(mine, transpose(ks(j, 0))) + Tile(biases(j).padded(-INFINITY));
                auto next = maximum(top, max(scores, 1)), fading = exp(top - next);
                auto weights = exp(scores - next);
                total = total * fading + sum(weights, 1);
                sums = sums * fading + dot(weights, vs(j, 0));
                top = next;
              }
              os(i, column) = sums / total;
            }
          }};
}

double attentionInput(int64_t rank, size_t argument, const Place &at) {
  return element(rank, argument, at) / 4;
}

/// What query `at[0]` of a rank sees of the keys of all ranks, `part` of each.
double attended(int64_t ranks, int64_t part, int64_t rank, const Place &at) {
  double total = 0, sum = 0;
  for (int64_t key = 0; key < ranks * part; ++key) {
    int64_t owner = key / part, j = key % part;
    double score = attentionInput(owner, 3, {j});
    for (int64_t d = 0; d < kHead; ++d)
      score += attentionInput(rank, 0, {at[0], d}) * attentionInput(owner, 1, {j, d});
    total += std::exp(score);
    sum += std::exp(score) * attentionInput(owner, 2, {j, at[1]});
  }
  return sum / total;
}

/// Keys and values of all ranks pass by each rank's queries, its own first.
TEST(PlacedSweeps, Attention) {
  Kernel whole = attention([](Index count) { return inAnyOrder(count); });
  for (const Ways &way : kWays) {
    Placement keys = way.of(gathered(0));
    Kernel kernel = distribute(whole, {{"k", keys}, {"v", keys}, {"bias", keys}});
    EXPECT_EQ(kernel.signature().text(), "attention(q[T,D], k[S,D], v[S,D], bias[S]) -> o[T,D]");
    for (int ranks : {1, 2, 3})
      for (const char *backend : {"cpu", "reference"})
        expectOutput(
            kernel, {{"T", 21}, {"S", 19}, {"D", kHead}}, {ranks, 2, backend},
            [&](int64_t rank, const Place &at) { return attended(ranks, 19, rank, at); },
            attentionInput, 1e-5);
    expectProved(kernel, 3, {{"T", 12}, {"S", 10}, {"D", kHead}});
  }
}

TEST(PlacedSweeps, RefuseAnOrder) {
  Kernel ordered = attention([](Index count) { return range(count); });
  try {
    distribute(ordered, {{"k", gathered(0)}, {"v", gathered(0)}, {"bias", gathered(0)}});
    FAIL() << "no error";
  } catch (const CompileError &error) {
    EXPECT_THAT(error.what(), HasSubstr("PlacedSweepsTest.cpp:"));
    EXPECT_THAT(error.what(),
                HasSubstr("'k' is gathered along S, but what this loop over S carries depends on "
                          "the order of its steps"));
  }
}

/// The sum of x[i], weighted by its position, from element first[0] to element last[0]: a window
/// that begins and ends in the middle of tiles and of shards.
Kernel weighted(int size) {
  return {"weighted(x[S,H], first[1], last[1]) -> y[E,H]",
          [=](In<f32> x, In<i32, 1> first, In<i32, 1> last, Out<f32> y) {
            Index begin = toIndex(first.read({0})), count = toIndex(last.read({0})) - begin;
            auto window = x.slice(0, begin, count).tiled(size, 4);
            Tile row = iota({size, 1}, 0);
            for (auto [i, column] : y.tiled(1, 4).tiles()) {
              Var total = zeros<f32>(1, 4);
              for (auto j : range(ceilDiv(count, size))) {
                Tile position = row + j * size;
                Tile weight = select(position < toTile(count), cast<f32>(position), 1000);
                Var part = Tile(window(j, column)) + 1;
                when(j >= count / size, [&] { part = select(position < toTile(count), part, 0); });
                total += sum(part * weight, 0);
              }
              y.tiled(1, 4)(i, column) = total;
            }
          }};
}

TEST(PlacedSweeps, WindowsOfADimension) {
  constexpr int64_t kPart = 11;
  for (int size : {1, 4})
    for (const Ways &way : kWays)
      for (int ranks : {1, 3})
        for (auto [first, last] : {std::pair<int64_t, int64_t>(0, kPart * ranks),
                                   {3, kPart * ranks - 2},
                                   {5, 9},
                                   {7, 7},
                                   {kPart * ranks, kPart * ranks}})
          for (const char *backend : {"cpu", "reference"}) {
            SCOPED_TRACE(fmt::format("elements {} to {}, tiles of {}", first, last, size));
            Kernel kernel = distribute(weighted(size), {{"x", way.of(gathered(0))}});
            auto input = [first = first, last = last](int64_t rank, size_t n, const Place &at) {
              return n == 0 ? element(rank, 0, at) : double(n == 1 ? first : last);
            };
            auto wanted = [&, first = first, last = last](int64_t, const Place &at) {
              double sum = 0;
              for (int64_t i = first; i < last; ++i)
                sum += double(i - first) * (1 + element(i / kPart, 0, {i % kPart, at[1]}));
              return sum;
            };
            expectOutput(kernel, {{"S", kPart}, {"H", 6}, {"E", 1}}, {ranks, 2, backend}, wanted,
                         input);
          }
}

} // namespace
} // namespace ditron::kernels
