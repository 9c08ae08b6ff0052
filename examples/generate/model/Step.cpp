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

/// Rows that a product takes without more time for each: that of reading the weights hides it.
constexpr int64_t kFewRows = 8;

/// Elements of a row that a task of a megakernel adds over ranks.
constexpr int kPartInMegakernel = 64;

/// Adds the parts of a step to a graph.
class StepBuilder {
public:
  StepBuilder(TaskGraph &g, const Context &ctx, const Architecture &model, const Weights &weights,
              const LayerCache &cache, const StepShape &shape)
      : g_(g), library_(ctx), model_(model), weights_(weights),
        rounds_(library_.rounds() && weights.takeBf16()),
        streams_(shape.streams && shape.rows <= kFewRows),
        startsNorms_(rounds_ && shape.rows <= kFewRows),
        addsInProducts_(ctx.ranks() == 1 || (rounds_ && (shape.rows > kFewRows || streams_))),
        partOverRanks_(streams_ ? kPartInMegakernel
                                : library_.widthOverRanks(shape.rows, model.width)),
        turn_(turnAndAppend(model, cache.keys.dtype(), library_.headsOfTile(model))),
        turnAndAttend_(turnedInAttention(cache, shape.exactRows ? shape.exactRows : shape.rows)),
        roundNormed_(roundNormed(model)),
        addOverRanks_(startsNorms_ ? addOverRanksAndStartNorm(partOverRanks_)
                                   : addOverRanks(partOverRanks_)),
        rows_(shape.rows), ranks_(ctx.ranks()),
        rowsText_(rows_ == 1        ? "1"
                  : shape.exactRows ? std::to_string(shape.exactRows)
                                    : "T"),
        pagesText_(shape.sequences ? fmt::format("pages[{},{}]", shape.sequences, shape.pages)
                                   : "pages[B,L]"),
        mostRows_(shape.exactRows ? shape.exactRows : shape.rows) {}

  void addAll(const std::vector<LayerCache> &caches) {
    auto ofRows = [&](const char *name) {
      return g_.input(fmt::format("{}[{}]", name, rowsText_), DType::i32);
    };
    Value token = ofRows("token");
    position_ = ofRows("position");
    sequence_ = ofRows("sequence");
    pages_ = g_.input(pagesText_, DType::i32);
    Value wanted = g_.input(rows_ == 1 ? "wanted[1]" : "wanted[W]", DType::i32);
    cosines_ = g_.constant(weights_.cosines), sines_ = g_.constant(weights_.sines);
    const std::vector<LayerWeights> &layers = weights_.layers;
    Stream x = begin(g_.task(library_.rows(weights_.embedding.dtype(), model_.width, rows_), token,
                             weights_.embedding),
                     layers.empty() ? weights_.finalNorm : layers.front().attentionNorm);
    for (size_t n = 0; n < layers.size(); ++n) {
      bool isLast = n + 1 == layers.size();
      g_.label(fmt::format("layer {}", n));
      x = addAttention(layers[n], caches[n], x);
      x = addFeedForward(layers[n], x, isLast ? weights_.finalNorm : layers[n + 1].attentionNorm);
    }
    g_.label("head");
    Value logits = productOfNormed({}, rowsOf(x, wanted), weights_.head, weights_.finalNorm);
    if (weights_.head.rows < model_.vocabulary)
      logits =
          g_.task(joinLogits(model_.vocabulary, library_.widthOverRanks(rows_, weights_.head.rows)),
                  logits);
    g_.output(addArgmax(logits));
    g_.output(logits);
  }

private:
  /// W times x; behind them comes what the options ask for.
  template <class... A>
  auto product(const ProductOptions &options, Value x, const Matrix &W, const A &...more) {
    const Kernel &kernel = library_.product(W, rows_, settled(options));
    switch (W.storage) {
    case Storage::plain:
    case Storage::blocked:
      return g_.task(kernel, x, W.values, more...);
    case Storage::q80:
    case Storage::blockedQ80:
      return g_.task(kernel, x, W.values, W.scales, more...);
    case Storage::q41:
      return g_.task(kernel, x, W.values, W.scales, W.minima, more...);
    }
    throw InternalError("a matrix that is stored in no way");
  }

