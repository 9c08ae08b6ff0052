// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Bf16.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include <fmt/format.h>
#include <map>

using namespace ditron;
using ditron::kernels::kBlock, ditron::kernels::PackedViews, ditron::kernels::WeightFormat;

namespace generate {

static constexpr int kRows = 8, kColumns = 16 * kBlock; ///< of a tile

static void unpackAll(const PackedViews &W, WeightFormat format, const Out<bf16> &y) {
  auto ys = y.tiled(kRows, kColumns);
  for (auto [i, j] : ys.tiles())
    ys(i, j) = cast<bf16>(unpacked(W, format, kRows, kColumns, i, j));
}

/// y in bf16, of a matrix that is stored so; of numbers, which are in f16.
static Kernel conversionFrom(Storage storage) {
  switch (storage) {
  case Storage::q80:
    return {fmt::format("to-bf16(q[N,{0}*G], scales[N,G]) -> y[N,{0}*G]", kBlock),
            [](In<i8> q, In<f16> scales, Out<bf16> y) {
              unpackAll({q, scales, {}}, WeightFormat::q8_0, y);
            }};
  case Storage::q41:
    return {fmt::format("to-bf16(q[N,{0}*G], scales[N,G], minima[N,G]) -> y[N,{1}*G]", kBlock / 2,
                        kBlock),
            [](In<i8> q, In<f16> scales, In<f16> minima, Out<bf16> y) {
              unpackAll({q, scales, minima}, WeightFormat::q4_1, y);
            }};
  default:
    return {"to-bf16(x[M,N]) -> y[M,N]", [](In<f16> x, Out<bf16> y) {
              auto xs = x.tiled(kRows, kColumns);
              auto ys = y.tiled(kRows, kColumns);
              for (auto [i, j] : ys.tiles())
                ys(i, j) = cast<bf16>(xs(i, j));
            }};
  }
}

/// Calls fn(matrix) for all that are packed or in f16.
static void forOthers(auto &weights, const auto &fn) {
  auto call = [&](auto &W) {
    if (!W.isOfNumbers() || (W.storage == Storage::plain && W.values.dtype() == DType::f16))
      fn(W);
  };
  call(weights.head);
  for (auto &layer : weights.layers)
    for (auto *W : {&layer.qkv, &layer.attentionOutput, &layer.gateUp, &layer.down})
      call(*W);
}

/// Whether it is so on all ranks, which may be given very different memory.
static bool isOnAllRanks(const Context &ctx, bool isHere) {
  if (ctx.ranks() == 1)
    return isHere;
  Tensor host = Tensor::own(DType::i32, {1, 1});
  host.set({0, 0}, isHere ? 1 : 0);
  Tensor mine = ctx.tensorFrom(host), all = ctx.tensor<i32>({1, 1});
  ctx.assemble(); // reading weights takes some ranks longer
  ctx.compile(kernels::allReduce(DType::i32))(mine, all);
  ctx.sync();
  return int(all.toHost().at({0, 0})) == ctx.ranks();
}

bool canBecomeBf16(const Context &ctx, const Weights &weights) {
  size_t bytes = 0;
  forOthers(weights, [&](const Matrix &W) { bytes += size_t(W.rows * W.columns) * sizeof(bf16); });
  return bytes == 0 || isOnAllRanks(ctx, bytes + bytes / 10 <= ctx.availableBytes());
}

bool canKeepBf16(const Context &ctx, const Weights &weights) {
  size_t bytes = 0;
  for (const Matrix *W : weights.matrices())
    bytes += size_t(W->rows * W->columns) * sizeof(bf16);
  return isOnAllRanks(ctx, 2 * bytes <= ctx.availableBytes());
}

void toBf16(const Context &ctx, Weights &weights, bool copies) {
  std::map<Storage, Program> programs;
  auto fill = [&](const Matrix &W, const Tensor &y) {
    auto found = programs.find(W.storage);
    if (found == programs.end())
      found = programs.emplace(W.storage, ctx.compile(conversionFrom(W.storage))).first;
    if (W.storage == Storage::q80)
      found->second(W.values, W.scales, y);
    else if (W.storage == Storage::q41)
      found->second(W.values, W.scales, W.minima, y);
    else
      found->second(W.values, y);
    ctx.sync(); // before memory that is read is given back
  };
  forOthers(weights, [&](Matrix &W) {
    Matrix numbers{
        .values = ctx.tensor<bf16>({W.rows, W.columns}), .rows = W.rows, .columns = W.columns};
    if (copies)
      fill(W, numbers.values);
    W = std::move(numbers);
  });
}

} // namespace generate
