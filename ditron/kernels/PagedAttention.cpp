// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// decode-attention over a cache in pages: a table says which pages of one pool a sequence has, so
// that sequences take as much memory as they are long. A page is a key tile. Rows of queries are of
// any sequences, several of one too: each sees the keys up to its own position, so a part of a
// prompt is attended to in one launch, as soon as its keys are in the cache.
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/kernels/AttentionParts.h"
#include "ditron/kernels/PagedCache.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/JoinParts.h"
#include "ditron/kernels/kernels.h"
#include <fmt/format.h>

namespace ditron::kernels {

//===-- Kernel --------------------------------------------------------------------------------===//

static std::string signatureOf(const DecodeAttentionConfig &cfg) {
  std::string parts = fmt::format("ceil(L/{})", cfg.block); // of pages
  return "paged-attention(q[T,N,D], keys[P,G,S,D], values[P,G,S,D], positions[T], sequences[T], "
         "pages[B,L], scale) -> " +
         (cfg.apart ? fmt::format("o[T,N,{0},D], sizes[T,N,{0}]", parts) : "o[T,N,D]");
}

namespace {

/// The caches of keys and values, and who has their pages.
template <class T> struct Pages {
  In<T, 4> keys, values;
  In<i32, 1> positions, sequences;
  In<i32> table;

  PagedRow row(Index t) const { return {positions, sequences, table, t, keys.rows()}; }

  void check(const DecodeAttentionConfig &cfg, const In<T, 3> &q) const {
    checkHeads(cfg, q, keys);
    require(keys.rows() <= cfg.n, "a page has {} positions, this variant takes up to {}",
            {keys.rows(), cfg.n});
  }

  /// The pages with keys that a row sees of head g: of those behind the last one, that is read.
  auto tiles(const PagedRow &row, Index g) const {
    Index S = keys.rows(), last = (row.numKeys() - 1) / S;
    return [=, this](Index j, Known known) {
      Index page = row.page(known == Known::yes ? j : min(j, last)),
            seen = min(row.numKeys() - j * S, S);
      auto view = [&](const In<T, 4> &cache) {
        return cache.at(page).at(g).slice(0, 0, max(seen, 0));
      };
      return KeyTile<T>{view(keys), view(values), 0, seen};
    };
  }

  /// The parts of all rows, o[T,N,P,D] and sizes[T,N,P]; done(t, g): one of head g is there.
  void attend(const DecodeAttentionConfig &cfg, const In<T, 3> &q, const Tile &scale, const auto &o,
              const auto &sizes, const auto &done) const {
    check(cfg, q);
    Index together = q.dim(1) / keys.dim(1);
    for (auto at : grid({q.dim(0), keys.dim(1), sizes.dim(2)})) {
      auto [t, g, part] = at;
      PagedRow one = row(t);
      Index head = g * together;
      auto heads = [&](const auto &x) { return x.slice(0, head, together); };
      attendToPart<T>(cfg, heads(q.at(t)), tiles(one, g), part, ceilDiv(one.numKeys(), keys.rows()),
                      scale, heads(o.at(t)).at(1, part), heads(sizes.at(t)).slice(1, part, 1));
      done(t, g);
    }
  }
};

} // namespace

template <class T> static Kernel wholeOf(DecodeAttentionConfig cfg) {
  return {signatureOf(cfg),
          [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions,
              In<i32, 1> sequences, In<i32> pages, Scalar<f32> scale, Out<T, 3> o) {
            Pages<T> cache{keys, values, positions, sequences, pages};
            cache.check(cfg, q);
            Index together = q.dim(1) / keys.dim(1);
            for (auto [t, g] : grid({q.dim(0), keys.dim(1)})) {
              PagedRow row = cache.row(t);
              Index head = g * together;
              auto heads = [&](const auto &x) {
                return x.at(t).slice(0, head, together).tiled(cfg.m, cfg.d)(0, 0);
              };
              auto [result, size] = attend<T>(cfg, Tile(heads(q)), cache.tiles(row, g),
                                              Steps(ceilDiv(row.numKeys(), keys.rows())), scale);
              heads(o) = cast<T>(result);
            }
          }};
}

template <class T> static Kernel partsOf(DecodeAttentionConfig cfg) {
  return {signatureOf(cfg), [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions,
                                In<i32, 1> sequences, In<i32> pages, Scalar<f32> scale,
                                Out<f32, 4> o, Out<f32, 3> sizes) {
            Pages<T>{keys, values, positions, sequences, pages}.attend(cfg, q, scale, o, sizes,
                                                                       [](Index, Index) {});
          }};
}

template <class T> static Kernel joinedOf(DecodeAttentionConfig cfg) {
  return {
      signatureOf(cfg), [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions,
                            In<i32, 1> sequences, In<i32> pages, Scalar<f32> scale, Out<T, 3> o) {
        PartsInMemory parts(cfg, q.dim(0), q.dim(1), keys.dim(1), q.dim(2),
                            ceilDiv(pages.cols(), cfg.block));
        Pages<T>{keys, values, positions, sequences, pages}.attend(
            cfg, q, scale, parts.o(), parts.sizes(), [&](Index t, Index g) { parts.add(t, g); });
        auto os = o.tiled(cfg.d);
        for (auto [t, n, j] : os.tiles())
          os(t, n, j) = cast<T>(parts.joined(t, n, j));
      }};
}

Kernel pagedAttention(DType type, const DecodeAttentionConfig &config) {
  checkParts(config, "paged-attention");
  return Floats::dispatch(type, "paged-attention", [&]<class T> {
    if (!config.block)
      return wholeOf<T>(config);
    return config.apart ? partsOf<T>(config) : joinedOf<T>(config);
  });
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kQ = 0, kKeys = 1, kScale = 6, kSizes = 8;
static constexpr PagedArguments kPaged = {3, 4, 5};

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  const Problem &problem = run.problem;
  int64_t N = problem["N"], G = problem["G"], S = problem["S"];
  KeyParts parts(run.config, problem["L"], S);
  auto ofPart = [&](int64_t number, int64_t part) {
    int64_t t = number / N, head = number % N * G / N;
    Terms keys = parts.keys(part, int64_t(run.inputs.at(row.rank, kPaged.positions, t)) + 1);
    auto key = [=, &run, first = keys.first, rank = row.rank](size_t which, int64_t j, int64_t d) {
      PagedPlace place = placeOf(run, kPaged, rank, t, first + j);
      return run.inputs.at(rank, kKeys + which, (place.page * G + head) * S + place.row, d);
    };
    return AttentionOf{
        .query = [&run, &row, number](int64_t d) { return run.inputs.at(row.rank, kQ, number, d); },
        .key = key,
        .numKeys = keys.end - keys.first,
        .elements = problem["D"],
        .scale = run.inputs.scalar(kScale),
        .type = problem.type,
        .result = run.inputs.type(row.argument)};
  };
  return parts.expected(row, row.argument == kSizes, ofPart);
}

static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  return pagedInput(problem, kPaged, argument, element)
      .value_or(inputs.standard(rank, argument, element));
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  return decodeDefaults(heuristics::pagedTile(
      {problem["N"] / problem["G"], problem["S"], problem["D"], problem.type}, problem.target));
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
  entry.parameters = decodeParameters("positions of a page, at least");
  entry.defaults = defaults;
  entry.retile = retileForWarps;
  entry.make = [](DType type, const Config &config) {
    return pagedAttention(type, decodeConfig(config));
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
       "m=2,n=4,d=4,block=0,by=tiles"},
      {{{"T", 2}, {"N", 2}, {"G", 1}, {"D", 3}, {"P", 6}, {"S", 2}, {"B", 2}, {"L", 3}},
       "m=2,n=2,d=4,block=2,by=tiles"},
      {{{"T", 4}, {"N", 4}, {"G", 2}, {"D", 3}, {"P", 6}, {"S", 2}, {"B", 2}, {"L", 3}},
       "m=2,n=2,d=4,block=2,by=elements,parts=apart"}};
  entry.scalars = {{"scale", 0.125}};
  entry.variants = {
      "n=32,block=0,by=tiles", "m=5,n=16,d=72,block=0,by=tiles", "block=3,by=tiles,parts=apart",
      "m=4,n=16,d=72,block=2,by=elements,parts=joined", "block=2,by=elements,warps=8,parts=apart"};
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
