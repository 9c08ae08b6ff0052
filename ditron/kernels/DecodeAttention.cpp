// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// o = softmax(scale * q * keys^T) * values of one query a sequence, over a cache of keys and values.
// The heads of queries that share a head of keys are the rows of a tile, so that keys and values are
// read once. A head's rows of the cache lie together: they are read on end. Few sequences give cores
// little to do: the keys may be cut into parts, over each of which the softmax is taken apart, and
// which combine-attention joins (Dao et al., "Flash-Decoding for long-context inference").
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/kernels/AttentionEntry.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/Attend.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>
#include <fmt/format.h>

namespace ditron::kernels {

//===-- Kernel --------------------------------------------------------------------------------===//

/// The tiles of a sequence's keys, of which there are `numKeys`.
template <class T>
static auto tilesOf(const DecodeAttentionConfig &cfg, const View<T, 2, Access::read> &keys,
                    const View<T, 2, Access::read> &values, Index numKeys) {
  auto ks = keys.tiled(cfg.n, cfg.d), vs = values.tiled(cfg.n, cfg.d);
  return [=](Index j) { return KeyTile<T>{ks(j, 0), vs(j, 0), numKeys - j * cfg.n}; };
}

/// The keys that a sequence's query sees.
static Index numKeysOf(const In<i32, 1> &positions, Index b, Index S) {
  Index position = toIndex(positions.read({b}));
  require(position >= 0 && position < S, "sequence {} is at position {} of a cache of {}",
          {b, position, S});
  return position + 1;
}

template <class T> static Kernel wholeOf(DecodeAttentionConfig cfg) {
  return {"decode-attention(q[B,N,D], keys[B,G,S,D], values[B,G,S,D], positions[B], scale)"
          " -> o[B,N,D]",
          [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions, Scalar<f32> scale,
              Out<T, 3> o) {
            checkHeads(cfg, q, keys);
            Index together = q.dim(1) / keys.dim(1);
            for (auto [b, g] : grid({keys.dim(0), keys.dim(1)})) {
              Index numKeys = numKeysOf(positions, b, keys.rows()), head = g * together;
              auto heads = [&](const auto &x) {
                return x.at(b).slice(0, head, together).tiled(cfg.m, cfg.d)(0, 0);
              };
              auto [result, size] =
                  attend<T>(cfg, Tile(heads(q)),
                            tilesOf<T>(cfg, keys.at(b).at(g), values.at(b).at(g), numKeys),
                            Steps(ceilDiv(numKeys, cfg.n)), scale);
              heads(o) = cast<T>(result);
            }
          }};
}

template <class T> static Kernel partsOf(DecodeAttentionConfig cfg) {
  return {fmt::format("decode-attention(q[B,N,D], keys[B,G,S,D], values[B,G,S,D], positions[B], "
                      "scale) -> o[B,N,{0},D], sizes[B,N,{0}]",
                      cfg.parts),
          [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions, Scalar<f32> scale,
              Out<f32, 4> o, Out<f32, 3> sizes) {
            checkHeads(cfg, q, keys);
            Index together = q.dim(1) / keys.dim(1);
            for (auto [b, g, part] : grid({keys.dim(0), keys.dim(1), Index(cfg.parts)})) {
              Index numKeys = numKeysOf(positions, b, keys.rows()), head = g * together;
              auto heads = [&](const auto &x) { return x.at(b).slice(0, head, together); };
              Steps steps(ceilDiv(numKeys, cfg.n), part, cfg.parts);
              auto [result, size] = attend<T>(
                  cfg, Tile(heads(q).tiled(cfg.m, cfg.d)(0, 0)),
                  tilesOf<T>(cfg, keys.at(b).at(g), values.at(b).at(g), numKeys), steps, scale);
              heads(o).at(1, part).tiled(cfg.m, cfg.d)(0, 0) = result;
              heads(sizes).slice(1, part, 1).tiled(cfg.m, 1)(0, 0) = size;
            }
          }};
}

Kernel decodeAttention(DType type, const DecodeAttentionConfig &config) {
  return Floats::dispatch(type, "decode-attention", [&]<class T> {
    return config.parts > 1 ? partsOf<T>(config) : wholeOf<T>(config);
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

/// The keys of one of the parts of a sequence.
static Terms keysOf(const Case &run, int64_t rank, int64_t sequence, int64_t part) {
  int64_t n = run.config["n"], parts = run.config["parts"];
  auto numKeys = static_cast<int64_t>(run.inputs.at(rank, kPositions, sequence)) + 1;
  int64_t steps = (numKeys + n - 1) / n;
  return {part * steps / parts * n, std::min(numKeys, (part + 1) * steps / parts * n)};
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  const Problem &problem = run.problem;
  int64_t N = problem["N"], G = problem["G"], S = problem["S"], parts = run.config["parts"];
  std::vector<Expected> result;
  auto ofPart = [&](int64_t number, int64_t part) {
    int64_t sequence = number / N, keyHead = sequence * G + number % N * G / N;
    Terms keys = keysOf(run, row.rank, sequence, part);
    return AttentionOf{
        .query = [&run, &row, number](int64_t d) { return run.inputs.at(row.rank, kQ, number, d); },
        .key =
            [&run, &row, first = keyHead * S + keys.first](size_t which, int64_t j, int64_t d) {
              return run.inputs.at(row.rank, kKeys + which, first + j, d);
            },
        .numKeys = std::max<int64_t>(0, keys.end - keys.first),
        .elements = problem["D"],
        .scale = run.inputs.scalar(kScale),
        .type = problem.type,
        .result = run.inputs.type(row.argument)};
  };
  if (row.argument != kSizes)
    return attendedTo(ofPart(row.row / parts, row.row % parts), row.columns);
  for (int64_t part : row.columns)
    result.push_back(attendedSize(ofPart(row.row, part)));
  return result;
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  int64_t together = std::max<int64_t>(1, problem["N"] / problem["G"]);
  auto [m, n, d] = heuristics::attentionTile({together, problem["S"], problem["D"], problem.type},
                                             problem.target);
  return {{"m", problem.target.isGpu() ? m : together}, {"n", n}, {"d", d}, {"parts", 1}};
}

static Kernel make(DType type, const Config &config) {
  return decodeAttention(type,
                         {config.get("m"), config.get("n"), config.get("d"), config.get("parts")});
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
  entry.parameters = {{"m", "heads of queries that share a head of keys, at least", {}},
                      {"n", "keys of a step", {16, 32, 64, 128, 256}},
                      {"d", "elements of a head, at least", {}},
                      {"parts", "of the keys, which cores attend to apart", {1}}};
  entry.defaults = defaults;
  entry.make = make;
  entry.shape = {{"B", 1}, {"N", 32}, {"G", 8}, {"S", 512}, {"D", 128}};
  entry.testShapes = {
      {{"B", 1}, {"N", 1}, {"G", 1}, {"S", 1}, {"D", 1}},
      {{"B", 3}, {"N", 2}, {"G", 1}, {"S", 7}, {"D", 3}},
      {{"B", 1}, {"N", 9}, {"G", 3}, {"S", 301}, {"D", 64}},
      {{"B", 4}, {"N", 6}, {"G", 3}, {"S", 61}, {"D", 20}},
  };
  entry.benchShapes = {{{"B", 1}, {"N", 32}, {"G", 8}, {"S", 8192}, {"D", 128}}};
  entry.checkCases = {{{{"B", 2}, {"N", 4}, {"G", 2}, {"S", 11}, {"D", 3}}, "m=2,n=4,d=4"},
                      {{{"B", 2}, {"N", 4}, {"G", 2}, {"S", 11}, {"D", 3}}, "m=2,n=4,d=4,parts=2"}};
  entry.scalars = {{"scale", 0.125}};
  entry.variants = {"n=9", "m=5,n=16,d=72", "parts=2,n=16"};
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