  /// What is the same of all products.
  ProductOptions settled(ProductOptions options) const {
    options.rounded = rounds_;
    options.streamed = streams_;
    return options;
  }

  /// Results of a kernel that starts a norm, and of one that adds and starts one.
  struct Started {
    Value scaled = {}, squares = {};
  };
  struct Added {
    Value x, scaled = {}, squares = {};
  };

  /// What layers add to. Of few rows the norm in front of the next product has been started by what has added last:
  /// no task stands between the two for it. A product of many rows takes longer to find their scales than such a
  /// task does.
  struct Stream {
    Value x, scaled = {}, squares = {};
    int part = 0; ///< elements that have one of the squares; 0: nothing was started
  };

  /// Elements that have one sum of squares, where the product of W is added and starts a norm.
  int partOf(const Matrix &W) {
    return addsInProducts_ ? library_.partOf(W, rows_, settled(adding())) : partOverRanks_;
  }

  /// Of a product that adds to the rows.
  ProductOptions adding() const {
    return {.next = startsNorms_, .residual = true, .summed = ranks_ > 1};
  }

  /// The rows that a step begins with.
  Stream begin(Value x, const Tensor &nextGain) {
    if (!startsNorms_)
      return {.x = x};
    int part = weights_.layers.empty() ? partOverRanks_ : partOf(weights_.layers.front().down);
    Started started = g_.task(startNorm(part), x, nextGain);
    return {x, started.scaled, started.squares, part};
  }

  /// Some of the rows, for a product.
  Stream rowsOf(const Stream &x, Value numbers) {
    auto taken = [&](DType type, int64_t width, Value of) {
      return g_.task(library_.rows(type, width, rows_, true), numbers, of);
    };
    if (!x.part)
      return {.x = taken(DType::f32, model_.width, x.x)};
    int64_t squares = (model_.width + x.part - 1) / x.part;
    return {x.x, taken(DType::bf16, model_.width, x.scaled), taken(DType::f32, squares, x.squares),
            x.part};
  }

  /// W times what is normalised of x.
  Value productOfNormed(ProductOptions options, const Stream &x, const Matrix &W,
                        const Tensor &gain) {
    options.part = x.part;
    if (x.part)
      return product(options, x.scaled, W, x.squares, model_.epsilon);
    if (rounds_)
      return product(options, g_.task(roundNormed_, x.x, gain, model_.epsilon), W);
    options.rms = true;
    return product(options, x.x, W, gain, model_.epsilon);
  }

  static int64_t pageSizeOf(const LayerCache &cache) { return cache.keys.shape()[2]; }

  /// Attention that turns the heads of a few rows itself: one task less behind the other.
  std::optional<Kernel> turnedInAttention(const LayerCache &cache, int64_t rows) {
    DType type = cache.keys.dtype();
    auto config =
        streams_ ? library_.partsOfPages(model_, type, pageSizeOf(cache), rows) : std::nullopt;
    if (!config)
      return std::nullopt;
    return turnAndAttend(model_, type, *config, int(rows));
  }

  /// What a kernel of new heads makes of them, and of `more`; the new keys and values are in the cache then.
  template <class... More>
  auto addHeads(const Kernel &kernel, const LayerWeights &w, Value qkv, const More &...more) {
    if (!model_.hasHeadNorms)
      return g_.task(kernel, qkv, position_, sequence_, pages_, cosines_, sines_, more...);
    return g_.task(kernel, qkv, position_, sequence_, pages_, cosines_, sines_, w.queryNorm,
                   w.keyNorm, model_.epsilon, more...);
  }

