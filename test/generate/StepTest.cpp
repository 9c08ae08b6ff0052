// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of a decoder give a row the same bits in whichever of their forms it stands: alone, among
// rows of other sequences, or in a chunk of its own.
#include "bench/RandomModel.h"
#include "ditron/task/GraphText.h"
#include "model/Bf16.h"
#include "model/Blocks.h"
#include "model/Decoder.h"
#include "model/Library.h"
#include "model/StepKernels.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace ditron;
using namespace generate;

namespace {

constexpr int64_t kPositions = 80, kSequences = 3;

struct StepTest : testing::Test {
  Context ctx = Context::init({.cores = 2});

  static Preset presetOf(RopePairs pairs, bool hasHeadNorms) {
    Preset preset = generate::presetOf("tiny");
    preset.architecture.layers = 2;
    preset.architecture.ropePairs = pairs;
    preset.architecture.hasHeadNorms = hasHeadNorms;
    return preset;
  }
  Decoder decoderOf(const Preset &preset, DType type, std::optional<bool> streams = {},
                    Mode mode = Mode::stream) {
    Weights weights = randomWeights(ctx, preset, {type}, kPositions);
    DecoderSize size{
        .positions = kPositions, .sequences = kSequences, .cacheType = type, .streams = streams};
    arrange(ctx, weights, size, mode);
    Decoder decoder(ctx, preset.architecture, weights, size, mode);
    std::vector<int64_t> pages(size_t(decoder.size().pagesOf(kPositions)));
    for (int64_t n = 0; n < kSequences; ++n) {
      std::iota(pages.begin(), pages.end(), n * std::ssize(pages));
      decoder.setPages(n, pages);
    }
    return decoder;
  }

  /// A sequence's token at a position.
  static Row rowOf(int64_t sequence, int64_t position) {
    return {Token((position * 7 + sequence * 31) % 300), position, sequence, true};
  }
  /// The logits of each row of a step.
  static std::vector<std::vector<float>> step(Decoder &decoder, const std::vector<Row> &rows) {
    decoder.step(rows);
    decoder.wait();
    std::vector<std::vector<float>> result;
    for (int64_t n = 0; n < std::ssize(rows); ++n)
      result.push_back(decoder.logits(n).value());
    return result;
  }

  void compare(const Preset &preset, DType type) {
    Decoder apart = decoderOf(preset, type), together = decoderOf(preset, type);
    std::vector<std::vector<float>> expected;
    for (int64_t position = 0; position < 40; ++position)
      expected.push_back(step(apart, {rowOf(0, position)}).front());
    // Chunks of a prompt, with a row of another sequence behind them.
    for (int64_t first : {0, 33}) {
      std::vector<Row> rows;
      for (int64_t position = first; position < std::min<int64_t>(40, first + 33); ++position)
        rows.push_back(rowOf(0, position));
      rows.push_back(rowOf(1, first / 33));
      std::vector<std::vector<float>> found = step(together, rows);
      for (int64_t n = 0; n + 1 < std::ssize(rows); ++n)
        EXPECT_EQ(found[size_t(n)], expected[size_t(first + n)]) << "position " << first + n;
    }
    // Rows that are of a sequence each.
    std::vector<float> alone = step(apart, {rowOf(0, 40)}).front();
    EXPECT_EQ(step(together, {rowOf(0, 40), rowOf(1, 2), rowOf(2, 0)}).front(), alone);
  }
};

} // namespace

