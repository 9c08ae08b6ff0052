// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows to the ranks they are for, how many being known only at run time: the exchange of a mixture
// of experts. A sender announces a count to each rank and sends that many rows, chunk by chunk; a
// receiver waits for the announcement, then for as many chunks as it says. The own rows are copied. Chunks for one rank
// after the other are dealt to the cores in turn. A core tells of its chunks when it has sent all of them.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>

namespace ditron::kernels {

/// act(i, j) of each tile of a grid that this core has. The cores go on taking turns behind the `before` tiles that they
/// have been dealt.
static void deal(Var<Index> &before, const auto &tiles, const auto &act) {
  auto columns = tiles.cols(), count = tiles.rows() * columns;
  auto first = (coreId() + numCores() - before.get() % numCores()) % numCores();
  for (auto tile : range(first, count, numCores()))
    act(tile / columns, tile % columns);
  before += count;
}

template <class T> static Kernel allToAllOf(ChunkConfig cfg) {
  return {"all-to-all(x[T,H], counts[R]) -> y[R*T,H], received[R]",
          [=](In<T> x, In<i32, 1> counts, Out<T> y, Out<i32, 1> received) {
            auto capacity = x.rows();
            // The rows for a rank, none of them beyond the end of x.
            auto rowsFor = [&](Index to) {
              Var first = Index(0);
              for (auto r : range(to))
                first = min(first + max(toIndex(counts.read({r})), 0), capacity);
              Index count = min(max(toIndex(counts.read({to})), 0), capacity - first);
              return x.slice(0, first, count);
            };
            auto tiled = [&](const auto &view) { return view.tiled(cfg.rows, cfg.columns); };
            auto slots = symmetric<T>({numRanks(), capacity, x.cols()}, "slots");
            auto grid = tiled(slots);
            auto sizes = symmetric<i32>({numRanks()}, "sizes");
            auto announced = signals(numRanks(), "announced");
            auto arrived = signals({numRanks(), grid.rows(), grid.cols()}, "arrived");

            auto outgoing = symmetric<i32>({numRanks()}, "outgoing");
            auto outgoingSizes = outgoing.tiled(1);
            for (auto [to] : outgoingSizes.tiles()) {
              outgoingSizes(to) = toTile(rowsFor(to).rows());
              put(outgoingSizes(to), sizes.on(to).tiled(1)(rank()));
              notify(announced.on(to)(rank()));
            }
            auto toEach = [&](const auto &act) {
              Var before = Index(0);
              for (auto to : peers(Ring::next)) {
                auto rows = rowsFor(to);
                deal(before, tiled(rows), [&](Index i, Index j) { act(to, rows, i, j); });
              }
            };
            toEach([&](Index to, const auto &rows, Index i, Index j) {
              auto slot = slots.on(to).at(rank()).slice(0, 0, rows.rows());
              put(tiled(rows)(i, j), tiled(slot)(i, j));
            });
            toEach([&](Index to, const auto &, Index i, Index j) {
              notify(arrived.on(to)(rank(), i, j));
            });

            auto parts = y.split(numRanks());
            auto kept = rowsFor(rank());
            Var before = Index(0);
            deal(before, tiled(kept), [&](Index i, Index j) {
              tiled(parts.at(rank()).slice(0, 0, kept.rows()))(i, j) = tiled(kept)(i, j);
            });
            for (auto from : peers()) {
              wait(announced(from), 1);
              auto size = toIndex(sizes.read({from}));
              auto part = tiled(parts.at(from).slice(0, 0, size));
              deal(before, part, [&](Index i, Index j) {
                wait(arrived(from, i, j), 1);
                part(i, j) = tiled(slots.at(from).slice(0, 0, size))(i, j);
              });
            }
            auto numbers = received.tiled(1);
            auto known = sizes.tiled(1);
            for (auto [from] : numbers.tiles()) {
              wait(announced(from), 1);
              numbers(from) = known(from);
            }
          }};
}

Kernel allToAll(DType type, const ChunkConfig &config) {
  return Any::dispatch(type, "all-to-all", [&]<class T> { return allToAllOf<T>(config); });
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kX = 0, kCounts = 1, kReceived = 3;

/// Tokens choose ranks at random: counts are cuts of T, some of it kept back.
static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument != kCounts)
    return inputs.standard(rank, argument, element);
  double shares = inputs.uniform(rank, argument, problem.ranks);
  for (int64_t r = 0; r < problem.ranks; ++r)
    shares += inputs.uniform(rank, argument, r);
  return std::floor(inputs.uniform(rank, argument, element) / shares * double(problem["T"] + 1));
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  auto count = [&](int64_t from, int64_t to) {
    return static_cast<int64_t>(run.inputs.at(from, kCounts, to));
  };
  std::vector<Expected> result;
  if (row.argument == kReceived) {
    for (int64_t from : row.columns)
      result.push_back(Expected::exact(double(count(from, row.rank))));
    return result;
  }
  int64_t T = run.problem["T"], from = row.row / T, number = row.row % T, first = 0;
  for (int64_t r = 0; r < row.rank; ++r)
    first += count(from, r);
  for (int64_t column : row.columns)
    result.push_back(number < count(from, row.rank)
                         ? Expected::exact(run.inputs.at(from, kX, first + number, column))
                         : Expected::undefined());
  return result;
}

KernelEntry allToAllEntry() {
  return {
      .name = "all-to-all",
      .summary = "rows to the ranks they are for, counts at run time",
      .dtypes = Any::list(),
      .isDistributed = true,
      .parameters = chunkParameters(),
      .defaults = [](const Problem &p) { return spreadChunks(p, p["T"], p["H"]); },
      .make = [](DType type, const Config &config) { return allToAll(type, chunkConfig(config)); },
      .shape = {{"T", 128}, {"H", 1024}},
      .testShapes = {{{"T", 1}, {"H", 1}}, {{"T", 7}, {"H", 13}}, {{"T", 64}, {"H", 48}}},
      .benchShapes = {{{"T", 128}, {"H", 7168}}, {{"T", 4096}, {"H", 7168}}},
      .checkCases = {{{{"T", 7}, {"H", 5}}, "rows=2,columns=4"},
                     {{{"T", 2}, {"H", 3}}, "rows=2,columns=4"}},
      .variants = {"rows=2,columns=5"},
      .bytes = [](const Problem &p) { return 1.0 * p["T"] * p["H"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .collective = Collective::allToAll,
      .input = input,
      .reference = reference,
  };
}

} // namespace ditron::kernels
