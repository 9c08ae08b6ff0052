// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Weights.h"
#include "ditron/support/Parallel.h"
#include <cmath>

using namespace ditron;

namespace generate {

/// Matrices one below the other, or one vector, in f32.
static Tensor load(const Context &ctx, const std::vector<const StoredTensor *> &parts) {
  std::vector<int64_t> shape = parts.front()->shape;
  shape.front() = 0;
  for (const StoredTensor *part : parts)
    shape.front() += part->shape.front();
  Tensor result = ctx.tensor(DType::f32, shape);
  Tensor host = result.isHostAccessible() ? result : Tensor::own(DType::f32, shape);
  auto *values = host.as<float>();
  for (const StoredTensor *part : parts) {
    int64_t rows = part->shape.size() > 1 ? part->shape.front() : 1;
    int64_t width = part->elements() / rows;
    inParallel(rows, 64, [&](int64_t first, int64_t end) {
      dequantise(part->format, rowsOf(*part, rows, first, end),
                 {values + first * width, size_t((end - first) * width)});
    });
    values += part->elements();
  }
  if (!result.isHostAccessible())
    result.copyFrom(host);
  return result;
}

static LayerWeights loadLayer(const Context &ctx, const ModelFile &file, int64_t layer) {
  const Architecture &model = file.architecture();
  int64_t K = model.width, F = model.feedForward, D = model.headSize;
  int64_t queries = model.heads * D, keys = model.keyHeads * D;
  auto tensor = [&](Role role, std::vector<int64_t> shape) {
    return &file.tensor(role, std::move(shape), layer);
  };
  LayerWeights result;
  result.attentionNorm = load(ctx, {tensor(Role::attentionNorm, {K})});
  result.qkv = load(ctx, {tensor(Role::queries, {queries, K}), tensor(Role::keys, {keys, K}),
                          tensor(Role::values, {keys, K})});
  if (model.hasHeadNorms) {
    result.queryNorm = load(ctx, {tensor(Role::queryNorm, {D})});
    result.keyNorm = load(ctx, {tensor(Role::keyNorm, {D})});
  }
  result.attentionOutput = load(ctx, {tensor(Role::attentionOutput, {K, queries})});
  result.feedForwardNorm = load(ctx, {tensor(Role::feedForwardNorm, {K})});
  result.gateUp = load(ctx, {tensor(Role::gate, {F, K}), tensor(Role::up, {F, K})});
  result.down = load(ctx, {tensor(Role::down, {K, F})});
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
  Weights result;
  result.embedding = load(ctx, {&file.tensor(Role::embedding, {model.vocabulary, model.width})});
  result.finalNorm = load(ctx, {&file.tensor(Role::finalNorm, {model.width})});
  // Models without a head of their own multiply with the embeddings.
  result.head = file.has(Role::head)
                    ? load(ctx, {&file.tensor(Role::head, {model.vocabulary, model.width})})
                    : result.embedding;
  result.cosines = angleTable(ctx, model, positions, std::cos);
  result.sines = angleTable(ctx, model, positions, std::sin);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    result.layers.push_back(loadLayer(ctx, file, layer));
    progress(layer + 1);
  }
  return result;
}

} // namespace generate
