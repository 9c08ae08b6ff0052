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
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <iterator>
#include <memory>

namespace ditron::kernels {

//===-- Kernel --------------------------------------------------------------------------------===//

static std::string signatureOf(const DecodeAttentionConfig &cfg) {
  std::string parts = fmt::format("ceil(L/{})", cfg.block); // of pages
  return "paged-attention(q[T,N,D], keys[P,G,S,D], values[P,G,S,D], positions[T], sequences[T], "
         "pages[B,L], scale) -> " +
         (cfg.apart  ? fmt::format("o[T,N,{0},D], sizes[T,N,{0}]", parts)
          : cfg.flat ? "o[T,N*D]"
                     : "o[T,N,D]");
}

namespace {

/// The pages with keys that a row sees of one head.
template <class T> class PageTiles {
public:
  PageTiles(const In<T, 4> &keys, const In<T, 4> &values, const PagedRow &row, Index head)
      : keys_(keys), values_(values), row_(row), head_(head),
        last_((max(row.numKeys(), 1) - 1) / keys.rows()) {}

  /// Of those behind the last one, that is read.
  KeyTile<T> operator()(Index j, Known known) const {
    return tileOf(known == Known::yes ? row_.page(j) : pageAt(j), j);
  }
  /// The number of the page behind is asked for with each tile: it is there when its keys are.
  auto from(Index first) const {
    return [*this, next = std::make_shared<Var<Index>>(pageAt(first))](Index j) {
      Index page = next->get();
      *next = pageAt(j + 1);
      return tileOf(page, j);
    };
  }

private:
  Index pageAt(Index j) const { return row_.page(min(j, last_)); }
  KeyTile<T> tileOf(Index page, Index j) const {
    Index S = keys_.rows(), seen = min(row_.numKeys() - j * S, S);
    auto view = [&](const In<T, 4> &cache) {
      return cache.at(page).at(head_).slice(0, 0, max(seen, 0));
    };
    return {view(keys_), view(values_), 0, seen};
  }

  In<T, 4> keys_, values_;
  PagedRow row_;
  Index head_, last_;
};

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

  PageTiles<T> tiles(const PagedRow &row, Index g) const { return {keys, values, row, g}; }

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
      attendToPart<T>(
          cfg, heads(q.at(t)), tiles(one, g), part, ceilDiv(one.numKeys(), keys.rows()), scale,
          [&] { return heads(o.at(t)).at(1, part); },
          [&] { return heads(sizes.at(t)).slice(1, part, 1); });
      done(t, g);
    }
  }
};

} // namespace

/// What queries meet, as a kernel has it.
template <class T>
using Attends = void (*)(const DecodeAttentionConfig &, const Pages<T> &, const In<T, 3> &q,
                         const Tile &scale, const View<T, 3, Access::write> &o);

/// The kernel that writes all of o.
template <class T> static Kernel ofAll(const DecodeAttentionConfig &cfg, Attends<T> attend) {
  if (cfg.flat)
    return {
        signatureOf(cfg), [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions,
                              In<i32, 1> sequences, In<i32> pages, Scalar<f32> scale, Out<T> o) {
          attend(cfg, {keys, values, positions, sequences, pages}, q, scale, o.split(1, q.dim(1)));
        }};
  return {signatureOf(cfg),
          [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions,
              In<i32, 1> sequences, In<i32> pages, Scalar<f32> scale, Out<T, 3> o) {
            attend(cfg, {keys, values, positions, sequences, pages}, q, scale, o);
          }};
}

/// All keys of a head, one page after the other.
template <class T>
static void attendWhole(const DecodeAttentionConfig &cfg, const Pages<T> &cache, const In<T, 3> &q,
                        const Tile &scale, const View<T, 3, Access::write> &o) {
  cache.check(cfg, q);
  Index together = q.dim(1) / cache.keys.dim(1);
  for (auto [t, g] : grid({q.dim(0), cache.keys.dim(1)})) {
    PagedRow row = cache.row(t);
    Index head = g * together;
    auto heads = [&](const auto &x) {
      return x.at(t).slice(0, head, together).tiled(cfg.m, cfg.d)(0, 0);
    };
    auto [result, size] = attend<T>(cfg, Tile(heads(q)), cache.tiles(row, g),
                                    Steps(ceilDiv(row.numKeys(), cache.keys.rows())), scale);
    heads(o) = cast<T>(result);
  }
}

/// Parts of the keys, which are joined once all of a head are there.
template <class T>
static void attendJoined(const DecodeAttentionConfig &cfg, const Pages<T> &cache, const In<T, 3> &q,
                         const Tile &scale, const View<T, 3, Access::write> &o) {
  PartsInMemory parts(cfg, q.dim(0), q.dim(1), cache.keys.dim(1), q.dim(2),
                      ceilDiv(cache.table.cols(), cfg.block));
  cache.attend(cfg, q, scale, parts.o(), parts.sizes(), [&](Index t, Index g) { parts.add(t, g); });
  auto os = o.tiled(cfg.d);
  for (auto [t, n, j] : os.tiles())
    os(t, n, j) = cast<T>(parts.joined(t, n, j));
}

