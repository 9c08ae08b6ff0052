// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Blocks.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include <fmt/format.h>

using namespace ditron;

namespace generate {

static constexpr int64_t kRows = kernels::kBlockRows, kTerms = kernels::kBlock;

bool canBeBlocked(const Matrix &W, bool isGated) {
  return W.storage == Storage::plain && W.values.dtype() == DType::bf16 &&
         W.rows % (isGated ? 2 * kRows : kRows) == 0 && W.columns % kTerms == 0;
}

static Kernel copyToBlocks() {
  return {fmt::format("to-blocks(x[{0}*J,{1}*G]) -> y[J,G,{0},{1}]", kRows, kTerms),
          [](In<bf16> x, Out<bf16, 4> y) {
            constexpr int kAtOnce = 16; // blocks of a row
            auto rows = x.tiled(kRows, kAtOnce * kTerms);
            for (auto [j, g] : rows.tiles()) {
              Tile blocks = reshape(rows(j, g), {kRows, kAtOnce, kTerms});
              y.tiled(1, kAtOnce, kRows, kTerms)(j, g, 0, 0) =
                  reshape(transpose(blocks, {1, 0, 2}), {1, kAtOnce, kRows, kTerms});
            }
          }};
}

Matrix Blocker::operator()(const Matrix &W) {
  Matrix result = W;
  result.storage = Storage::blocked;
  result.values = ctx_.tensor(DType::bf16, {W.rows / kRows, W.columns / kTerms, kRows, kTerms});
  if (!copies_)
    return result;
  if (!copy_)
    copy_ = ctx_.compile(copyToBlocks());
  (*copy_)(W.values, result.values);
  ctx_.sync(); // before memory that is read is given back
  return result;
}

void toBlocks(const Context &ctx, Weights &weights, bool copies) {
  Blocker blocked(ctx, copies);
  auto put = [&](Matrix &W, bool isGated = false) {
    if (canBeBlocked(W, isGated))
      W = blocked(W);
  };
  put(weights.head);
  for (LayerWeights &layer : weights.layers) {
    put(layer.qkv);
    put(layer.attentionOutput);
    put(layer.gateUp, /*isGated=*/true);
    put(layer.down);
  }
}

} // namespace generate
