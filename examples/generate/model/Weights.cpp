// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Weights.h"
#include <algorithm>
#include <cmath>

using namespace ditron;

namespace generate {

std::vector<const Matrix *> Weights::matrices() const {
  std::vector<const Matrix *> result{&head};
  for (const LayerWeights &layer : layers)
    for (const Matrix *W : {&layer.qkv, &layer.attentionOutput, &layer.gateUp, &layer.down})
      result.push_back(W);
  return result;
}

bool Weights::takeBf16() const { return std::ranges::all_of(matrices(), &Matrix::takesBf16); }

static LayerWeights loadLayer(const Loader &loader, const ModelFile &file, int64_t layer) {
  const Architecture &model = file.architecture();
  int64_t K = model.width, F = model.feedForward, D = model.headSize;
  int64_t queries = model.heads * D, keys = model.keyHeads * D;
  auto tensor = [&](Role role, std::vector<int64_t> shape) {
    return &file.tensor(role, std::move(shape), layer);
  };
  LayerWeights result;
  result.attentionNorm = loader.tensor(*tensor(Role::attentionNorm, {K}));
  result.qkv = loader.matrix({tensor(Role::queries, {queries, K}), tensor(Role::keys, {keys, K}),
                              tensor(Role::values, {keys, K})},
                             Cut::rows);
  if (model.hasHeadNorms) {
    result.queryNorm = loader.tensor(*tensor(Role::queryNorm, {D}));
    result.keyNorm = loader.tensor(*tensor(Role::keyNorm, {D}));
  }
  result.attentionOutput =
      loader.matrix({tensor(Role::attentionOutput, {K, queries})}, Cut::columns);
  result.feedForwardNorm = loader.tensor(*tensor(Role::feedForwardNorm, {K}));
  result.gateUp = loader.matrix({tensor(Role::gate, {F, K}), tensor(Role::up, {F, K})}, Cut::rows);
  result.down = loader.matrix({tensor(Role::down, {K, F})}, Cut::columns);
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

void Weights::addAngles(const Context &ctx, const Architecture &model, int64_t positions) {
  cosines = angleTable(ctx, model, positions, std::cos);
  sines = angleTable(ctx, model, positions, std::sin);
}

Weights loadWeights(const Context &ctx, const ModelFile &file, int64_t positions,
                    const std::function<void(int64_t)> &progress) {
  const Architecture &model = file.architecture();
  Loader loader(ctx);
  std::vector<int64_t> table = {model.vocabulary, model.width};
  Weights result;
  result.finalNorm = loader.tensor(file.tensor(Role::finalNorm, {model.width}));
  // Models without a head of their own multiply with the embeddings.
  Role head = file.has(Role::head) ? Role::head : Role::embedding;
  bool isCut = model.headRows(ctx.ranks()) < model.vocabulary;
  result.head = loader.matrix({&file.tensor(head, table)}, isCut ? Cut::rows : Cut::none);
  bool isShared = head == Role::embedding && result.head.storage == Storage::plain && !isCut;
  result.embedding =
      isShared ? result.head.values : loader.table(file.tensor(Role::embedding, table));
  result.addAngles(ctx, model, positions);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    result.layers.push_back(loadLayer(loader, file, layer));
    progress(layer + 1);
  }
  return result;
}

} // namespace generate