  /// x and the product of W, of which each rank has columns, and what comes in; the gain is that of the
  /// norm behind it.
  Stream addProduct(Value in, const Matrix &W, const Stream &x, const Tensor &nextGain) {
    if (!startsNorms_ && addsInProducts_)
      return {.x = product(adding(), in, W, x.x)};
    if (!startsNorms_)
      return {.x = g_.task(addOverRanks_, Value(product({}, in, W)), x.x)};
    Added sum = addsInProducts_
                    ? Added(product(adding(), in, W, x.x, nextGain))
                    : Added(g_.task(addOverRanks_, Value(product({}, in, W)), x.x, nextGain));
    return {sum.x, sum.scaled, sum.squares, partOf(W)};
  }

  /// Attention over parts of the keys.
  struct Parts {
    Value o, sizes;
  };

  /// What the queries of new heads attend to, as rows for a product.
  Value attended(const LayerWeights &w, const LayerCache &cache, Value qkv) {
    Value keys = g_.constant(cache.keys), values = g_.constant(cache.values);
    double scale = 1 / std::sqrt(double(model_.headSize));
    if (turnAndAttend_)
      return joined(Parts(addHeads(*turnAndAttend_, w, qkv, scale, inOut(keys), inOut(values))));
    Value q = addHeads(turn_, w, qkv, inOut(keys), inOut(values));
    DType type = cache.keys.dtype();
    int64_t pageSize = pageSizeOf(cache);
    auto taskOf = [&](const Kernel &kernel) {
      return g_.task(kernel, q, keys, values, position_, sequence_, pages_, scale);
    };
    if (rounds_ && !streams_ && type == DType::bf16)
      if (const Kernel *whole = library_.wholeAttention(model_, type, pageSize, rows_))
        return taskOf(*whole);
    return joined(Parts(taskOf(library_.attention(model_, type, pageSize, mostRows_, streams_))));
  }
  Value joined(const Parts &parts) {
    return g_.task(library_.joinParts(model_, rounds_ ? DType::bf16 : DType::f32), parts.o,
                   parts.sizes);
  }

  /// x and the attention of what is normalised of it.
  Stream addAttention(const LayerWeights &w, const LayerCache &cache, const Stream &x) {
    Value qkv = productOfNormed({}, x, w.qkv, w.attentionNorm);
    return addProduct(attended(w, cache, qkv), w.attentionOutput, x, w.feedForwardNorm);
  }

  /// x and the feed-forward layer of what is normalised of it.
  Stream addFeedForward(const LayerWeights &w, const Stream &x, const Tensor &nextGain) {
    Value act = productOfNormed({.gated = true}, x, w.gateUp, w.feedForwardNorm);
    return addProduct(act, w.down, x, nextGain);
  }

  /// The largest elements of parts of rows, and their places.
  struct Largest {
    Value values, places;
  };

  Value addArgmax(Value logits) {
    Largest parts = g_.task(library_.argmax(rows_, model_.vocabulary), logits);
    return g_.task(library_.combineArgmax(rows_, model_.vocabulary), parts.values, parts.places);
  }

  TaskGraph &g_;
  Library library_;
  const Architecture &model_;
  const Weights &weights_;
  bool rounds_;      ///< rows to bf16, for products
  bool streams_;     ///< weights
  bool startsNorms_; ///< where a row is added to
  /// A product adds to the rows itself: over ranks, too, where rows are many or weights stream. A launch for few rows
  /// has more of its weights there before it begins if none in front of it waits for ranks.
  bool addsInProducts_;
  int partOverRanks_; ///< elements of a row that travel to other ranks at a time
  Kernel turn_;
  std::optional<Kernel> turnAndAttend_; ///< instead of it
  Kernel roundNormed_, addOverRanks_;
  int64_t rows_, ranks_;
  std::string rowsText_, pagesText_;
  int64_t mostRows_; ///< of the program
  Value position_, sequence_, pages_, cosines_, sines_;
};

} // namespace

TaskGraph stepOf(const Context &ctx, const Architecture &model, const Weights &weights,
                 const std::vector<LayerCache> &caches, const StepShape &shape) {
  TaskGraph g("step");
  StepBuilder(g, ctx, model, weights, caches.front(), shape).addAll(caches);
  return g;
}

} // namespace generate
