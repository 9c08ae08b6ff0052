// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention over a cache in pages, in parts of 256 positions that are joined behind: a sequence has the
// same bits alone and in a batch, in every mode, on any number of cores.
#include "ditron/driver/Context.h"
#include "ditron/driver/TaskProgram.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include <cmath>
#include <gmock/gmock.h>
#include <limits>
#include <numeric>

namespace ditron::kernels {
namespace {

constexpr int64_t kHeads = 6, kKeyHeads = 2, kHeadSize = 16, kPage = 32, kPagesOfOne = 18;
/// How many keys sequences see: around the borders of a part and of a page.
const std::vector<int64_t> kLengths = {1, 255, 256, 257, 32, 33, 513, 0};

float number(int64_t n) { return float((n * 2654435761 + 12345) % 1000003) / 500001 - 1; }

Tensor tensor(DType type, std::vector<int64_t> shape, const std::function<double(int64_t)> &value) {
  Tensor host = Tensor::own(type, std::move(shape));
  for (int64_t n = 0; n < host.elements(); ++n)
    if (type == DType::f32)
      host.as<float>()[n] = float(value(n));
    else
      host.as<int32_t>()[n] = int32_t(value(n));
  return host;
}

/// A page of sequence s, all pages being in no order.
int64_t pageOf(int64_t s, int64_t j) {
  return (s * kPagesOfOne + j) * 5 % (std::ssize(kLengths) * kPagesOfOne);
}

/// Keys or values; those that nobody sees are no numbers.
Tensor cache(int64_t seed) {
  constexpr int64_t kRow = kHeadSize, kHead = kPage * kRow, kAll = kKeyHeads * kHead;
  int64_t pages = std::ssize(kLengths) * kPagesOfOne;
  Tensor host = tensor(DType::f32, {pages, kKeyHeads, kPage, kHeadSize},
                       [](int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
  for (int64_t s = 0; s < std::ssize(kLengths); ++s)
    for (int64_t j = 0; j < kLengths[size_t(s)]; ++j)
      for (int64_t g = 0; g < kKeyHeads; ++g)
        for (int64_t d = 0; d < kRow; ++d) {
          int64_t at = pageOf(s, j / kPage) * kAll + g * kHead + j % kPage * kRow + d;
          host.as<float>()[at] = number(seed + at);
        }
  return host;
}

/// What queries of these sequences see, one after another; those of sequence `broken` are no numbers.
std::vector<float> attended(const std::vector<int64_t> &sequences, Mode mode, bool byElements,
                            const Options &options, int64_t broken = -1) {
  Context ctx = Context::init(options);
  DecodeAttentionConfig config{.m = 3,
                               .n = int(kPage),
                               .d = int(kHeadSize),
                               .block = 8,
                               .byElements = byElements,
                               .apart = true};
  TaskGraph g("attention");
  Value q = g.input("q[T,N,D]"), positions = g.input("positions[T]", DType::i32);
  Value numbers = g.input("sequences[T]", DType::i32);
  auto constant = [&](const Tensor &host) { return g.constant(ctx.tensorFrom(host)); };
  Value keys = constant(cache(0)), values = constant(cache(1000003));
  Value pages = constant(tensor(DType::i32, {std::ssize(kLengths), kPagesOfOne}, [](int64_t n) {
    return double(pageOf(n / kPagesOfOne, n % kPagesOfOne));
  }));
  struct Parts {
    Value o, sizes;
  };
  Parts parts =
      g.task(pagedAttention(DType::f32, config), q, keys, values, positions, numbers, pages, 0.25);
  g.output(g.task(combineAttention(DType::f32, {4, int(kHeadSize), true}), parts.o, parts.sizes));
  int64_t T = std::ssize(sequences);
  Tensor out = Tensor::own(DType::f32, {T, kHeads * kHeadSize});
  auto of = [&](int64_t t) { return sequences[size_t(t)]; };
  Tensor queries = tensor(DType::f32, {T, kHeads, kHeadSize}, [&](int64_t n) {
    constexpr int64_t kQuery = kHeads * kHeadSize;
    if (of(n / kQuery) == broken)
      return std::numeric_limits<float>::quiet_NaN();
    return number(of(n / kQuery) * kQuery + n % kQuery);
  });
  Tensor places = tensor(DType::i32, {T}, [&](int64_t t) { return kLengths[size_t(of(t))] - 1; });
  Tensor which = tensor(DType::i32, {T}, [&](int64_t t) { return double(of(t)); });
  TaskProgram program = ctx.compile(g, {.mode = mode});
  program(queries, places, which, out);
  ctx.sync();
  return {out.as<float>(), out.as<float>() + out.elements()};
}

std::vector<int64_t> all() {
  std::vector<int64_t> sequences(kLengths.size());
  std::iota(sequences.begin(), sequences.end(), 0);
  return sequences;
}

TEST(AttentionParts, WhatIsNoNumberStaysNone) {
  constexpr int64_t kRow = kHeads * kHeadSize, kBroken = 3;
  for (bool byElements : {false, true}) {
    std::vector<float> found = attended(all(), Mode::stream, byElements, {.cores = 2}, kBroken);
    for (int64_t s : all())
      for (int64_t n = s * kRow; n < (s + 1) * kRow; ++n)
        ASSERT_EQ(std::isnan(found[size_t(n)]), s == kBroken) << byElements << " " << s;
  }
}

TEST(AttentionParts, AreTheSameAloneAndInABatch) {
  std::vector<float> batch = attended(all(), Mode::stream, false, {.cores = 2});
  constexpr int64_t kRow = kHeads * kHeadSize;
  for (int64_t s : all()) {
    std::vector<float> alone = attended({s}, Mode::stream, false, {.cores = 2});
    EXPECT_EQ(alone, std::vector(batch.begin() + s * kRow, batch.begin() + (s + 1) * kRow)) << s;
    bool isNone = kLengths[size_t(s)] == 0;
    for (float x : alone)
      EXPECT_TRUE(isNone ? x == 0 : std::isfinite(x)) << s;
  }
}

TEST(AttentionParts, AreTheSameInEveryModeOnAnyCores) {
  std::vector<float> stream = attended(all(), Mode::stream, false, {.cores = 2});
  EXPECT_EQ(attended(all(), Mode::megakernel, false, {.cores = 3}), stream);
  EXPECT_EQ(attended(all(), Mode::graph, false, {.cores = 1}), stream);
}

TEST(AttentionParts, ByElementsAreNearThoseByTiles) {
  std::vector<float> tiles = attended(all(), Mode::stream, false, {.cores = 2});
  EXPECT_THAT(attended(all(), Mode::megakernel, true, {.cores = 2}),
              testing::Pointwise(testing::FloatNear(1e-4F), tiles));
}

TEST(AttentionParts, ArePartsOfSomeTiles) {
  EXPECT_THROW((void)pagedAttention(DType::f32, {.apart = true}), CompileError);
  EXPECT_THROW((void)decodeAttention(DType::f32, {.byElements = true}), CompileError);
}

} // namespace
} // namespace ditron::kernels
