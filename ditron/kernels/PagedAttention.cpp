// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// decode-attention over a cache in pages: a table says which pages of one pool a sequence has, so
// that sequences take as much memory as they are long. A page is a key tile. Rows of queries are of
// any sequences, several of one too: each sees the keys up to its own position, so a part of a
// prompt is attended to in one launch, as soon as its keys are in the cache.
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/kernels/AttentionEntry.h"
#include "ditron/kernels/PagedCache.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/Attend.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

//===-- Kernel --------------------------------------------------------------------------------===//

template <class T> static Kernel pagedAttentionOf(DecodeAttentionConfig cfg) {
  return {"paged-attention(q[T,N,D], keys[P,G,S,D], values[P,G,S,D], positions[T], sequences[T], "
          "pages[B,L], scale) -> o[T,N,D]",
          [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions,
              In<i32, 1> sequences, In<i32> pages, Scalar<f32> scale, Out<T, 3> o) {
            checkHeads(cfg, q, keys);
            Index together = q.dim(1) / keys.dim(1), S = keys.rows();
            require(S <= cfg.n, "a page has {} positions, this variant takes up to {}", {S, cfg.n});
            for (auto [t, g] : grid({q.dim(0), keys.dim(1)})) {
              PagedRow row(positions, sequences, pages, t, S);
              Index head = g * together;
              auto heads = [&](const auto &x) {
                return x.at(t).slice(0, head, together).tiled(cfg.m, cfg.d)(0, 0);
              };
              auto tiles = [&](Index j) {
                Index page = row.page(j);
                auto tile = [&](const In<T, 4> &cache) {
                  return cache.at(page).at(g).tiled(cfg.n, cfg.d)(0, 0);
                };
                return KeyTile<T>{tile(keys), tile(values), min(row.numKeys() - j * S, S)};
              };
              auto [result, size] =
                  attend<T>(cfg, Tile(heads(q)), tiles, Steps(ceilDiv(row.numKeys(), S)), scale);
              heads(o) = cast<T>(result);
            }
          }};
}

Kernel pagedAttention(DType type, const DecodeAttentionConfig &config) {
  return Floats::dispatch(type, "paged-attention",
                          [&]<class T> { return pagedAttentionOf<T>(config); });
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kQ = 0, kKeys = 1, kScale = 6;
static constexpr PagedArguments kPaged = {3, 4, 5};

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  const Problem &problem = run.problem;
  int64_t N = problem["N"], G = problem["G"], t = row.row / N, head = row.row % N * G / N;
  auto key = [&](size_t which, int64_t j, int64_t d) {
    PagedPlace place = placeOf(run, kPaged, row.rank, t, j);
    return run.inputs.at(row.rank, kKeys + which,
                         (place.page * G + head) * problem["S"] + place.row, d);
  };
  return attendedTo(
      {.query = [&](int64_t d) { return run.inputs.at(row.rank, kQ, row.row, d); },
       .key = key,
       .numKeys = static_cast<int64_t>(run.inputs.at(row.rank, kPaged.positions, t)) + 1,
       .elements = problem["D"],
       .scale = run.inputs.scalar(kScale),
       .type = problem.type,
       .result = run.inputs.type(row.argument)},
      row.columns);
}

static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  return pagedInput(problem, kPaged, argument, element)
      .value_or(inputs.standard(rank, argument, element));
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  int64_t together = std::max<int64_t>(1, problem["N"] / problem["G"]);
  auto tile = heuristics::attentionTile({together, problem["S"], problem["D"], problem.type},
                                        problem.target);
  return {{"m", problem.target.isGpu() ? tile.m : together},
          {"n", heuristics::fit(problem["S"], INT64_MAX)},
          {"d", tile.d}};
}

static void check(const Problem &problem) {
  if (problem["N"] % problem["G"])
    throw UsageError("paged-attention: N is " + std::to_string(problem["N"]) +
                     ", expected a multiple of G, which is " + std::to_string(problem["G"]));
  checkPaged(problem, "paged-attention");
}

KernelEntry pagedAttentionEntry() {
  KernelEntry entry;
  entry.name = "paged-attention";
  entry.summary = "attention of queries of any sequences over a cache in pages";
  entry.dtypes = Floats::list();
  entry.parameters = {{"m", "heads of queries that share a head of keys, at least", {}},
                      {"n", "positions of a page, at least", {}},
                      {"d", "elements of a head, at least", {}}};
  entry.defaults = defaults;
  entry.make = [](DType type, const Config &config) {
    return pagedAttention(type, {config.get("m"), config.get("n"), config.get("d")});
  };
  entry.shape = {{"T", 8},   {"N", 32}, {"G", 8}, {"D", 128},
                 {"P", 128}, {"S", 32}, {"B", 8}, {"L", 16}};
  entry.testShapes = {
      {{"T", 1}, {"N", 1}, {"G", 1}, {"D", 1}, {"P", 1}, {"S", 1}, {"B", 1}, {"L", 1}},
      {{"T", 5}, {"N", 2}, {"G", 1}, {"D", 3}, {"P", 9}, {"S", 2}, {"B", 3}, {"L", 3}},
      {{"T", 4}, {"N", 9}, {"G", 3}, {"D", 64}, {"P", 20}, {"S", 16}, {"B", 2}, {"L", 10}},
      {{"T", 9}, {"N", 6}, {"G", 3}, {"D", 20}, {"P", 8}, {"S", 5}, {"B", 2}, {"L", 4}},
  };
  entry.benchShapes = {
      {{"T", 64}, {"N", 32}, {"G", 8}, {"D", 128}, {"P", 1024}, {"S", 32}, {"B", 64}, {"L", 16}}};
  entry.checkCases = {
      {{{"T", 4}, {"N", 4}, {"G", 2}, {"D", 3}, {"P", 6}, {"S", 2}, {"B", 2}, {"L", 3}},
       "m=2,n=4,d=4"}};
  entry.scalars = {{"scale", 0.125}};
  entry.variants = {"n=32", "m=5,n=16,d=72"};
  entry.check = check;
  entry.bytes = [](const Problem &p) { // the last rows see as good as all
    return 2.0 * p["T"] * p["G"] * p["L"] * p["S"] * p["D"] * byteSize(p.type);
  };
  entry.baseline = Baseline::read;
  entry.input = input;
  entry.reference = reference;
  return entry;
}

} // namespace ditron::kernels
