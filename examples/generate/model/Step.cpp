// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Step.h"
#include "ditron/driver/Compile.h"
#include "ditron/kernels/Registry.h"
#include "model/TurnAndAppend.h"
#include <cmath>
#include <map>

using namespace ditron;

namespace generate {

namespace {

/// Kernels of the library, with the tiles that are good for a problem on this device.
class Library {
public:
  explicit Library(const Context &ctx)
      : cores_(ctx.cores()), target_(traitsOf(targetFor(ctx.device()->target()))) {}

  /// The same kernel for the same problem is made once.
  const Kernel &get(const std::string &name, const Dimensions &dims, const std::string &config = "") {
    auto key = std::make_tuple(name, dims, config);
    auto found = made_.find(key);
    if (found == made_.end()) {
      const kernels::KernelEntry &entry = kernels::findKernel(name);
      kernels::Problem problem{.dims = dims, .cores = cores_, .target = target_};
      found = made_.emplace(key, entry.kernel(problem, entry.configure(problem, config))).first;
    }
    return found->second;
  }
  /// y = W x, of one x for each sequence.
  const Kernel &product(const Tensor &W, int64_t sequences, const std::string &config, bool isGated = false) {
    return get("gemv", {{"B", sequences}, {"N", W.shape()[0] / (isGated ? 2 : 1)}, {"K", W.shape()[1]}}, config);
  }

private:
  int64_t cores_;
  DeviceTraits target_;
  std::map<std::tuple<std::string, Dimensions, std::string>, Kernel> made_;
};

/// The parts of a step.
class Builder {
public:
  Builder(Launches &g, const Context &ctx, const Architecture &model, const Weights &weights,
          StepTensors &tensors)
      : g_(g), library_(ctx), model_(model), weights_(weights), tensors_(tensors),
        turn_(turnAndAppend(model)), sequences_(tensors.token.shape()[0]) {}

  void addAll() {
    const Kernel &embed =
        library_.get("embed", {{"T", sequences_}, {"V", model_.vocabulary}, {"H", model_.width}});
    Tensor x = g_.task(embed, tensors_.token, weights_.embedding);
    for (size_t n = 0; n < weights_.layers.size(); ++n) {
      x = addAttention(weights_.layers[n], tensors_.caches[n], x);
      x = addFeedForward(weights_.layers[n], x);
    }
    const Kernel &head = library_.product(weights_.head, sequences_, "rms=yes");
    tensors_.logits = g_.task(head, x, weights_.head, weights_.finalNorm, model_.epsilon);
    const Kernel &argmax =
        library_.get("argmax", {{"B", sequences_}, {"V", model_.vocabulary}});
    tensors_.best = g_.task(argmax, tensors_.logits);
  }

private:
  /// Queries, turned; the new keys and values are in the cache.
  Tensor addQueries(const LayerWeights &w, const LayerCache &cache, const Tensor &qkv) {
    InOutTensor keys = inOut(cache.keys), values = inOut(cache.values);
    if (!model_.hasHeadNorms)
      return g_.task(turn_, qkv, tensors_.position, weights_.cosines, weights_.sines, keys, values);
    return g_.task(turn_, qkv, tensors_.position, weights_.cosines, weights_.sines, w.queryNorm,
                   w.keyNorm, model_.epsilon, keys, values);
  }

  /// x plus the attention of what is normalised of it.
  Tensor addAttention(const LayerWeights &w, const LayerCache &cache, const Tensor &x) {
    Tensor qkv = g_.task(library_.product(w.qkv, sequences_, "rms=yes"), x, w.qkv, w.attentionNorm,
                         model_.epsilon);
    Tensor q = addQueries(w, cache, qkv);
    int64_t D = model_.headSize, places = cache.keys.shape()[2];
    const Kernel &attend = library_.get(
        "decode-attention",
        {{"B", sequences_}, {"N", model_.heads}, {"G", model_.keyHeads}, {"S", places}, {"D", D}});
    Tensor o = g_.task(attend, q, cache.keys, cache.values, tensors_.position,
                       1 / std::sqrt(double(D)));
    Tensor joined = g_.reshape(o, {sequences_, model_.heads * D});
    return g_.task(library_.product(w.attentionOutput, sequences_, "residual=yes"), joined,
                   w.attentionOutput, x);
  }

  /// x plus the feed-forward layer of what is normalised of it.
  Tensor addFeedForward(const LayerWeights &w, const Tensor &x) {
    Tensor act = g_.task(library_.product(w.gateUp, sequences_, "gated=halves,rms=yes", true), x, w.gateUp,
                         w.feedForwardNorm, model_.epsilon);
    return g_.task(library_.product(w.down, sequences_, "residual=yes"), act, w.down, x);
  }

  Launches &g_;
  Library library_;
  const Architecture &model_;
  const Weights &weights_;
  StepTensors &tensors_;
  Kernel turn_;
  int64_t sequences_;
};

} // namespace

void addStep(Launches &launches, const Context &ctx, const Architecture &model,
             const Weights &weights, StepTensors &tensors) {
  Builder(launches, ctx, model, weights, tensors).addAll();
}

} // namespace generate
