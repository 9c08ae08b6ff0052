// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs of several ranks: exchanges of tiles, put together by a seed. In each all ranks have sums of what the
// others had, in ways that the seed draws: tiles that are put, with a signal each or a counter for all, by a role, round a
// ring, or all at once; inboxes, tiles that are fetched behind a barrier, and copy engines. Values are integers small
// enough that every sum is exact. Launches follow one another, so signals and buffers are used again. DITRON_TEST_PROGRAMS and DITRON_TEST_SEED as in RandomTest.cpp.
#include "Differential.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include <gtest/gtest.h>

namespace ditron::differential {
namespace {

/// The exchanges of one kernel, traced as they are drawn.
template <class T> class Exchanges {
public:
  Exchanges(uint64_t seed, int rows, int columns) : random_(seed), a_(rows), b_(columns) {}

  void kernel(const In<T> &x, const Out<T> &o) {
    M_ = x.rows(), N_ = x.cols();
    auto xs = x.tiled(a_, b_);
    auto from = std::function([xs](Index i, Index j) { return Tile(xs(i, j)); });
    for (int left = 1 + draw(3); left > 0; --left)
      from = exchanged(from);
    auto os = o.tiled(a_, b_);
    for (auto [i, j] : os.tiles())
      os(i, j) = from(i, j);
  }

private:
  using Source = std::function<Tile(Index i, Index j)>;

  /// A name of this exchange's own.
  std::string named(const char *name) const { return name + std::to_string(number_); }
  int draw(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  Ring way() { return draw(2) ? Ring::next : Ring::previous; }
  static Tile bounded(const Tile &tile) { return minimum(maximum(tile, -8), 7); }

  /// What a rank makes of a tile before others have it.
  Tile changed(const Tile &tile) {
    switch (draw(4)) {
    case 0:
      return bounded(add(mul(tile, 2), cast(kDType<T>, toTile(rank()))));
    case 1:
      return bounded(sub(cumsum(tile, 1), 1));
    case 2:
      return bounded(add(max(tile, 0), tile));
    default:
      return tile;
    }
  }

  /// Sums of what the ranks have, in memory of this one.
  Source exchanged(const Source &from) {
    ++number_;
    auto result = symmetric<T>({M_, N_}, named("sums").c_str());
    auto sums = result.tiled(a_, b_);
    switch (draw(8)) {
    case 0:
      putTiles(from, sums);
      break;
    case 1:
      putAndCount(from, sums);
      break;
    case 2:
      sendTiles(from, sums);
      break;
    case 3:
      getTiles(from, sums);
      break;
    case 4:
      putByRole(from, sums);
      break;
    case 5:
      passRound(from, sums);
      break;
    case 6:
      putWhole(from, sums);
      break;
    default:
      copyShards(from, sums);
      break;
    }
    return [sums](Index i, Index j) { return Tile(sums(i, j)); };
  }

  /// Adds up all tiles: own(i, j), and what came of each peer, for which part(peer, i, j) waits.
  void addAll(const auto &sums, const auto &own, const auto &part) {
    int factor = 1 + draw(2);
    Ring from = way();
    for (auto [i, j] : sums.tiles()) {
      Var total = own(i, j);
      for (auto peer : peers(from))
        total = bounded(add(total, mul(part(peer, i, j), factor)));
      sums(i, j) = total;
    }
  }
  static auto tilesOf(const auto &tiles) {
    return [tiles](Index i, Index j) { return Tile(tiles(i, j)); };
  }

  /// This rank's tiles, in memory that others may read, and room for those of all ranks.
  auto buffers() {
    auto stage = symmetric<T>({M_, N_}, named("staged").c_str());
    auto room = symmetric<T>({numRanks(), M_, N_}, named("slots").c_str());
    return std::tuple(stage, stage.tiled(a_, b_), room, room.tiled(a_, b_));
  }

  void putTiles(const Source &from, const auto &sums) {
    auto [stage, mine, room, parts] = buffers();
    auto arrived = signals({numRanks(), mine.rows(), mine.cols()}, named("arrived").c_str());
    Ring to = way();
    for (auto [i, j] : mine.tiles()) {
      mine(i, j) = changed(from(i, j));
      for (auto peer : peers(to)) {
        put(mine(i, j), room.on(peer).tiled(a_, b_)(rank(), i, j));
        notify(arrived.on(peer)(rank(), i, j));
      }
    }
    addAll(sums, tilesOf(mine), [&](Index peer, Index i, Index j) {
      wait(arrived(peer, i, j), 1);
      return Tile(parts(peer, i, j));
    });
  }

  void putAndCount(const Source &from, const auto &sums) {
    auto [stage, mine, room, parts] = buffers();
    auto arrived = signals(numRanks(), named("arrived").c_str());
    for (auto [i, j] : mine.tiles()) {
      mine(i, j) = changed(from(i, j));
      for (auto peer : peers()) {
        put(mine(i, j), room.on(peer).tiled(a_, b_)(rank(), i, j));
        notify(arrived.on(peer)(rank()));
      }
    }
    addAll(sums, tilesOf(mine), [&](Index peer, Index i, Index j) {
      wait(arrived(peer), mine.rows() * mine.cols());
      return Tile(parts(peer, i, j));
    });
  }

  void sendTiles(const Source &from, const auto &sums) {
    auto mine = symmetric<T>({M_, N_}, named("staged").c_str()).tiled(a_, b_);
    auto box = inbox<T>({numRanks(), mine.rows(), mine.cols()}, {a_, b_}, named("box").c_str());
    for (auto [i, j] : mine.tiles()) {
      Tile tile = changed(from(i, j));
      kernels::sendToPeers(tile, box, i, j);
      mine(i, j) = tile;
    }
    addAll(sums, tilesOf(mine),
           [&](Index peer, Index i, Index j) { return receive(box(peer, i, j)); });
  }

  void getTiles(const Source &from, const auto &sums) {
    auto [stage, mine, room, parts] = buffers();
    for (auto [i, j] : mine.tiles())
      mine(i, j) = changed(from(i, j));
    barrierAll();
    addAll(sums, tilesOf(mine), [&](Index peer, Index i, Index j) {
      get(stage.on(peer).tiled(a_, b_)(i, j), parts(peer, i, j));
      return Tile(parts(peer, i, j));
    });
  }

  /// A core sends what others make. Tiles go to other cores than they came from, so all meet.
  void putByRole(const Source &from, const auto &sums) {
    auto [stage, mine, room, parts] = buffers();
    auto made = signals({mine.rows(), mine.cols()}, named("made").c_str());
    auto arrived = signals({numRanks(), mine.rows(), mine.cols()}, named("arrived").c_str());
    barrier();
    auto [sender, makers] = splitCores(1);
    makers.run(named("make").c_str(), [&] {
      for (auto [i, j] : mine.tiles()) {
        mine(i, j) = changed(from(i, j));
        notify(made(i, j));
      }
    });
    sender.run(named("send").c_str(), [&] {
      for (auto [i, j] : mine.tiles()) {
        wait(made(i, j), 1);
        for (auto peer : peers()) {
          put(mine(i, j), room.on(peer).tiled(a_, b_)(rank(), i, j));
          notify(arrived.on(peer)(rank(), i, j));
        }
      }
    });
    auto own = [&](Index i, Index j) {
      wait(made(i, j), 1);
      return Tile(mine(i, j));
    };
    addAll(sums, own, [&](Index peer, Index i, Index j) {
      wait(arrived(peer, i, j), 1);
      return Tile(parts(peer, i, j));
    });
  }

  /// Tiles go round the ring of ranks: each rank sends on what came, from where it came to.
  void passRound(const Source &from, const auto &sums) {
    auto room = symmetric<T>({numRanks(), M_, N_}, named("slots").c_str());
    auto parts = room.tiled(a_, b_);
    auto tiles = room.at(0).tiled(a_, b_);
    auto arrived = signals({numRanks(), tiles.rows(), tiles.cols()}, named("arrived").c_str());
    Index next = (rank() + 1) % numRanks();
    for (auto [i, j] : tiles.tiles()) {
      parts(rank(), i, j) = changed(from(i, j));
      for (auto step : range(numRanks() - 1)) {
        Index whose = (rank() + numRanks() - step) % numRanks();
        when(step > 0, [&] { wait(arrived(whose, i, j), 1); });
        put(parts(whose, i, j), room.on(next).tiled(a_, b_)(whose, i, j));
        notify(arrived.on(next)(whose, i, j));
      }
    }
    addAll(
        sums, [&](Index i, Index j) { return Tile(parts(rank(), i, j)); },
        [&](Index peer, Index i, Index j) {
          wait(arrived(peer, i, j), 1);
          return Tile(parts(peer, i, j));
        });
  }

  /// One core sends all that a rank has.
  void putWhole(const Source &from, const auto &sums) {
    auto [stage, mine, room, parts] = buffers();
    auto arrived = signals(numRanks(), named("arrived").c_str());
    for (auto [i, j] : mine.tiles())
      mine(i, j) = changed(from(i, j));
    barrier();
    when(coreId() == 0, [&] {
      for (auto peer : peers(way())) {
        put(stage, room.on(peer).at(rank()));
        notifySet(arrived.on(peer)(rank()), 1);
      }
    });
    addAll(sums, tilesOf(mine), [&](Index peer, Index i, Index j) {
      wait(arrived(peer), 1);
      return Tile(parts(peer, i, j));
    });
  }

  void copyShards(const Source &from, const auto &sums) {
    auto [stage, mine, room, parts] = buffers();
    auto ready = signals(1, named("ready").c_str()),
         arrived = signals(numRanks(), named("arrived").c_str());
    Ring to = way();
    copyEngines().run(named("copies").c_str(), [&] {
      wait(ready(0), mine.rows() * mine.cols());
      for (auto peer : peers(to)) {
        put(stage, room.on(peer).at(rank()));
        notify(arrived.on(peer)(rank()));
      }
    });
    for (auto [i, j] : mine.tiles()) {
      mine(i, j) = changed(from(i, j));
      notify(ready(0));
    }
    addAll(sums, tilesOf(mine), [&](Index peer, Index i, Index j) {
      wait(arrived(peer), 1);
      return Tile(parts(peer, i, j));
    });
  }

  std::mt19937_64 random_;
  int a_, b_, number_ = 0;
  Index M_ = 0, N_ = 0;
};

struct Sizes {
  int ranks, cores;
  int64_t M, N;
};

int64_t inputOf(int64_t rank, int64_t n) { return (n * 5 + rank * 3 + 2) % 13 - 6; }

/// What each rank has of each of some launches that follow one another: element by element.
using Results = std::vector<std::vector<double>>;

template <class T>
std::vector<double> launchAll(Context &ctx, const Kernel &kernel, const Sizes &sizes) {
  constexpr int kLaunches = 3;
  Tensor host = Tensor::own(kDType<T>, {sizes.M, sizes.N});
  for (int64_t n = 0; n < host.elements(); ++n)
    host.set({n / sizes.N, n % sizes.N}, double(inputOf(ctx.rank(), n)));
  Tensor x = ctx.tensorFrom(host);
  std::vector<Tensor> results;
  Program program = ctx.compile(kernel);
  for (int launch = 0; launch < kLaunches; ++launch) {
    results.push_back(ctx.tensor(kDType<T>, {sizes.M, sizes.N}));
    program(x, results.back());
  }
  ctx.sync();
  std::vector<double> all;
  for (const Tensor &result : results) {
    Tensor found = result.toHost();
    for (int64_t n = 0; n < found.elements(); ++n)
      all.push_back(found.at({n / sizes.N, n % sizes.N}));
  }
  return all;
}

/// On a backend; on that of DITRON_BACKEND without a name.
template <class T>
Results run(const Kernel &kernel, const Sizes &sizes, const std::string &backend = "") {
  Options options;
  options.ranks = sizes.ranks;
  options.cores = sizes.cores;
  if (!backend.empty())
    options.backend = backend;
  Results results(static_cast<size_t>(sizes.ranks));
  runRanks(options, [&](Context &ctx) {
    results[static_cast<size_t>(ctx.rank())] = launchAll<T>(ctx, kernel, sizes);
  });
  return results;
}

template <class T> class RandomRanks : public testing::Test {};
using RanksTypes = testing::Types<i32, f32, bf16>;
TYPED_TEST_SUITE(RandomRanks, RanksTypes);

TYPED_TEST(RandomRanks, sameAsInterpreted) {
  Programs programs = randomPrograms(12);
  for (uint64_t seed = programs.first; seed < programs.end; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed * 77 + 1);
    auto draw = [&](int64_t from, int64_t to) {
      return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
    };
    int rows = static_cast<int>(draw(1, 6)), columns = static_cast<int>(draw(1, 24));
    Exchanges<TypeParam> exchanges(seed, rows, columns);
    Kernel kernel("exchange(x[M,N]) -> o[M,N]",
                  [&](In<TypeParam> x, Out<TypeParam> o) { exchanges.kernel(x, o); });
    Sizes sizes{static_cast<int>(draw(1, 4)), static_cast<int>(draw(1, 3)), draw(1, 3 * rows),
                draw(1, 3 * columns)};
    EXPECT_EQ(run<TypeParam>(kernel, sizes), run<TypeParam>(kernel, sizes, "reference"));
    if (testing::Test::HasFailure()) {
      std::printf("%d ranks x %d cores\n%s\n", sizes.ranks, sizes.cores, kernel.ir().c_str());
      return;
    }
  }
}

} // namespace
} // namespace ditron::differential
