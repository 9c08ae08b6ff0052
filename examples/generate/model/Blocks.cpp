// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Blocks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/PackedWeights.h"

using namespace ditron;

namespace generate {

static constexpr int64_t kRows = kernels::kBlockRows, kTerms = kernels::kBlock;

bool canBeBlocked(const Matrix &W, bool isGated) {
  bool isShort = W.values.dtype() == DType::bf16 || W.values.dtype() == DType::f16;
  return W.storage == Storage::plain && isShort && W.rows % (isGated ? 2 * kRows : kRows) == 0 &&
         W.columns % kTerms == 0;
}

template <class T> static Kernel toBlocksOf() {
  return {"to-blocks(x[8*J,32*G]) -> y[J,G,8,32]", [](In<T> x, Out<T, 4> y) {
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
  DType type = W.values.dtype();
  result.storage = Storage::blocked;
  result.values = ctx_.tensor(type, {W.rows / kRows, W.columns / kTerms, kRows, kTerms});
  if (!copies_)
    return result;
  auto found = programs_.find(type);
  if (found == programs_.end()) {
    Kernel kernel =
        kernels::Floats::dispatch(type, "to-blocks", []<class T> { return toBlocksOf<T>(); });
    found = programs_.emplace(type, ctx_.compile(kernel)).first;
  }
  found->second(W.values, result.values);
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
