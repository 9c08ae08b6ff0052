// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// o = softmax(scale * q * k^T) * v of each head of packed sequences, no row of weights ever in
// memory. Tiles of keys pass by a tile of queries, which keeps the largest score so far and,
// relative to it, the sum of the weights and of the weighted values; a larger score scales both
// down. The algorithm is FlashAttention's (Dao et al., arXiv 2205.14135; rows of queries outside
// and keys inside as in Dao, arXiv 2307.08691), the running softmax Milakov and Gimelshein's (arXiv
// 1805.02867).
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/kernels/AttentionEntry.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace ditron::kernels {

//===-- Kernel --------------------------------------------------------------------------------===//

template <class T> using Rows = Tiled<T, 2, 2, Access::read>;

/// Block i of queries: the sum of the values, weighted by powers of 2 of the scores times
/// `steepness`. The first key that query r does not see is r + shift, if the kernel is causal.
template <class T>
static Tile attend(const AttentionConfig &cfg, const Rows<T> &queries, Index i, const Rows<T> &keys,
                   const Rows<T> &values, Index numKeys, Index shift, const Tile &steepness) {
  constexpr f32 kLowest = std::numeric_limits<f32>::lowest();
  Index first = i * cfg.m; // query
  Index end = cfg.causal ? min(numKeys, first + cfg.m - 1 + shift) : numKeys;
  // Tiles of keys that all queries see: keys before numKeys, and before the first query's first
  // unseen one.
  Index seenByAll = max(cfg.causal ? min(numKeys, first + shift) : numKeys, 0) / cfg.n;
  auto row = iota({cfg.m, 1}, 0) + first, column = iota({1, cfg.n}, 1);
  auto unseen =
      cfg.causal ? minimum(row + shift, toTile(numKeys)) : broadcast(toTile(numKeys), {cfg.m, 1});
  // Finite, so that a tile of unseen keys subtracts no infinities.
  auto scaled = [&](const Tile &score) { return maximum(score * steepness, kLowest); };

  auto mine = Tile(queries(i, 0));
  Var top = full<f32>({cfg.m, 1}, kLowest);
  Var total = zeros<f32>(cfg.m, 1), sums = zeros<f32>(cfg.m, cfg.d);
  for (auto j : inAnyOrder(ceilDiv(max(end, 0), cfg.n))) {
    Var scores = dot(mine, transpose(keys(j, 0)));
    when(j >= seenByAll, [&] { scores = select(column + j * cfg.n < unseen, scores, -INFINITY); });
    auto next = maximum(top, max(scores, 1)), edge = scaled(next);
    auto fading = exp2Flushed(scaled(top) - edge);
    auto weights = exp2Flushed(fma(scores, steepness, -edge));
    total = total * fading + sum(weights, 1);
    sums = sums * fading + dot(cast<T>(weights), values(j, 0));
    top = next;
  }
  return sums * select(total != 0, 1 / total.get(), 0);
}

/// Which head of keys, head of queries and step number `number` of the steps of all heads is: one
/// head of keys after the other, for it to stay in cache; of it, the heads of queries step by step.
/// In 32 bits, as every tile has to wait for it: no memory has as many heads' rows.
static std::array<Index, 3> findStep(Index number, Index steps, Index headsOfKey) {
  Tile n = toTile(number), together = toTile(headsOfKey), size = toTile(steps * headsOfKey);
  Tile keyHead = n / size, rest = n - keyHead * size, step = rest / together;
  Tile head = keyHead * together + rest - step * together;
  return {toIndex(keyHead), toIndex(head), toIndex(step)};
}

template <class T> static Kernel flashAttentionOf(AttentionConfig cfg) {
  return {"flash-attention(q[T,N,D], k[S,G,D], v[S,G,D], qStarts[B+1], kStarts[B+1], scale)"
          " -> o[T,N,D]",
          [=](In<T, 3> q, In<T, 3> k, In<T, 3> v, In<i32, 1> qStarts, In<i32, 1> kStarts,
              Scalar<f32> scale, Out<T, 3> o) {
            require(q.cols() <= cfg.d, "the heads have {} elements, this variant takes up to {}",
                    {q.cols(), cfg.d});
            require(q.dim(1) % k.dim(1) == 0, "{} heads of queries do not share {} heads of keys",
                    {q.dim(1), k.dim(1)});
            require(toIndex(cast<i32>(scale < 0)) == 0, "scale is below 0, expected 0 or more");
            // exp(x) is 2^(x * log2(e)). The smallest number instead of 0, for which unseen keys
            // are as far from the others as they are.
            auto steepness = maximum(scale * std::numbers::log2e, 0x1p-126f);
            auto start = [](const In<i32, 1> &starts, Index b) {
              return toIndex(starts.read({b}));
            };
            Index heads = q.dim(1), headsOfKey = heads / k.dim(1);
            Tile core = toTile(coreId()), cores = toTile(numCores());

            // The blocks of all sequences are dealt in rounds, every other of which the cores take
            // in the opposite order, as later queries see more. `dealt` are those of a round that
            // earlier sequences have taken.
            Var dealt = toTile(0), turn = toTile(0);
            for (auto b : range(1, qStarts.size())) {
              Index query = start(qStarts, b - 1), key = start(kStarts, b - 1);
              Index numQueries = start(qStarts, b) - query, numKeys = start(kStarts, b) - key;
              require(numQueries >= 0, "sequence {} has {} queries, expected 0 or more",
                      {b - 1, numQueries});
              Index blocks = ceilDiv(numQueries, cfg.m), shift = numKeys - numQueries + 1;
              Tile end = dealt + toTile(heads * blocks), whole = end / cores, rest = end % cores;
              for (auto round : range(toIndex(whole + cast<i32>(rest > 0)))) {
                Tile parity = turn + toTile(round);
                Tile place = select(bitAnd(parity, 1) == 0, core, cores - 1 - core);
                Index number = toIndex(toTile(round) * cores + place - dealt);
                when(number >= 0 && number < toIndex(end - dealt), [&] {
                  auto [keyHead, head, step] = findStep(number, blocks, headsOfKey);
                  // A sequence of one head, in tiles.
                  auto tiled = [&](const auto &x, Index first, Index size, Index head, int rows) {
                    return x.slice(0, first, size).at(1, head).tiled(rows, cfg.d);
                  };
                  Index i = cfg.causal ? blocks - 1 - step : step;
                  Tile result =
                      attend<T>(cfg, tiled(q, query, numQueries, head, cfg.m), i,
                                tiled(k, key, numKeys, keyHead, cfg.n),
                                tiled(v, key, numKeys, keyHead, cfg.n), numKeys, shift, steepness);
                  tiled(o, query, numQueries, head, cfg.m)(i, 0) = cast<T>(result);
                });
              }
              turn += whole;
              dealt = rest;
            }
          }};
}

Kernel flashAttention(DType type, const AttentionConfig &config) {
  return Floats::dispatch(type, "flash-attention",
                          [&]<class T> { return flashAttentionOf<T>(config); });
}

//===-- Reference -----------------------------------------------------------------------------===//

using namespace attention;

/// Cuts of T and of S into B sequences: long ones all of one length, as flops() counts them, others
/// of random lengths, some of them empty.
double attentionStarts(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                       int64_t element) {
  constexpr int64_t kLong = 512;
  int64_t T = problem["T"], S = problem["S"], B = problem["B"];
  bool areEqual = T % B == 0 && S % B == 0 && std::min(T, S) / B >= kLong;
  auto share = [&](int64_t b) {
    if (areEqual)
      return 1.0;
    double x = inputs.uniform(rank, argument, b);
    return B > 2 && x < 0.125 ? 0 : x;
  };
  double before = 0, all = areEqual ? 0 : 1e-9;
  for (int64_t b = 0; b < B; ++b) {
    before += b < element ? share(b) : 0;
    all += share(b);
  }
  auto whole = static_cast<double>(argument == kQStarts ? T : S);
  return element == B ? whole : std::floor(before * whole / all);
}

static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  return argument == kQStarts || argument == kKStarts
             ? attentionStarts(problem, inputs, rank, argument, element)
             : inputs.standard(rank, argument, element);
}