TEST_F(StepTest, MatricesInBlocks) {
  constexpr int64_t kRows = 24, kColumns = 640;
  Matrix W;
  W.rows = kRows, W.columns = kColumns;
  W.values = ctx.tensor(DType::bf16, {kRows, kColumns});
  RandomFill fill(ctx);
  fill(W.values, 1);
  EXPECT_TRUE(canBeBlocked(W, /*isGated=*/false));
  EXPECT_FALSE(canBeBlocked(W, /*isGated=*/true)) << "halves of 12 rows";
  Matrix inBlocks = Blocker(ctx)(W);
  EXPECT_EQ(inBlocks.values.shape(), (std::vector<int64_t>{3, 20, 8, 32}));
  Tensor rows = W.values.toHost(), blocks = inBlocks.values.toHost();
  for (int64_t n = 0; n < kRows; ++n)
    for (int64_t k = 0; k < kColumns; ++k)
      ASSERT_EQ(rows.at({n, k}), blocks.at({n / 8, k / 32, n % 8, k % 32})) << n << ", " << k;
  EXPECT_FALSE(canBeBlocked(inBlocks, /*isGated=*/false)) << "twice";
  W.columns = kColumns - 8;
  EXPECT_FALSE(canBeBlocked(W, /*isGated=*/false)) << "half of a block";
}

TEST_F(StepTest, PackedMatricesInBlocks) {
  Weights weights =
      randomWeights(ctx, presetOf(RopePairs::halves, true), {DType::f32, Storage::q80}, kPositions);
  ctx.sync();
  EXPECT_TRUE(canStreamPacked(weights));
  const Matrix W = weights.layers[1].down;
  toBlocks(ctx, weights);
  EXPECT_FALSE(canStreamPacked(weights)) << "twice";
  const Matrix &blocks = weights.layers[1].down;
  EXPECT_EQ(blocks.storage, Storage::blockedQ80);
  Tensor rows = W.values.toHost(), scales = W.scales.toHost();
  Tensor q = blocks.values.toHost(), ofBlocks = blocks.scales.toHost();
  EXPECT_EQ(q.shape(), (std::vector<int64_t>{W.rows / 8, W.columns / 32, 8, 32}));
  EXPECT_EQ(ofBlocks.shape(), (std::vector<int64_t>{W.rows / 8, W.columns / 4}));
  for (int64_t n = 0; n < W.rows; ++n)
    for (int64_t k = 0; k < W.columns; ++k) {
      ASSERT_EQ(rows.at({n, k}), q.at({n / 8, k / 32, n % 8, k % 32})) << n << ", " << k;
      ASSERT_EQ(scales.at({n, k / 32}), ofBlocks.at({n / 8, k / 32 * 8 + n % 8})) << n << ", " << k;
    }
}

TEST_F(StepTest, SameBitsInChunksAndAlone) {
  compare(presetOf(RopePairs::halves, true), DType::f32);
}
TEST_F(StepTest, SameBitsOfAdjacentPairs) {
  compare(presetOf(RopePairs::adjacent, false), DType::f32);
}
TEST_F(StepTest, SameBitsOfNarrowCaches) {
  compare(presetOf(RopePairs::halves, true), DType::bf16);
}

/// Of a GPU, where one row's heads are turned inside attention to pages.
struct GpuStepTest : StepTest {
  static Preset presetOfWideHeads(bool hasHeadNorms) {
    Preset preset = presetOf(RopePairs::halves, hasHeadNorms);
    preset.architecture.headSize = 128;
    preset.architecture.layers = 1;
    return preset;
  }
  /// Bits may differ, as the new key is a part of its own.
  static void expectNear(const std::vector<float> &found, const std::vector<float> &expected) {
    ASSERT_EQ(found.size(), expected.size());
    float largest = 0, difference = 0;
    for (size_t n = 0; n < found.size(); ++n) {
      largest = std::max(largest, std::abs(expected[n]));
      difference = std::max(difference, std::abs(found[n] - expected[n]));
    }
    EXPECT_LE(difference, 0.02F * largest);
  }
  void compareTurned(const Preset &preset, const std::vector<std::vector<Row>> &steps,
                     Mode mode = Mode::stream) {
    Decoder apart = decoderOf(preset, DType::bf16),
            inside = decoderOf(preset, DType::bf16, true, mode);
    for (const std::vector<Row> &rows : steps) {
      SCOPED_TRACE(rows.back().position);
      auto found = step(inside, rows), expected = step(apart, rows);
      for (size_t n = 0; n < rows.size(); ++n)
        expectNear(found[n], expected[n]);
    }
  }
};