template <class T> static Kernel partsOf(DecodeAttentionConfig cfg) {
  return {signatureOf(cfg), [=](In<T, 3> q, In<T, 4> keys, In<T, 4> values, In<i32, 1> positions,
                                In<i32, 1> sequences, In<i32> pages, Scalar<f32> scale,
                                Out<f32, 4> o, Out<f32, 3> sizes) {
            Pages<T>{keys, values, positions, sequences, pages}.attend(cfg, q, scale, o, sizes,
                                                                       [](Index, Index) {});
          }};
}

Kernel pagedAttention(DType type, const DecodeAttentionConfig &config) {
  checkParts(config, "paged-attention");
  return Floats::dispatch(type, "paged-attention", [&]<class T> {
    if (config.apart)
      return partsOf<T>(config);
    return ofAll<T>(config, config.block ? attendJoined<T> : attendWhole<T>);
  });
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kQ = 0, kKeys = 1, kScale = 6, kSizes = 8;
static constexpr PagedArguments kPaged = {3, 4, 5};

/// Of one head.
static std::vector<Expected> expectedOf(const Case &run, const OutputRow &row) {
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

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  if (!run.config["flat"])
    return expectedOf(run, row);
  int64_t N = run.problem["N"], D = run.problem["D"];
  auto headOf = [&](int64_t column) { return column / D; };
  std::vector<Expected> result;
  for (auto rest = row.columns; !rest.empty();) {
    int64_t head = headOf(rest.front());
    std::vector<int64_t> columns;
    for (; !rest.empty() && headOf(rest.front()) == head; rest = rest.subspan(1))
      columns.push_back(rest.front() % D);
    OutputRow one = row;
    one.row = row.row * N + head, one.columns = columns;
    std::ranges::move(expectedOf(run, one), std::back_inserter(result));
  }
  return result;
}

static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  return pagedInput(problem, kPaged, argument, element)
      .value_or(inputs.standard(rank, argument, element));
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  Config config = decodeDefaults(heuristics::pagedTile(
      sharedHeads(problem), problem["T"] * problem["G"], problem["L"], problem.target));
  config.add({"flat", 0});
  return config;
}

static void retile(const Problem &problem, Config &config) {
  retileParts(config, heuristics::pagedPartTile(sharedHeads(problem), problem.target));
}

static void check(const Problem &problem) {
  if (problem["N"] % problem["G"])
    throw UsageError("paged-attention: N is " + std::to_string(problem["N"]) +
                     ", expected a multiple of G, which is " + std::to_string(problem["G"]));
  checkPaged(problem, "paged-attention");
  constexpr int64_t kLongestOfGpu = 512;
  if (problem.target.isGpu() && problem["S"] > kLongestOfGpu)
    throw UsageError(fmt::format("paged-attention: S is {}, expected at most {} on a GPU, whose "
                                 "threads hold a page in registers",
                                 problem["S"], kLongestOfGpu));
  constexpr uint64_t kMostBytesOfGpu = 256 << 10; // of the registers of an SM
  auto padded = [&](const char *name) {
    return std::bit_ceil(uint64_t(std::min(problem[name], int64_t(1) << 30)));
  };
  uint64_t bytes = padded("S") * padded("D") * byteSize(problem.type);
  if (problem.target.isGpu() && bytes > kMostBytesOfGpu)
    throw UsageError(fmt::format("paged-attention: a page of S={} rows of D={} elements, padded to "
                                 "powers of two, has {} bytes, expected at most {} on a GPU, whose "
                                 "threads hold it in registers",
                                 problem["S"], problem["D"], bytes, kMostBytesOfGpu));
}

KernelEntry pagedAttentionEntry() {
  KernelEntry entry;
  entry.name = "paged-attention";
  entry.summary = "attention of queries of any sequences over a cache in pages";
  entry.dtypes = Floats::list();
  entry.parameters = decodeParameters("positions of a page, at least");
  entry.parameters.push_back(
      {"flat", "o is [T,N*D]", {}, {"no", "yes"}, 0, {{"parts", {0}}}, /*without=*/0});
  entry.defaults = defaults;
  entry.retile = retile;
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
  entry.variants = {"n=32,block=0,by=tiles",
                    "m=5,n=16,d=72,block=0,by=tiles",
                    "block=3,by=tiles,parts=apart",
                    "m=4,n=16,d=72,block=2,by=elements,parts=joined",
                    "block=2,by=elements,readers=8,parts=apart",
                    "m=64,n=16,d=64,block=0,by=tiles,flat=yes",
                    "block=2,by=tiles,flat=yes",
                    "block=3,by=tiles,readers=8,parts=apart"};
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
