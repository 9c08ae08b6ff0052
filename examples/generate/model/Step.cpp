// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Step.h"
#include "ditron/support/Error.h"
#include "model/Library.h"
#include "model/StepKernels.h"
#include <cmath>
#include <fmt/format.h>

using namespace ditron;

namespace generate {

namespace {

/// Adds the parts of a step to a graph.
class StepBuilder {
public:
  StepBuilder(TaskGraph &g, const Context &ctx, const Architecture &model, const Weights &weights,
              DType cacheType, const StepShape &shape)
      : g_(g), library_(ctx), model_(model), weights_(weights),
        rounds_(library_.rounds() && weights.areAllOf(DType::bf16)),
        turn_(turnAndAppend(model, cacheType)), roundNormed_(roundNormed(model)),
        addOverRanks_(addOverRanks()), rows_(shape.rows),
        streams_(shape.streams && shape.rows == 1), ranks_(ctx.ranks()) {}

  void addAll(const std::vector<LayerCache> &caches) {
    Value token = g_.input("token[T]", DType::i32);
    position_ = g_.input("position[T]", DType::i32);
    sequence_ = g_.input("sequence[T]", DType::i32);
    pages_ = g_.input("pages[B,L]", DType::i32);
    Value wanted = g_.input("wanted[W]", DType::i32);
    cosines_ = g_.constant(weights_.cosines), sines_ = g_.constant(weights_.sines);
    Value x = g_.task(library_.rows(weights_.embedding.dtype(), model_.width, rows_), token,
                      weights_.embedding);
    for (size_t n = 0; n < weights_.layers.size(); ++n) {
      g_.label(fmt::format("layer {}", n));
      x = addAttention(weights_.layers[n], caches[n], x);
      x = addFeedForward(weights_.layers[n], x);
    }
    g_.label("head");
    x = g_.task(library_.rows(DType::f32, model_.width, rows_), wanted, x);
    Value logits = productOfNormed({}, x, weights_.head, weights_.finalNorm);
    g_.output(g_.task(library_.argmax(rows_, model_.vocabulary), logits));
    g_.output(logits);
  }

private:
  /// W times x; behind them comes what the options ask for.
  template <class... A>
  Value product(ProductOptions options, Value x, const Matrix &W, const A &...more) {
    options.rounded = rounds_;
    options.streamed = streams_;
    const Kernel &kernel = library_.product(W, rows_, options);
    switch (W.storage) {
    case Storage::plain:
      return g_.task(kernel, x, W.values, more...);
    case Storage::q80:
      return g_.task(kernel, x, W.values, W.scales, more...);
    case Storage::q41:
      return g_.task(kernel, x, W.values, W.scales, W.minima, more...);
    }
    throw InternalError("a matrix that is stored in no way");
  }

  /// W times what is normalised of x.
  Value productOfNormed(ProductOptions options, Value x, const Matrix &W, const Tensor &gain) {
    if (rounds_)
      return product(options, g_.task(roundNormed_, x, gain, model_.epsilon), W);
    options.rms = true;
    return product(options, x, W, gain, model_.epsilon);
  }

  /// The queries, turned; the new keys and values are in the cache then.
  Value addQueries(const LayerWeights &w, Value qkv, Value keys, Value values) {
    if (!model_.hasHeadNorms)
      return g_.task(turn_, qkv, position_, sequence_, pages_, cosines_, sines_, inOut(keys),
                     inOut(values));
    return g_.task(turn_, qkv, position_, sequence_, pages_, cosines_, sines_, w.queryNorm,
                   w.keyNorm, model_.epsilon, inOut(keys), inOut(values));
  }

  /// x and the product of W, of which each rank has columns, and what comes in.
  Value addProduct(Value in, const Matrix &W, Value x) {
    if (ranks_ == 1)
      return product({.residual = true}, in, W, x);
    return g_.task(addOverRanks_, product({}, in, W), x);
  }

  /// Attention over parts of the keys.
  struct Parts {
    Value o, sizes;
  };

  /// x and the attention of what is normalised of it.
  Value addAttention(const LayerWeights &w, const LayerCache &cache, Value x) {
    Value keys = g_.constant(cache.keys), values = g_.constant(cache.values);
    Value qkv = productOfNormed({}, x, w.qkv, w.attentionNorm);
    Value q = addQueries(w, qkv, keys, values);
    Parts parts =
        g_.task(library_.attention(model_, cache.keys.dtype(), cache.keys.shape()[2]), q, keys,
                values, position_, sequence_, pages_, 1 / std::sqrt(double(model_.headSize)));
    Value heads = g_.task(library_.joinParts(model_, rounds_ ? DType::bf16 : DType::f32), parts.o,
                          parts.sizes);
    return addProduct(heads, w.attentionOutput, x);
  }

  /// x and the feed-forward layer of what is normalised of it.
  Value addFeedForward(const LayerWeights &w, Value x) {
    Value act = productOfNormed({.gated = true}, x, w.gateUp, w.feedForwardNorm);
    return addProduct(act, w.down, x);
  }

  TaskGraph &g_;
  Library library_;
  const Architecture &model_;
  const Weights &weights_;
  bool rounds_;
  Kernel turn_, roundNormed_, addOverRanks_;
  int64_t rows_;
  bool streams_;
  int64_t ranks_;
  Value position_, sequence_, pages_, cosines_, sines_;
};

} // namespace

TaskGraph stepOf(const Context &ctx, const Architecture &model, const Weights &weights,
                 const std::vector<LayerCache> &caches, const StepShape &shape) {
  TaskGraph g("step");
  StepBuilder(g, ctx, model, weights, caches.front().keys.dtype(), shape).addAll(caches);
  return g;
}

} // namespace generate