/// On both sides of the end of a page, behind a chunk.
TEST_F(GpuStepTest, HeadsTurnedInsideAttention) {
  std::vector<Row> chunk;
  for (int64_t position = 1; position < 63; ++position)
    chunk.push_back(rowOf(0, position));
  compareTurned(presetOfWideHeads(true), {{rowOf(0, 0)}, chunk, {rowOf(0, 63)}, {rowOf(0, 64)}});
}
/// Rows of one sequence see each other's keys, on both sides of the end of a page, and none of other sequences.
TEST_F(GpuStepTest, HeadsOfSeveralRows) {
  auto chunk = [](int64_t first, int64_t end) {
    std::vector<Row> rows;
    for (int64_t position = first; position < end; ++position)
      rows.push_back(rowOf(0, position));
    return rows;
  };
  compareTurned(presetOfWideHeads(true), {chunk(0, 8),
                                          {rowOf(1, 0), rowOf(0, 8), rowOf(1, 1)},
                                          chunk(9, 61),
                                          {rowOf(0, 61), rowOf(0, 62), rowOf(0, 63), rowOf(0, 64),
                                           rowOf(2, 0), rowOf(0, 65)},
                                          {rowOf(2, 1), rowOf(0, 66)}});
}
/// Weights and pages of the cache come through one ring, whatever part of a page has been written before the step.
TEST_F(GpuStepTest, PagesComeThroughTheRing) {
  Preset preset = presetOfWideHeads(true);
  constexpr int64_t kWidth = 256; // of which a tile of weights is large enough for the ring
  preset.architecture.width = preset.architecture.feedForward = kWidth;
  preset.architecture.heads = 2, preset.architecture.keyHeads = 1;
  std::vector<Row> several;
  for (int64_t position = 4; position < 11; ++position)
    several.push_back(rowOf(0, position));
  compareTurned(preset,
                {{rowOf(0, 0)},
                 {rowOf(0, 1)},
                 {rowOf(0, 2), rowOf(1, 0), rowOf(0, 3)},
                 several,
                 {rowOf(1, 1), rowOf(0, 11)},
                 {rowOf(0, 12)}},
                Mode::megakernel);
}
TEST_F(GpuStepTest, HeadsWithoutNormsToo) {
  compareTurned(presetOfWideHeads(false), {{rowOf(0, 0)}, {rowOf(0, 1)}});
}

/// A packed matrix of numbers with scales, and with minima.
class PackedOnHost {
public:
  explicit PackedOnHost(const Matrix &W)
      : hasMinima_(W.storage == Storage::q41), q_(W.values.toHost()), scales_(W.scales.toHost()),
        minima_(hasMinima_ ? W.minima.toHost() : Tensor()) {}
  double operator()(int64_t n, int64_t k) const {
    constexpr int64_t kBlock = 32, kHalf = kBlock / 2;
    int64_t block = k / kBlock, place = k % kBlock;
    double scale = scales_.at({n, block});
    if (!hasMinima_)
      return q_.at({n, k}) * scale;
    auto byte = int(q_.at({n, block * kHalf + place % kHalf}));
    return ((byte >> (place < kHalf ? 0 : 4)) & 15) * scale + minima_.at({n, block});
  }

private:
  bool hasMinima_;
  Tensor q_, scales_, minima_;
};

