// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Unpack.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include <array>
#include <fmt/format.h>
#include <optional>

using namespace ditron;
using ditron::kernels::kBlock, ditron::kernels::PackedViews, ditron::kernels::WeightFormat;

namespace generate {

static constexpr int kRows = 8, kColumns = 16 * kBlock; ///< of a tile

/// y = W in numbers.
static void unpackAll(const PackedViews &W, WeightFormat format, const Out<bf16> &y) {
  auto ys = y.tiled(kRows, kColumns);
  for (auto [i, j] : ys.tiles())
    ys(i, j) = cast<bf16>(unpacked(W, format, kRows, kColumns, i, j));
}

static Kernel unpackingOf(Storage storage) {
  if (storage == Storage::q80)
    return {fmt::format("unpack(q[N,{0}*G], scales[N,G]) -> y[N,{0}*G]", kBlock),
            [](In<i8> q, In<f16> scales, Out<bf16> y) {
              unpackAll({q, scales, {}}, WeightFormat::q8_0, y);
            }};
  return {
      fmt::format("unpack(q[N,{0}*G], scales[N,G], minima[N,G]) -> y[N,{1}*G]", kBlock / 2, kBlock),
      [](In<i8> q, In<f16> scales, In<f16> minima, Out<bf16> y) {
        unpackAll({q, scales, minima}, WeightFormat::q4_1, y);
      }};
}

/// Calls fn(matrix) for all that are packed.
static void forPacked(auto &weights, const auto &fn) {
  auto call = [&](auto &W) {
    if (!W.isOfNumbers())
      fn(W);
  };
  call(weights.head);
  for (auto &layer : weights.layers)
    for (auto *W : {&layer.qkv, &layer.attentionOutput, &layer.gateUp, &layer.down})
      call(*W);
}

bool canUnpack(const Context &ctx, const Weights &weights) {
  size_t bytes = 0;
  forPacked(weights, [&](const Matrix &W) { bytes += size_t(W.rows * W.columns) * sizeof(bf16); });
  return bytes + bytes / 10 <= ctx.device()->availableBytes();
}

void unpack(const Context &ctx, Weights &weights, bool copies) {
  std::array<std::optional<Program>, 2> programs; // of each storage
  forPacked(weights, [&](Matrix &W) {
    Matrix numbers{
        .values = ctx.tensor<bf16>({W.rows, W.columns}), .rows = W.rows, .columns = W.columns};
    std::optional<Program> &program = programs[W.storage == Storage::q80 ? 0 : 1];
    if (copies && !program)
      program = ctx.compile(unpackingOf(W.storage));
    if (copies && W.storage == Storage::q80)
      (*program)(W.values, W.scales, numbers.values);
    else if (copies)
      (*program)(W.values, W.scales, W.minima, numbers.values);
    ctx.sync(); // before memory that is read is given back
    W = std::move(numbers);
  });
}

} // namespace generate
