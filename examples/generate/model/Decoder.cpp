// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Decoder.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace ditron;

namespace generate {

static constexpr const char *kNoNumbers =
    "the model's logits are no numbers: its weights are not, or are too large";

Mode parseMode(std::string_view name) {
  if (name == "stream")
    return Mode::stream;
  if (name == "graph")
    return Mode::graph;
  if (name == "megakernel")
    return Mode::megakernel;
  throw UsageError(fmt::format("--mode is '{}', expected stream, graph or megakernel", name));
}

static std::vector<LayerCache> makeCaches(const Context &ctx, const Architecture &model,
                                          int64_t positions) {
  std::vector<LayerCache> caches;
  auto cache = [&] { return ctx.tensor<f32>({1, model.keyHeads, positions, model.headSize}); };
  for (int64_t layer = 0; layer < model.layers; ++layer)
    caches.push_back({cache(), cache()});
  return caches;
}

Decoder::Decoder(const Context &ctx, const ModelFile &file, int64_t positions, Mode mode,
                 const std::function<void(int64_t)> &progress)
    : weights_(loadWeights(ctx, file, positions, progress)),
      caches_(makeCaches(ctx, file.architecture().shard(ctx.ranks()), positions)),
      token_(ctx.tensor<i32>({1})), at_(ctx.tensor<i32>({1})), best_(ctx.tensor<i32>({1})),
      logits_(ctx.tensor<f32>({1, file.architecture().vocabulary})),
      program_(
          ctx.compile(stepOf(ctx, file.architecture().shard(ctx.ranks()), weights_, caches_, 1),
                      {.mode = mode})),
      positions_(positions) {
  program_.prepare({token_, at_, best_, logits_});
}

static void setScalar(const Tensor &tensor, int64_t value) {
  Tensor host = Tensor::own(DType::i32, {1});
  host.set({0}, double(value));
  tensor.copyFrom(host);
}

void Decoder::step(Token token) {
  if (position_ >= positions_)
    throw RuntimeError(fmt::format(
        "the sequence is longer than the {} tokens that there is room for", positions_));
  setScalar(token_, token);
  setScalar(at_, position_++);
  program_(token_, at_, best_, logits_);
}

Token Decoder::best() const {
  auto token = Token(best_.toHost().at({0}));
  if (token < 0 || token >= logits_.shape()[1])
    throw RuntimeError(kNoNumbers);
  return token;
}

std::vector<float> Decoder::logits() const {
  Tensor host = logits_.toHost();
  std::vector<float> result(host.as<float>(), host.as<float>() + host.elements());
  if (std::ranges::any_of(result, [](float logit) { return std::isnan(logit); }))
    throw RuntimeError(kNoNumbers);
  return result;
}

} // namespace generate