namespace {

/// One query of one head, and the keys that it sees.
struct Query {
  int64_t token, head, keyHead, firstKey = 0, numKeys = 0;

  Query(const Case &run, const OutputRow &row) {
    const Problem &problem = run.problem;
    auto start = [&](size_t argument, int64_t b) {
      return static_cast<int64_t>(run.inputs.at(row.rank, argument, b));
    };
    token = row.row / problem["N"];
    head = row.row % problem["N"];
    keyHead = head * problem["G"] / problem["N"];
    for (int64_t b = 0; b < problem["B"]; ++b) {
      int64_t end = start(kQStarts, b + 1);
      if (token < start(kQStarts, b) || token >= end)
        continue;
      firstKey = start(kKStarts, b);
      numKeys = start(kKStarts, b + 1) - firstKey;
      if (run.config["causal"])
        numKeys = std::max<int64_t>(0, numKeys - (end - 1 - token));
    }
  }
};

} // namespace

std::vector<Expected> attended(const Case &run, const OutputRow &row,
                               const std::function<KeyPlace(int64_t)> &placeOf) {
  const Inputs &in = run.inputs;
  Query query(run, row);
  int64_t G = run.problem["G"];
  AttentionOf one{.query = [&](int64_t d) { return in.at(row.rank, kQ, row.row, d); },
                  .key =
                      [&](size_t which, int64_t j, int64_t d) {
                        KeyPlace owner = placeOf(query.firstKey + j);
                        int64_t place = owner.row * G + query.keyHead;
                        return in.at(owner.rank, kK + which, place, d);
                      },
                  .numKeys = query.numKeys,
                  .elements = run.problem["D"],
                  .scale = in.scalar(kScale),
                  .type = run.problem.type,
                  .result = run.problem.type};
  return attendedTo(one, row.columns);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  return attended(run, row, [&](int64_t key) { return KeyPlace{row.rank, key}; });
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  auto [m, n, d] = heuristics::attentionTile(
      {problem["T"], problem["S"], problem["D"], problem.type}, problem.target);
  return {{"m", m}, {"n", n}, {"d", d}, {"causal", 0}};
}

