// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Weights.h"
#include "ditron/support/Parallel.h"
#include <algorithm>
#include <cmath>

using namespace ditron;

namespace generate {

namespace {

/// What a rank has of a matrix.
enum class Cut { none, rows, columns };

/// Reads weights into the memory of a rank's device.
class Loader {
public:
  explicit Loader(const Context &ctx) : ctx_(ctx) {}

  /// This rank's parts of matrices, one below the other, or a vector; in f32.
  Tensor load(const std::vector<const StoredTensor *> &parts, Cut cut = Cut::none) const {
    std::vector<int64_t> shape = parts.front()->shape;
    shape.front() = 0;
    for (const StoredTensor *part : parts)
      shape.front() += part->shape.front();
    if (cut != Cut::none)
      shape[cut == Cut::rows ? 0 : 1] /= ctx_.ranks();
    Tensor result = ctx_.tensor(DType::f32, shape);
    Tensor host = result.isHostAccessible() ? result : Tensor::own(DType::f32, shape);
    auto *values = host.as<float>();
    for (const StoredTensor *part : parts)
      values = convert(*part, cut, values);
    if (!result.isHostAccessible())
      result.copyFrom(host);
    return result;
  }

private:
  /// Writes this rank's part of a tensor; returns what is behind it.
  float *convert(const StoredTensor &tensor, Cut cut, float *values) const {
    int64_t rows = tensor.shape.size() > 1 ? tensor.shape.front() : 1;
    int64_t width = tensor.elements() / rows, ranks = ctx_.ranks(), rank = ctx_.rank();
    if (cut == Cut::columns)
      return convertColumns(tensor, values);
    int64_t mine = cut == Cut::rows ? rows / ranks : rows;
    int64_t start = cut == Cut::rows ? rank * mine : 0;
    inParallel(mine, 64, [&](int64_t first, int64_t end) {
      dequantise(tensor.format, rowsOf(tensor, rows, start + first, start + end),
                 {values + first * width, size_t((end - first) * width)});
    });
    return values + mine * width;
  }

  float *convertColumns(const StoredTensor &tensor, float *values) const {
    int64_t rows = tensor.shape[0], width = tensor.shape[1], mine = width / ctx_.ranks();
    inParallel(rows, 64, [&](int64_t first, int64_t end) {
      std::vector<float> row(static_cast<size_t>(width));
      for (int64_t n = first; n < end; ++n) {
        dequantise(tensor.format, rowsOf(tensor, rows, n, n + 1), row);
        std::copy_n(row.begin() + ctx_.rank() * mine, mine, values + n * mine);
      }
    });
    return values + rows * mine;
  }

  const Context &ctx_;
};

} // namespace

static LayerWeights loadLayer(const Loader &loader, const ModelFile &file, int64_t layer) {
  const Architecture &model = file.architecture();
  int64_t K = model.width, F = model.feedForward, D = model.headSize;
  int64_t queries = model.heads * D, keys = model.keyHeads * D;
  auto tensor = [&](Role role, std::vector<int64_t> shape) {
    return &file.tensor(role, std::move(shape), layer);
  };
  LayerWeights result;
  result.attentionNorm = loader.load({tensor(Role::attentionNorm, {K})});
  result.qkv = loader.load({tensor(Role::queries, {queries, K}), tensor(Role::keys, {keys, K}),
                            tensor(Role::values, {keys, K})},
                           Cut::rows);
  if (model.hasHeadNorms) {
    result.queryNorm = loader.load({tensor(Role::queryNorm, {D})});
    result.keyNorm = loader.load({tensor(Role::keyNorm, {D})});
  }
  result.attentionOutput = loader.load({tensor(Role::attentionOutput, {K, queries})}, Cut::columns);
  result.feedForwardNorm = loader.load({tensor(Role::feedForwardNorm, {K})});
  result.gateUp = loader.load({tensor(Role::gate, {F, K}), tensor(Role::up, {F, K})}, Cut::rows);
  result.down = loader.load({tensor(Role::down, {K, F})}, Cut::columns);
  return result;
}

/// A function of rope's angles, by position and pair.
static Tensor angleTable(const Context &ctx, const Architecture &model, int64_t positions,
                         double (*function)(double)) {
  int64_t pairs = model.headSize / 2;
  Tensor host = Tensor::own(DType::f32, {positions, pairs});
  for (int64_t pair = 0; pair < pairs; ++pair) {
    double frequency = std::pow(model.ropeBase, -double(pair) / double(pairs));
    if (!model.ropeFactors.empty())
      frequency /= model.ropeFactors[size_t(pair)];
    for (int64_t position = 0; position < positions; ++position)
      host.as<float>()[position * pairs + pair] = float(function(double(position) * frequency));
  }
  return ctx.tensorFrom(host);
}

Weights loadWeights(const Context &ctx, const ModelFile &file, int64_t positions,
                    const std::function<void(int64_t)> &progress) {
  const Architecture &model = file.architecture();
  Loader loader(ctx);
  std::vector<int64_t> table = {model.vocabulary, model.width};
  Weights result;
  result.embedding = loader.load({&file.tensor(Role::embedding, table)});
  result.finalNorm = loader.load({&file.tensor(Role::finalNorm, {model.width})});
  // Models without a head of their own multiply with the embeddings.
  result.head =
      file.has(Role::head) ? loader.load({&file.tensor(Role::head, table)}) : result.embedding;
  result.cosines = angleTable(ctx, model, positions, std::cos);
  result.sines = angleTable(ctx, model, positions, std::sin);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    result.layers.push_back(loadLayer(loader, file, layer));
    progress(layer + 1);
  }
  return result;
}

} // namespace generate
