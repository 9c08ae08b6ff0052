// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Decoder.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>

using namespace ditron;

namespace generate {

Mode parseMode(std::string_view name) {
  if (name == "stream")
    return Mode::stream;
  if (name == "graph")
    return Mode::graph;
  if (name == "megakernel")
    return Mode::megakernel;
  throw UsageError(
      fmt::format("--mode is '{}', expected stream, graph or megakernel", name));
}

static StepTensors makeTensors(const Context &ctx, const Architecture &model, int64_t positions) {
  StepTensors tensors;
  tensors.token = ctx.tensor<i32>({1});
  tensors.position = ctx.tensor<i32>({1});
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    auto cache = [&] {
      return ctx.tensor<f32>({1, model.keyHeads, positions, model.headSize});
    };
    tensors.caches.push_back({cache(), cache()});
  }
  return tensors;
}

Decoder::Decoder(Context &ctx, const ModelFile &file, int64_t positions, Mode mode,
                 const std::function<void(int64_t)> &progress)
    : ctx_(ctx), weights_(loadWeights(ctx, file, positions, progress)),
      tensors_(makeTensors(ctx, file.architecture(), positions)), launches_(ctx),
      positions_(positions) {
  if (mode == Mode::megakernel)
    throw UnavailableError("--mode megakernel is not there yet, expected stream or graph");
  addStep(launches_, ctx, file.architecture(), weights_, tensors_);
  launches_.prepare();
  if (mode == Mode::graph)
    graph_ = ctx.record([&](const Stream &stream) { launches_.enqueue(stream); });
}

static void setScalar(const Tensor &tensor, int64_t value) {
  Tensor host = Tensor::own(DType::i32, {1});
  host.set({0}, double(value));
  tensor.copyFrom(host);
}

void Decoder::step(Token token) {
  if (position_ >= positions_)
    throw RuntimeError(fmt::format("the sequence is longer than the {} tokens that there is room for", positions_));
  setScalar(tensors_.token, token);
  setScalar(tensors_.position, position_++);
  if (graph_)
    graph_->launch();
  else
    launches_.enqueue(ctx_.stream());
}

Token Decoder::best() const { return Token(tensors_.best.toHost().at({0})); }

std::vector<float> Decoder::logits() const {
  Tensor host = tensors_.logits.toHost();
  return {host.as<float>(), host.as<float>() + host.elements()};
}

} // namespace generate