static Kernel make(DType type, const Config &config) {
  return flashAttention(type,
                        {config.get("m"), config.get("n"), config.get("d"), config["causal"] != 0});
}

static void check(const Problem &problem) {
  if (problem["N"] % problem["G"])
    throw UsageError("flash-attention: N is " + std::to_string(problem["N"]) +
                     ", expected a multiple of G, which is " + std::to_string(problem["G"]));
}

/// Of sequences of one length; half of them where queries see no later key.
static double flops(const Problem &p, const Config &config) {
  double all =
      4.0 * double(p["N"]) * double(p["D"]) * double(p["T"]) * double(p["S"]) / double(p["B"]);
  return config["causal"] ? all / 2 : all;
}

KernelEntry flashAttentionEntry() {
  KernelEntry entry;
  entry.name = "flash-attention";
  entry.summary = "softmax(scale * q * k^T) * v of the heads of packed sequences";
  entry.dtypes = Floats::list();
  entry.parameters = {{"m", "queries of a tile", {32, 64, 128, 256}},
                      {"n", "keys of a step", {32, 64, 128, 256}},
                      {"d", "elements of a head, at least", {}},
                      {"causal", "a query sees no later key", {}, {"no", "yes"}, 0}};
  entry.defaults = defaults;
  entry.make = make;
  entry.shape = {{"T", 512}, {"S", 512}, {"N", 4}, {"G", 2}, {"D", 64}, {"B", 2}};
  entry.testShapes = {
      {{"T", 1}, {"S", 1}, {"N", 1}, {"G", 1}, {"D", 1}, {"B", 1}},
      {{"T", 7}, {"S", 5}, {"N", 2}, {"G", 1}, {"D", 3}, {"B", 4}},
      {{"T", 40}, {"S", 67}, {"N", 2}, {"G", 2}, {"D", 64}, {"B", 1}},
      {{"T", 67}, {"S", 131}, {"N", 1}, {"G", 1}, {"D", 128}, {"B", 1}},
      {{"T", 53}, {"S", 61}, {"N", 6}, {"G", 3}, {"D", 20}, {"B", 3}},
  };
  entry.benchShapes = {{{"T", 2048}, {"S", 2048}, {"N", 8}, {"G", 8}, {"D", 64}, {"B", 1}},
                       {{"T", 2048}, {"S", 2048}, {"N", 8}, {"G", 2}, {"D", 128}, {"B", 1}}};
  entry.checkCases = {
      {{{"T", 9}, {"S", 11}, {"N", 2}, {"G", 1}, {"D", 3}, {"B", 3}}, "m=4,n=4,d=4"},
      {{{"T", 9}, {"S", 11}, {"N", 2}, {"G", 1}, {"D", 3}, {"B", 3}}, "m=4,n=4,d=4,causal=yes"}};
  entry.scalars = {{"scale", 0.125}};
  entry.variants = {"causal=yes", "m=10,n=9", "m=10,n=9,causal=yes", "m=16,n=48,d=144,causal=yes"};
  entry.check = check;
  entry.flops = flops;
  entry.input = input;
  entry.reference = reference;
  return entry;
}

} // namespace ditron::kernels
