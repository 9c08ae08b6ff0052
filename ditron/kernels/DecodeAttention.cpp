// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// o = softmax(scale * q * keys^T) * values of one query a sequence, over a cache of keys and values.
// The heads of queries that share a head of keys are the rows of a tile, so that keys and values are
// read once. A head's rows of the cache lie together: they are read on end. Few sequences give cores
// little to do: the keys may be cut into parts, over each of which the softmax is taken apart, and
// and which are joined (Dao et al., "Flash-Decoding for long-context inference"), by the same kernel or by
// combine-attention. docs/rationale/keys-in-parts.md says how many there are.
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/kernels/AttentionParts.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/JoinParts.h"
#include "ditron/kernels/kernels.h"
#include <cmath>
#include <fmt/format.h>

namespace ditron::kernels {

//===-- Kernel --------------------------------------------------------------------------------===//

namespace {

/// The tiles of a sequence's keys.
template <class T> class KeyTiles {
public:
  /// Of `numKeys` keys, `width` in a tile.
  KeyTiles(const View<T, 2, Access::read> &keys, const View<T, 2, Access::read> &values,
           Index numKeys, int width)
      : keys_(keys.slice(0, 0, numKeys)), values_(values.slice(0, 0, numKeys)), numKeys_(numKeys),
        width_(width) {}

  KeyTile<T> operator()(Index j, Known) const { return {keys_, values_, j, numKeys_ - j * width_}; }
  auto from(Index) const {
    return [*this](Index j) { return (*this)(j, Known::yes); };
  }

private:
  View<T, 2, Access::read> keys_, values_;
  Index numKeys_;
  int width_;
};

} // namespace

/// The keys that a sequence's query sees.
static Index numKeysOf(const In<i32, 1> &positions, Index b, Index S) {
  Index position = toIndex(positions.read({b}));
  require(position >= 0 && position < S, "sequence {} is at position {} of a cache of {}",
          {b, position, S});
  return position + 1;
}

static constexpr const char *kSignature =
    "decode-attention(q[B,N,D], keys[B,G,S,D], values[B,G,S,D], positions[B], scale) -> o[B,N,D]";

template <class T> static Kernel wholeOf(DecodeAttentionConfig cfg) {
  return {kSignature, [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions,
                          Scalar<f32> scale, Out<T, 3> o) {
            checkHeads(cfg, q, keys);
            Index together = q.dim(1) / keys.dim(1);
            for (auto [b, g] : grid({keys.dim(0), keys.dim(1)})) {
              Index numKeys = numKeysOf(positions, b, keys.rows()), head = g * together;
              auto heads = [&](const auto &x) {
                return x.at(b).slice(0, head, together).tiled(cfg.m, cfg.d)(0, 0);
              };
              auto [result, size] =
                  attend<T>(cfg, Tile(heads(q)),
                            KeyTiles<T>(keys.at(b).at(g), values.at(b).at(g), numKeys, cfg.n),
                            Steps(ceilDiv(numKeys, cfg.n)), scale);
              heads(o) = cast<T>(result);
            }
          }};
}

namespace {

/// What queries meet.
template <class T> struct Caches {
  In<T, 4> keys, values;
  In<i32, 1> positions;

  /// The parts of all sequences, o[B,N,P,D] and sizes[B,N,P]; done(b, g): one of head g is there.
  void attend(const DecodeAttentionConfig &cfg, const In<T, 3> &q, const Tile &scale, const auto &o,
              const auto &sizes, const auto &done) const {
    checkHeads(cfg, q, keys);
    Index together = q.dim(1) / keys.dim(1);
    for (auto at : grid({keys.dim(0), keys.dim(1), sizes.dim(2)})) {
      auto [b, g, part] = at;
      Index numKeys = numKeysOf(positions, b, keys.rows()), head = g * together;
      auto heads = [&](const auto &x) { return x.slice(0, head, together); };
      attendToPart<T>(
          cfg, heads(q.at(b)), KeyTiles<T>(keys.at(b).at(g), values.at(b).at(g), numKeys, cfg.n),
          part, ceilDiv(numKeys, cfg.n), scale, [&] { return heads(o.at(b)).at(1, part); },
          [&] { return heads(sizes.at(b)).slice(1, part, 1); });
      done(b, g);
    }
  }
};

} // namespace

template <class T> static Kernel partsOf(DecodeAttentionConfig cfg) {
  return {fmt::format("decode-attention(q[B,N,D], keys[B,G,S,D], values[B,G,S,D], positions[B], "
                      "scale) -> o[B,N,ceil(S/{0}),D], sizes[B,N,ceil(S/{0})]",
                      cfg.n * cfg.block),
          [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions, Scalar<f32> scale,
              Out<f32, 4> o, Out<f32, 3> sizes) {
            Caches<T>{keys, values, positions}.attend(cfg, q, scale, o, sizes, [](Index, Index) {});
          }};
}

template <class T> static Kernel joinedOf(DecodeAttentionConfig cfg) {
  return {kSignature, [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions,
                          Scalar<f32> scale, Out<T, 3> o) {
            PartsInMemory parts(cfg, q.dim(0), q.dim(1), keys.dim(1), q.dim(2),
                                ceilDiv(keys.rows(), cfg.n * cfg.block));
            Caches<T>{keys, values, positions}.attend(cfg, q, scale, parts.o(), parts.sizes(),
                                                      [&](Index b, Index g) { parts.add(b, g); });
            auto os = o.tiled(cfg.d);
            for (auto [b, n, j] : os.tiles())
              os(b, n, j) = cast<T>(parts.joined(b, n, j));
          }};
}

Kernel decodeAttention(DType type, const DecodeAttentionConfig &config) {
  checkParts(config, "decode-attention");
  return Floats::dispatch(type, "decode-attention", [&]<class T> {
    if (!config.block)
      return wholeOf<T>(config);
    return config.apart ? partsOf<T>(config) : joinedOf<T>(config);
  });
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kQ = 0, kKeys = 1, kPositions = 3, kScale = 4, kSizes = 6;

/// The first sequence fills its cache, the others are anywhere.
static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument != kPositions)
    return inputs.standard(rank, argument, element);
  auto S = double(problem["S"]);
  return element == 0 ? S - 1 : std::floor(inputs.uniform(rank, argument, element) * S);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  const Problem &problem = run.problem;
  int64_t N = problem["N"], G = problem["G"], S = problem["S"];
  int64_t n = run.config["n"];
  KeyParts parts(run.config, heuristics::tilesOf(S, n), n);
  std::vector<Expected> result;
  auto ofPart = [&](int64_t number, int64_t part) {
    int64_t sequence = number / N, keyHead = sequence * G + number % N * G / N;
    Terms keys = parts.keys(part, int64_t(run.inputs.at(row.rank, kPositions, sequence)) + 1);
    return AttentionOf{
        .query = [&run, &row, number](int64_t d) { return run.inputs.at(row.rank, kQ, number, d); },
        .key =
            [&run, &row, first = keyHead * S + keys.first](size_t which, int64_t j, int64_t d) {
              return run.inputs.at(row.rank, kKeys + which, first + j, d);
            },
        .numKeys = keys.end - keys.first,
        .elements = problem["D"],
        .scale = run.inputs.scalar(kScale),
        .type = problem.type,
        .result = run.inputs.type(row.argument)};
  };
  return parts.expected(row, row.argument == kSizes, ofPart);
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  return decodeDefaults(
      heuristics::decodeTile(sharedHeads(problem), problem["B"] * problem["G"], problem.target));
}

