// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/RandomModel.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/PackedWeights.h"
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

/// Every tile of x, of numbers like these.
template <class T> static void fill(const Out<T> &x, Index seed, const auto &elementsOf) {
  constexpr int kWidth = 512;
  auto xs = x.tiled(1, kWidth);
  for (auto [i, j] : xs.tiles()) {
    Tile first = (toTile(i) + toTile(seed)) * 0x3504f335 + toTile(j) * kWidth;
    xs(i, j) = cast<T>(elementsOf(scrambled(iota({1, kWidth}, 1) + first)));
  }
}

template <class T> static Kernel fillOf() {
  return {"fill(seed, bound) -> x[M,N]", [](Index seed, Scalar<f32> bound, Out<T> x) {
            fill<T>(x, seed, [&](const Tile &numbers) {
              return (cast<f32>(numbers) * std::ldexp(1.0, -23) - 1) * bound;
            });
          }};
}

static Kernel bytesKernel() {
  return {"bytes(seed) -> x[M,N]", [](Index seed, Out<i8> x) {
            fill<i8>(x, seed, [](const Tile &numbers) { return (numbers >> 16) - 128; });
          }};
}

static constexpr int64_t kApart = 7919; ///< rows of one tensor and of the next are others

static Tensor matrixOf(const Tensor &tensor) {
  int64_t columns = tensor.shape().back();
  return tensor.reshape({tensor.elements() / columns, columns});
}

void RandomFill::operator()(const Tensor &tensor, double bound) {
  Kernel kernel =
      kernels::Floats::dispatch(tensor.dtype(), "fill", []<class T> { return fillOf<T>(); });
  ctx_.compile(kernel)(kApart * seed_++, bound, matrixOf(tensor));
}

void RandomFill::fillBytes(const Tensor &tensor) {
  ctx_.compile(bytesKernel())(kApart * seed_++, matrixOf(tensor));
}

namespace {

/// Makes the weights of a model.
class Maker {
public:
  Maker(const Context &ctx, const Architecture &model, const WeightType &type, Contents contents)
      : ctx_(ctx), fill_(ctx), model_(model), type_(type), contents_(contents) {}

  Matrix matrix(int64_t rows, int64_t columns) {
    if (type_.storage != Storage::plain)
      return packed(rows, columns);
    return {.values = table(rows, columns), .rows = rows, .columns = columns};
  }

  Tensor table(int64_t rows, int64_t columns) {
    Tensor values = ctx_.tensor(type_.numbers, {rows, columns});
    if (contents_ == Contents::random)
      fill_(values, std::sqrt(3.0 / double(columns)));
    return values;
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
  Matrix packed(int64_t rows, int64_t columns) {
    constexpr double kOfByte = 64, kOfNibble = 8; // about what they are
    bool hasMinima = type_.storage == Storage::q41;
    int64_t blocks = columns / kernels::kBlock;
    Matrix result{.storage = type_.storage,
                  .values = ctx_.tensor<i8>({rows, hasMinima ? columns / 2 : columns}),
                  .scales = ctx_.tensor<f16>({rows, blocks}),
                  .rows = rows,
                  .columns = columns};
    if (hasMinima)
      result.minima = ctx_.tensor<f16>({rows, blocks});
    if (contents_ != Contents::random)
      return result;
    double bound = std::sqrt(3.0 / double(columns));
    fill_.fillBytes(result.values);
    fill_(result.scales, bound / (hasMinima ? kOfNibble : kOfByte));
    if (hasMinima)
      fill_(result.minima, bound);
    return result;
  }

  const Context &ctx_;
  RandomFill fill_;
  const Architecture &model_; ///< this rank's part
  WeightType type_;
  Contents contents_;
};

} // namespace

/// What there is of a matrix.
static std::vector<Tensor *> tensorsOf(Matrix &matrix) {
  switch (matrix.storage) {
  case Storage::q80:
  case Storage::blockedQ80:
    return {&matrix.values, &matrix.scales};
  case Storage::q41:
    return {&matrix.values, &matrix.scales, &matrix.minima};
  default:
    return {&matrix.values};
  }
}

/// A rank's rows of a matrix, which has all of them or those alone.
static Matrix rowsOf(const Matrix &whole, int64_t rank, int64_t rows) {
  Matrix part = whole;
  for (Tensor *tensor : tensorsOf(part))
    if (whole.rows > rows)
      *tensor = tensor->slice(0, rank * rows, rows);
  part.rows = rows;
  return part;
}

Weights randomWeights(const Context &ctx, const Preset &preset, const WeightType &type,
                      int64_t positions, Contents contents) {
  Architecture model = preset.architecture.shard(ctx.ranks());
  Maker maker(ctx, model, type, contents);
  Weights result;
  Matrix head =
      maker.matrix(preset.isTied ? model.vocabulary : model.headRows(ctx.ranks()), model.width);
  bool isShared = preset.isTied && head.storage == Storage::plain;
  result.embedding = isShared ? head.values : maker.table(model.vocabulary, model.width);
  result.head = rowsOf(head, ctx.rank(), model.headRows(ctx.ranks()));
  result.finalNorm = maker.gains(model.width);
  for (int64_t layer = 0; layer < model.layers; ++layer)
    result.layers.push_back(maker.layer());
  result.addAngles(ctx, model, positions);
  return result;
}

int64_t bytesOf(const Weights &weights) {
  auto bytesOf = [](Matrix matrix) {
    int64_t sum = 0;
    for (const Tensor *tensor : tensorsOf(matrix))
      sum += int64_t(tensor->bytes());
    return sum;
  };
  int64_t bytes = bytesOf(weights.head);
  for (const LayerWeights &layer : weights.layers)
    for (const Matrix *matrix : {&layer.qkv, &layer.attentionOutput, &layer.gateUp, &layer.down})
      bytes += bytesOf(*matrix);
  return bytes;
}

} // namespace generate
