// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/RandomModel.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include <cmath>

using namespace ditron;

namespace generate {

/// Numbers that look random, of 24 bits, for a tile of numbers.
static Tile scrambled(const Tile &n) {
  auto mixed = [](const Tile &x, int bits, int factor) {
    return (x ^ ((x >> bits) & ((1 << (32 - bits)) - 1))) * factor;
  };
  return mixed(mixed(n, 16, 0x7feb352d), 15, 0x2c1b3c6d) & ((1 << 24) - 1);
}

template <class T> static Kernel fillOf() {
  return {"fill(seed, bound) -> x[M,N]", [](Index seed, Scalar<f32> bound, Out<T> x) {
            constexpr int kWidth = 512;
            auto xs = x.tiled(1, kWidth);
            for (auto [i, j] : xs.tiles()) {
              Tile first = (toTile(i) + toTile(seed)) * 0x3504f335 + toTile(j) * kWidth;
              Tile numbers = scrambled(iota({1, kWidth}, 1) + first);
              xs(i, j) = cast<T>((cast<f32>(numbers) * std::ldexp(1.0, -23) - 1) * bound);
            }
          }};
}

void RandomFill::operator()(const Tensor &tensor, double bound) {
  constexpr int64_t kApart = 7919; // rows of one tensor and of the next are others
  int64_t columns = tensor.shape().back();
  Tensor matrix = tensor.reshape({tensor.elements() / columns, columns});
  Kernel kernel =
      kernels::Floats::dispatch(tensor.dtype(), "fill", []<class T> { return fillOf<T>(); });
  ctx_.compile(kernel)(kApart * seed_++, bound, matrix);
}

namespace {

/// Makes the weights of a model.
class Maker {
public:
  Maker(const Context &ctx, const Architecture &model, DType type, Contents contents)
      : ctx_(ctx), fill_(ctx), model_(model), type_(type), contents_(contents) {}

  Matrix matrix(int64_t rows, int64_t columns) {
    Matrix result;
    result.values = ctx_.tensor(type_, {rows, columns});
    result.rows = rows;
    result.columns = columns;
    if (contents_ == Contents::random)
      fill_(result.values, std::sqrt(3.0 / double(columns)));
    return result;
  }

  /// Close to 1.
  Tensor gains(int64_t count) const {
    Tensor host = Tensor::own(DType::f32, {count});
    for (int64_t n = 0; n < count; ++n)
      host.as<float>()[n] = 1 + 0.1F * float(n % 7 - 3);
    return ctx_.tensorFrom(host);
  }

  LayerWeights layer() {
    int64_t K = model_.width, D = model_.headSize;
    LayerWeights result;
    result.attentionNorm = gains(K);
    result.feedForwardNorm = gains(K);
    if (model_.hasHeadNorms) {
      result.queryNorm = gains(D);
      result.keyNorm = gains(D);
    }
    result.qkv = matrix(model_.qkvRows(), K);
    result.attentionOutput = matrix(K, model_.heads * D);
    result.gateUp = matrix(2 * model_.feedForward, K);
    result.down = matrix(K, model_.feedForward);
    return result;
  }

private:
  const Context &ctx_;
  RandomFill fill_;
  const Architecture &model_; ///< this rank's part
  DType type_;
  Contents contents_;
};

} // namespace

/// A rank's rows of a matrix, which has all of them or those alone.
static Matrix rowsOf(const Matrix &whole, int64_t rank, int64_t rows) {
  Matrix part = whole;
  if (whole.rows > rows)
    part.values = whole.values.slice(0, rank * rows, rows);
  part.rows = rows;
  return part;
}

Weights randomWeights(const Context &ctx, const Preset &preset, DType type, int64_t positions,
                      Contents contents) {
  Architecture model = preset.architecture.shard(ctx.ranks());
  Maker maker(ctx, model, type, contents);
  Weights result;
  Matrix head =
      maker.matrix(preset.isTied ? model.vocabulary : model.headRows(ctx.ranks()), model.width);
  result.embedding =
      preset.isTied ? head.values : maker.matrix(model.vocabulary, model.width).values;
  result.head = rowsOf(head, ctx.rank(), model.headRows(ctx.ranks()));
  result.finalNorm = maker.gains(model.width);
  for (int64_t layer = 0; layer < model.layers; ++layer)
    result.layers.push_back(maker.layer());
  result.addAngles(ctx, model, positions);
  return result;
}

int64_t bytesOf(const Weights &weights) {
  size_t bytes = weights.head.values.bytes();
  for (const LayerWeights &layer : weights.layers)
    for (const Matrix *matrix : {&layer.qkv, &layer.attentionOutput, &layer.gateUp, &layer.down})
      bytes += matrix->values.bytes();
  return int64_t(bytes);
}

} // namespace generate