/// Blocks of other formats, whose weights are those that their format says; but where f16 has no such minimum.
TEST_F(StepTest, BlocksAreHeldInOthers) {
  constexpr int64_t kRows = 6, kColumns = 96;
  bool isOfGpu = Library(ctx).isOfGpu();
  for (auto [format, storage] :
       {std::pair(Format::q50, Storage::q80), {Format::q40, isOfGpu ? Storage::q80 : Storage::q41}})
    for (float scale : {0.0625F, 8200.F}) {
      auto blockBytes = size_t(traits(format).bytes), blocks = size_t(kRows * kColumns / 32);
      std::vector<std::byte> bytes(blocks * blockBytes);
      for (size_t n = 0; n < bytes.size(); ++n)
        bytes[n] = std::byte(n * 73 + n / 256);
      for (size_t n = 0; n < blocks; ++n) {
        f16 own(n == blocks - 1 ? scale : 0.5F);
        std::memcpy(bytes.data() + n * blockBytes, &own, sizeof own);
      }
      StoredTensor stored{"W", format, {kRows, kColumns}, bytes};
      std::vector<float> expected(kRows * kColumns);
      dequantise(format, bytes, expected);
      Matrix W = Loader(ctx).matrix({&stored});
      bool fits = storage == Storage::q80 || scale < 8000;
      ASSERT_EQ(W.storage, fits ? storage : Storage::plain);
      if (fits) {
        PackedOnHost weightAt(W);
        for (int64_t n = 0; n < kRows; ++n)
          for (int64_t k = 0; k < kColumns; ++k)
            ASSERT_EQ(weightAt(n, k), double(expected[size_t(n * kColumns + k)]))
                << traits(format).name << " " << n << ", " << k;
      }
    }
}

TEST_F(StepTest, PackedMatricesBecomeBf16) {
  Preset preset = presetOf(RopePairs::halves, true);
  for (Storage storage : {Storage::q80, Storage::q41}) {
    Weights weights = randomWeights(ctx, preset, {DType::f32, storage}, kPositions);
    ctx.sync();
    const Matrix packed = weights.layers[1].gateUp;
    ASSERT_TRUE(canBecomeBf16(ctx, weights));
    toBf16(ctx, weights);
    EXPECT_TRUE(weights.takeBf16());
    const Matrix &numbers = weights.layers[1].gateUp;
    Tensor found = numbers.values.toHost();
    ASSERT_EQ(found.shape(), (std::vector<int64_t>{packed.rows, packed.columns}));
    PackedOnHost weightAt(packed);
    for (int64_t n = 0; n < packed.rows; ++n)
      for (int64_t k = 0; k < packed.columns; ++k)
        ASSERT_EQ(found.at({n, k}), double(float(bf16(float(weightAt(n, k)))))) << n << ", " << k;
  }
}

/// Where a GPU has no memory for them in bf16.
TEST_F(GpuStepTest, PackedMatricesMayStay) {
  Preset preset = presetOf(RopePairs::halves, true);
  DecoderSize size{.positions = kPositions, .cacheType = DType::f32};
  for (Storage storage : {Storage::q80, Storage::q41}) {
    Weights packed = randomWeights(ctx, preset, {DType::f32, storage}, kPositions),
            numbers = packed;
    arrange(ctx, numbers, size, Mode::stream);
    EXPECT_FALSE(packed.takeBf16());
    EXPECT_TRUE(numbers.takeBf16());
    Decoder stays(ctx, preset.architecture, packed, size, Mode::stream),
        unpacked(ctx, preset.architecture, numbers, size, Mode::stream);
    std::vector<int64_t> pages(size_t(size.pagesOf(kPositions)));
    std::iota(pages.begin(), pages.end(), 0);
    stays.setPages(0, pages), unpacked.setPages(0, pages);
    for (int64_t position : {0, 1})
      expectNear(step(unpacked, {rowOf(0, position)})[0], step(stays, {rowOf(0, position)})[0]);
  }
}

