// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of a decoder give a row the same bits in whichever of their forms it stands: alone, among
// rows of other sequences, or in a chunk of its own.
#include "bench/RandomModel.h"
#include "model/Decoder.h"
#include <algorithm>
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
  Decoder decoderOf(const Preset &preset, DType type) {
    Weights weights = randomWeights(ctx, preset, type, kPositions);
    Decoder decoder(ctx, preset.architecture, weights,
                    {.positions = kPositions, .sequences = kSequences, .cacheType = type},
                    Mode::stream);
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

TEST_F(StepTest, SameBitsInChunksAndAlone) {
  compare(presetOf(RopePairs::halves, true), DType::f32);
}
TEST_F(StepTest, SameBitsOfAdjacentPairs) {
  compare(presetOf(RopePairs::adjacent, false), DType::f32);
}
TEST_F(StepTest, SameBitsOfNarrowCaches) {
  compare(presetOf(RopePairs::halves, true), DType::bf16);
}