static void retile(const Problem &problem, Config &config) {
  retileParts(config, heuristics::decodePartTile(sharedHeads(problem), problem.target));
}

static Kernel make(DType type, const Config &config) {
  return decodeAttention(type, decodeConfig(config));
}

static void check(const Problem &problem) {
  if (problem["N"] % problem["G"])
    throw UsageError("decode-attention: N is " + std::to_string(problem["N"]) +
                     ", expected a multiple of G, which is " + std::to_string(problem["G"]));
}

KernelEntry decodeAttentionEntry() {
  KernelEntry entry;
  entry.name = "decode-attention";
  entry.summary = "attention of one query a sequence over a cache of keys and values";
  entry.dtypes = Floats::list();
  entry.parameters = decodeParameters("keys of a step");
  entry.defaults = defaults;
  entry.retile = retile;
  entry.make = make;
  entry.shape = {{"B", 1}, {"N", 32}, {"G", 8}, {"S", 512}, {"D", 128}};
  entry.testShapes = {
      {{"B", 1}, {"N", 1}, {"G", 1}, {"S", 1}, {"D", 1}},
      {{"B", 3}, {"N", 2}, {"G", 1}, {"S", 7}, {"D", 3}},
      {{"B", 1}, {"N", 9}, {"G", 3}, {"S", 301}, {"D", 64}},
      {{"B", 4}, {"N", 6}, {"G", 3}, {"S", 61}, {"D", 20}},
  };
  entry.benchShapes = {{{"B", 1}, {"N", 32}, {"G", 8}, {"S", 8192}, {"D", 128}}};
  entry.checkCases = {
      {{{"B", 2}, {"N", 4}, {"G", 2}, {"S", 11}, {"D", 3}}, "m=2,n=4,d=4,block=0,by=tiles"},
      {{{"B", 2}, {"N", 4}, {"G", 2}, {"S", 11}, {"D", 3}},
       "m=2,n=2,d=4,block=2,by=tiles,parts=apart"}};
  entry.scalars = {{"scale", 0.125}};
  entry.variants = {"n=9,block=0,by=tiles", "m=5,n=16,d=72,block=0,by=tiles",
                    "n=16,block=2,by=tiles,parts=apart",
                    "n=16,block=2,by=tiles,readers=8,parts=apart",
                    "m=4,n=16,d=72,block=2,by=elements,parts=joined"};
  entry.check = check;
  entry.bytes = [](const Problem &p) { // half of a cache on average, but of the first
    return (1.0 + p["B"]) * p["G"] * p["S"] * p["D"] * byteSize(p.type);
  };
  entry.baseline = Baseline::read;
  entry.input = input;
  entry.reference = reference;
  return entry;
}

} // namespace ditron::kernels
