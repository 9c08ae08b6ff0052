// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Blocks.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include <algorithm>
#include <fmt/format.h>

using namespace ditron;

namespace generate {

static constexpr int kRows = kernels::kBlockRows, kTerms = kernels::kBlock;

bool canBeBlocked(const Matrix &W, bool isGated) {
  bool isKind =
      W.storage == Storage::q80 || (W.storage == Storage::plain && W.values.dtype() == DType::bf16);
  return isKind && W.rows % (isGated ? 2 * kRows : kRows) == 0 && W.columns % kTerms == 0;
}

bool canStreamPacked(const Weights &weights) {
  std::vector<const Matrix *> all = weights.matrices();
  return std::ranges::all_of(all, [](auto *W) { return canBeBlocked(*W, /*isGated=*/false); }) &&
         std::ranges::all_of(weights.layers,
                             [](const LayerWeights &layer) {
                               return canBeBlocked(layer.gateUp, /*isGated=*/true);
                             }) &&
         std::ranges::any_of(all, [](auto *W) { return W->storage == Storage::q80; });
}

/// Of numbers that have `terms` columns to a block; one column stands for its scale.
template <class T, int terms> static Kernel copyToBlocks() {
  return {fmt::format("to-blocks(x[{0}*J,{1}*G]) -> y[J,G,{0},{1}]", kRows, terms),
          [](In<T> x, Out<T, 4> y) {
            constexpr int kAtOnce = terms == 1 ? 64 : 16; // blocks of a row
            auto rows = x.tiled(kRows, kAtOnce * terms);
            for (auto [j, g] : rows.tiles()) {
              Tile blocks = reshape(rows(j, g), {kRows, kAtOnce, terms});
              y.tiled(1, kAtOnce, kRows, terms)(j, g, 0, 0) =
                  reshape(transpose(blocks, {1, 0, 2}), {1, kAtOnce, kRows, terms});
            }
          }};
}

static Kernel copyToBlocks(DType type) {
  switch (type) {
  case DType::i8:
    return copyToBlocks<i8, kTerms>();
  case DType::f16:
    return copyToBlocks<f16, 1>();
  default:
    return copyToBlocks<bf16, kTerms>();
  }
}

Tensor Blocker::inBlocks(const Tensor &matrix, int64_t width) {
  int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result = ctx_.tensor(matrix.dtype(), {rows / kRows, columns / width, kRows, width});
  if (!copies_)
    return result;
  auto found = programs_.find(matrix.dtype());
  if (found == programs_.end())
    found = programs_.emplace(matrix.dtype(), ctx_.compile(copyToBlocks(matrix.dtype()))).first;
  found->second(matrix, result);
  ctx_.sync(); // before memory that is read is given back
  return result;
}

Matrix Blocker::operator()(const Matrix &W) {
  Matrix result = W;
  result.storage = W.storage == Storage::q80 ? Storage::blockedQ80 : Storage::blocked;
  result.values = inBlocks(W.values, kTerms);
  if (W.storage == Storage::q80)
    result.scales = inBlocks(W.scales, 1).reshape({W.rows / kRows, W.columns / kTerms * kRows});
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
