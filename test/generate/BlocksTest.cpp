// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices in blocks, and their scales, are where the rows say.
#include "model/Blocks.h"
#include <gtest/gtest.h>

using namespace ditron;
using namespace generate;

namespace {

double valueAt(int64_t row, int64_t column) { return double((31 * row + 7 * column) % 251) - 125; }

Tensor filled(const Context &ctx, DType type, int64_t rows, int64_t columns) {
  Tensor host = Tensor::own(type, {rows, columns});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      host.set({i, j}, valueAt(i, j));
  return ctx.tensorFrom(host);
}

void expectBlocks(const Tensor &blocks, int64_t width) {
  Tensor host = blocks.toHost();
  const std::vector<int64_t> &shape = host.shape();
  for (int64_t j = 0; j < shape[0]; ++j)
    for (int64_t g = 0; g < shape[1]; ++g)
      for (int64_t row = 0; row < 8; ++row)
        for (int64_t term = 0; term < width; ++term)
          ASSERT_EQ(host.at({j, g, row, term}), valueAt(8 * j + row, g * width + term))
              << j << ", " << g << ", " << row << ", " << term;
}

/// Rows of as many blocks as models have, and of others: one copy has 64 scales.
TEST(Blocks, AreWhereTheRowsSay) {
  Context ctx = Context::init();
  Blocker blocked(ctx);
  for (int64_t columns : {4096, 32, 1024, 3072, 6144, 96}) {
    constexpr int64_t kRows = 64;
    Matrix W{.storage = Storage::q80,
             .values = filled(ctx, DType::i8, kRows, columns),
             .scales = filled(ctx, DType::f16, kRows, columns / 32),
             .rows = kRows,
             .columns = columns};
    Matrix found = blocked(W);
    expectBlocks(found.values, 32);
    expectBlocks(found.scales.reshape({kRows / 8, columns / 32, 8, 1}), 1);
  }
}

} // namespace