/// Blocks of Q8_0 through a megakernel's ring, of one, two and five rows, and of a chunk of a prompt; beside a head in bf16, too.
TEST_F(GpuStepTest, PackedMatricesStream) {
  if (!Library(ctx).streamsBlocks())
    GTEST_SKIP() << "the GPU streams nothing";
  Preset preset = presetOf(RopePairs::halves, true);
  DecoderSize size{.positions = kPositions, .sequences = kSequences, .cacheType = DType::f32};
  Weights packed = randomWeights(ctx, preset, {DType::f32, Storage::q80}, kPositions),
          blocks = packed;
  arrange(ctx, blocks, size, Mode::megakernel);
  Weights numbers = packed, mixed = packed;
  toBf16(ctx, numbers);
  mixed.head = numbers.head;
  Weights both = arranged(ctx, mixed, size, Mode::megakernel);
  ASSERT_TRUE(both.ofManyRows);
  EXPECT_EQ(both.ofManyRows->layers[0].gateUp.storage, Storage::plain);
  EXPECT_EQ(both.layers[0].gateUp.storage, Storage::blockedQ80);
  EXPECT_EQ(both.head.storage, Storage::blocked);
  ASSERT_EQ(blocks.layers[0].gateUp.storage, Storage::blockedQ80);
  Decoder stays(ctx, preset.architecture, packed, size, Mode::stream),
      streams(ctx, preset.architecture, blocks, size, Mode::megakernel),
      ofBoth(ctx, preset.architecture, both, size, Mode::megakernel);
  std::vector<int64_t> pages(size_t(size.pagesOf(kPositions)));
  for (int64_t n = 0; n < kSequences; ++n) {
    std::iota(pages.begin(), pages.end(), n * std::ssize(pages));
    stays.setPages(n, pages), streams.setPages(n, pages), ofBoth.setPages(n, pages);
  }
  std::vector<Row> chunk;
  for (int64_t position = 0; position < 10; ++position)
    chunk.push_back(rowOf(2, position));
  for (const std::vector<Row> &rows : {{rowOf(0, 0)},
                                       {rowOf(0, 1), rowOf(1, 0)},
                                       std::vector<Row>(chunk.begin(), chunk.begin() + 5),
                                       chunk}) {
    std::vector<std::vector<float>> found = step(streams, rows), expected = step(stays, rows);
    for (size_t n = 0; n < rows.size(); ++n)
      expectNear(found[n], expected[n]);
    if (rows.size() > 1 && rows.size() < chunk.size())
      continue;
    found = step(ofBoth, rows);
    for (size_t n = 0; n < rows.size(); ++n)
      expectNear(found[n], expected[n]);
  }
  EXPECT_NE(toText(streams.graph(10)).find("blocked-gemv"), std::string::npos);
  EXPECT_EQ(toText(ofBoth.graph(10)).find("blocked-gemv"), std::string::npos);
  EXPECT_NE(toText(ofBoth.graph(8)).find("blocked-gemv"), std::string::npos);
}

/// Rows that are a tile, and longer ones.
TEST_F(StepTest, RowsAreNormalised) {
  constexpr double kEpsilon = 1e-5;
  Architecture model = presetOf(RopePairs::halves, true).architecture;
  for (int64_t width : {60, 4096, 5000}) {
    model.width = width;
    auto fill = [](const Tensor &tensor, int64_t step) {
      Tensor host = Tensor::own(DType::f32, tensor.shape());
      for (int64_t n = 0; n < host.elements(); ++n)
        host.as<float>()[n] = float(n * step % 17) / 8 - 1;
      tensor.copyFrom(host);
      return host;
    };
    Tensor x = ctx.tensor<f32>({2, width}), gain = ctx.tensor<f32>({width});
    Tensor y = ctx.tensor(DType::bf16, {2, width});
    Tensor rows = fill(x, 7), gains = fill(gain, 5);
    ctx.compile(roundNormed(model))(x, gain, kEpsilon, y);
    ctx.sync();
    Tensor found = y.toHost();
    for (int64_t t = 0; t < 2; ++t) {
      double squares = 0;
      for (int64_t n = 0; n < width; ++n)
        squares += rows.at({t, n}) * rows.at({t, n});
      double scale = 1 / std::sqrt(squares / double(width) + kEpsilon);
      for (int64_t n = 0; n < width; ++n)
        ASSERT_NEAR(found.at({t, n}), rows.at({t, n}) * gains.at({n}) * scale, 0.02);
    }
  }
}
