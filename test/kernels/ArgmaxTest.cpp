// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The largest elements of rows that are looked at as a whole, and in parts: the first of equal ones is
// taken, in every mode.
#include "ditron/driver/Context.h"
#include "ditron/driver/TaskProgram.h"
#include "ditron/kernels/kernels.h"
#include <gmock/gmock.h>
#include <limits>

namespace ditron::kernels {
namespace {

constexpr int64_t kElements = 1000;
constexpr int32_t kNowhere = std::numeric_limits<int32_t>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNaN = std::numeric_limits<float>::quiet_NaN();

/// A row of one number, but for those at some places.
struct Row {
  float all;
  std::vector<int64_t> places;
  float there;
  int32_t expected;
};
/// Tiles have 16 elements, and parts up to three tiles.
const std::vector<Row> kRows = {{0, {}, 0, 0},
                                {-kInfinity, {}, 0, 0},
                                {-1, {15, 16}, 2, 15},
                                {-1, {47, 48, 96, 999}, 2, 47},
                                {-1, {999}, -0.5, 999},
                                {-kInfinity, {998, 999}, -1e38F, 998},
                                {1, {500, 516, 501}, kInfinity, 500},
                                {1, {0}, kNaN, kNowhere},
                                {kNaN, {}, 0, kNowhere}};

std::vector<int32_t> placesOf(const ArgmaxConfig &config, Mode mode) {
  Context ctx = Context::init({.cores = 2});
  TaskGraph g("argmax");
  Value x = g.input("x[B,V]");
  if (config.apart) {
    struct Parts {
      Value values, places;
    };
    Parts parts = g.task(argmax(DType::f32, config), x);
    g.output(g.task(combineArgmax(DType::f32, {16}), parts.values, parts.places));
  } else {
    g.output(g.task(argmax(DType::f32, config), x));
  }
  Tensor rows = Tensor::own(DType::f32, {std::ssize(kRows), kElements});
  for (int64_t b = 0; b < std::ssize(kRows); ++b) {
    float *row = rows.as<float>() + b * kElements;
    std::fill(row, row + kElements, kRows[size_t(b)].all);
    for (int64_t v : kRows[size_t(b)].places)
      row[v] = kRows[size_t(b)].there;
  }
  Tensor input = ctx.tensorFrom(rows), ids = ctx.tensor(DType::i32, {std::ssize(kRows)});
  TaskProgram program = ctx.compile(g, {.mode = mode});
  program(input, ids);
  ctx.sync();
  Tensor host = ids.toHost();
  return {host.as<int32_t>(), host.as<int32_t>() + host.elements()};
}

TEST(Argmax, TakesTheFirstOfEqualElements) {
  std::vector<int32_t> expected;
  for (const Row &row : kRows)
    expected.push_back(row.expected);
  for (int block : {0, 1, 3})
    for (bool apart : {false, true})
      for (Mode mode : {Mode::stream, Mode::graph, Mode::megakernel})
        EXPECT_EQ(placesOf({.width = 16, .block = block, .apart = apart}, mode), expected)
            << block << (apart ? " apart" : " joined") << ", mode " << int(mode);
}

} // namespace
} // namespace ditron::kernels
