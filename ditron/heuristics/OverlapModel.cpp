// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/OverlapModel.h"
#include "ditron/heuristics/Communication.h"
#include "ditron/heuristics/Extents.h"
#include <algorithm>
#include <vector>

namespace ditron::heuristics {

namespace {

/// Rows that are gathered, as many shards as ranks and each cut into chunks: the last shards, and the
/// last chunks of a shard, have fewer rows or none.
struct Shards {
  int64_t rows, shard, chunk;

  Shards(const OverlapProblem &p, int64_t chunks)
      : rows(p.rows), shard(tilesOf(p.rows, p.ranks)),
        chunk(tilesOf(tilesOf(shard, p.tileM), chunks) * p.tileM) {}

  int64_t chunks() const { return tilesOf(shard, chunk); }
  /// Rows of a full shard's chunk. Ranks differ in the last shard alone; the longest one counts.
  int64_t rowsOf(int64_t c) const { return std::min(chunk, shard - c * chunk); }
};

/// The tiles of the sums that one rank has, in chunks, the first of which may be smaller.
class Part {
public:
  Part(const OverlapProblem &p, const OverlapChoice &choice)
      : tiles_(tilesOf(tilesOf(p.rows, p.ranks), p.tileM) * tilesOf(p.N, p.tileN)) {
    if (choice.rounds == 2) {
      int64_t upper = tilesOf(tilesOf(p.rows, p.ranks), p.tileM) / 2 * tilesOf(p.N, p.tileN);
      size_ = tiles_ - upper, last_ = upper > 0, missing_ = (size_ - upper) % tiles_;
      return;
    }
    int64_t left = tilesOf(tiles_, choice.chunks);
    if (choice.wave > 0 && choice.chunks > 1)
      left = std::min(tiles_, (p.ranks * tiles_ - 1) % choice.wave + 1);
    int64_t others = tiles_ - left;
    size_ = std::max(tilesOf(others, std::max<int64_t>(choice.chunks - 1, 1)), left);
    last_ = tilesOf(others, size_);
    missing_ = last_ * size_ - others;
  }

  int64_t tiles() const { return tiles_; }
  int64_t chunks() const { return last_ + 1; }
  int64_t tilesOfChunk(int64_t c) const {
    int64_t end = (c + 1) * size_ - missing_;
    return std::min(tiles_, end) - std::max<int64_t>(0, c * size_ - missing_);
  }

private:
  int64_t tiles_, size_, last_, missing_;
};

/// The cores that multiply, which take tiles as the kernel deals them: core n of P has tiles n,
/// n + P, ...
class Cores {
public:
  Cores(int64_t count, double tileSeconds)
      : free_(size_t(std::max<int64_t>(count, 1)), 0.0), tile_(tileSeconds) {}

  /// The next tile begins at `ready` at the earliest; when it is done.
  double run(double ready) {
    double &core = free_[next_++ % free_.size()];
    return core = std::max(core, ready) + tile_;
  }
  /// The same of a tile that is done at `parts` at the earliest.
  double runUntil(double parts) {
    double &core = free_[next_++ % free_.size()];
    return core = std::max(core + tile_, parts);
  }
  double end() const { return *std::max_element(free_.begin(), free_.end()); }

private:
  std::vector<double> free_; ///< when each is done
  double tile_;
  size_t next_ = 0;
};

/// What sends, one chunk after another.
class Link {
public:
  Link(const OverlapProblem &p, const OverlapChoice &choice, const Calibration &c) {
    bool isCopy = choice.engine == OverlapChoice::Engine::copy;
    latency_ = isCopy ? copySeconds(p, c) : c.signalLatency;
    signal_ = c.signalLatency;
    auto cores = double(std::max<int64_t>(choice.commCores, 1));
    if (choice.engine == OverlapChoice::Engine::tiles)
      bandwidth_ = c.coreCopyBandwidth;
    else
      bandwidth_ =
          isCopy ? c.copyBandwidth : std::min(c.coreCopyBandwidth, cores * bandwidthOfCore(p, c));
  }
  /// When bytes that are ready at `ready` have arrived.
  double send(double ready, double bytes) {
    free_ = std::max(free_, ready) + latency_ + bytes / bandwidth_;
    return last_ = free_ + signal_;
  }
  /// The same of a tile, which others follow at once.
  double sendTile(double ready, double bytes) {
    free_ = std::max(free_, ready) + bytes / bandwidth_;
    return last_ = free_ + kRelease * signal_;
  }
  double last() const { return last_; }

private:
  /// Of a chunk, beside its bytes. Of sums for several ranks, each of which waits for its tiles, that is longer: as
  /// four H200s took it.
  static double copySeconds(const OverlapProblem &p, const Calibration &c) {
    constexpr double kOfSeveral = 2;
    bool isLonger = p.ranks > 2 && p.exchange != Exchange::gather;
    return isLonger ? kOfSeveral * c.copyLatency : c.copyLatency;
  }
  /// What a core sends in a second: behind each put it waits until that has arrived.
  static double bandwidthOfCore(const OverlapProblem &p, const Calibration &c) {
    constexpr int64_t kRows = 8;
    int64_t row = p.exchange == Exchange::gather ? p.K * p.operandBytes : p.N * p.resultBytes;
    auto put = double(std::clamp<int64_t>(kRows * row, 1, kMovedBytes));
    return put / (2 * c.signalLatency + put / c.bandwidthOfCore);
  }

  /// What it takes from a tile's stores until another rank is told, in trips over the link.
  static constexpr double kRelease = 3;

  double latency_, signal_, bandwidth_, free_ = 0, last_ = 0;
};

/// How many tiles the busiest of the cores takes.
double waves(const OverlapProblem &p, int64_t cores) {
  int64_t tiles = tilesOf(p.rows, p.tileM) * tilesOf(p.N, p.tileN);
  return double(tilesOf(tiles, std::max<int64_t>(cores, 1)));
}

/// Of the product's operands and result over the memory, where B is read `readsOfB` times.
double memorySeconds(const OverlapProblem &p, const Calibration &c, int64_t readsOfB = 1) {
  double bytes = double(p.operandBytes) * double(p.K) * double(p.rows + readsOfB * p.N) +
                 double(p.resultBytes) * double(p.rows) * double(p.N);
  return bytes / c.memoryBandwidth;
}

/// Of a tile on one core.
double tileSeconds(const OverlapProblem &p, const Calibration &c) {
  double flops = 2.0 * double(p.tileM) * double(p.tileN) * double(p.K);
  double computed = flops / (c.flops / double(p.cores));
  // Tiles that memory bounds share its bandwidth, whatever number of them runs. The rows of each rank are
  // multiplied by themselves.
  int64_t reads = p.operandBytes * p.K * p.N > kKeptBytes ? p.ranks : 1;
  return std::max(computed, memorySeconds(p, c, reads) / waves(p, p.cores));
}

/// The same beside what the choice moves. Tiles that cores send to several ranks are in the way of a product's loads, those of
/// an all-reduce twice: as four H200s had it.
double tileSeconds(const OverlapProblem &p, const OverlapChoice &choice, const Calibration &c) {
  constexpr double kBesideTiles = 1.09, kBesideSums = 1.12;
  bool sendsTiles = choice.engine == OverlapChoice::Engine::tiles && p.ranks > 2;
  double longer = p.exchange == Exchange::allReduce ? kBesideSums : kBesideTiles;
  return (sendsTiles ? longer : 1) * tileSeconds(p, c);
}

/// Of the library's product, which takes tiles of its own: at the full rate.
double librarySeconds(const OverlapProblem &p, const Calibration &c) {
  double computed = 2.0 * double(p.rows) * double(p.N) * double(p.K) / c.flops;
  return std::max(computed, memorySeconds(p, c));
}

/// Replays the timelines; each function gives the time until all is done.
class Replay {
public:
  Replay(const OverlapProblem &p, const OverlapChoice &choice, const Calibration &c)
      : p_(p), rounds_(choice.rounds), shards_(p, choice.chunks), part_(p, choice),
        cores_(p.cores - (choice.engine == OverlapChoice::Engine::core ? choice.commCores : 0),
               tileSeconds(p, choice, c)),
        link_(p, choice, c) {}

  double gather() {
    multiplyShard([](int64_t) { return 0.0; });
    std::vector<double> arrived(size_t(shards_.chunks()));
    for (int64_t d = 1; d < p_.ranks; ++d) {
      for (int64_t c = 0; c < shards_.chunks(); ++c)
        arrived[size_t(c)] =
            link_.send(0, double(shards_.rowsOf(c)) * double(p_.K) * double(p_.operandBytes));
      multiplyShard([&](int64_t c) { return arrived[size_t(c)]; });
    }
    return cores_.end();
  }

  double scatter() {
    std::vector<double> parts(size_t(part_.chunks()), 0.0);
    for (int64_t d = 1; d < p_.ranks; ++d)
      for (int64_t c = 0; c < part_.chunks(); ++c)
        parts[size_t(c)] = sendPart(c);
    for (int64_t c = 0; c < part_.chunks(); ++c)
      sums_.push_back(sum(c, parts[size_t(c)]));
    return cores_.end();
  }

  double reduce() {
    double end = scatter();
    for (int64_t c = 0; c < part_.chunks(); ++c)
      end = std::max(end, sendSums(c, sums_[size_t(c)]));
    return end;
  }

  double reduceInHalves() {
    double end = 0;
    for (int64_t c = 0; c < part_.chunks(); ++c) {
      double parts = 0;
      for (int64_t d = 1; d < p_.ranks; ++d)
        parts = sendPart(c);
      end = std::max(end, sendSums(c, sum(c, parts)));
    }
    return std::max(end, cores_.end());
  }

  /// Tiles travel by themselves: to the rank that adds them, and of an all-reduce from there to all others.
  double addTiles() {
    double end = 0;
    std::vector<double> before;
    for (int64_t q = 0; q < rounds_; ++q) {
      std::vector<double> parts = sendTiles(q);
      if (isBehind())
        std::swap(parts, before);
      end = std::max(end, sumTiles(parts));
    }
    return std::max({end, sumTiles(before), cores_.end()});
  }

  double lastArrival() const { return link_.last(); }

private:
  /// Whether the own tiles of a round come behind the others' of the next one: see order others-ahead.
  bool isBehind() const { return rounds_ > 2; }
  /// When all that others add to the own tiles of a round has come, as all ranks compute it alike.
  std::vector<double> sendTiles(int64_t round) {
    std::vector<double> parts(size_t(tilesOfRound(round)), 0.0);
    for (int64_t d = 1; d < p_.ranks; ++d)
      for (double &part : parts)
        part = std::max(part, link_.sendTile(cores_.run(0), bytesOfTile()));
    return parts;
  }
  /// When the sums of own tiles are where they are to be.
  double sumTiles(const std::vector<double> &parts) {
    double end = 0;
    for (double part : parts) {
      double sum = cores_.runUntil(part);
      for (int64_t d = 1; d < p_.ranks && p_.exchange == Exchange::allReduce; ++d)
        end = std::max(end, link_.sendTile(sum, bytesOfTile()));
    }
    return end;
  }
  /// When a chunk of another rank's part, which is multiplied next, has arrived there.
  double sendPart(int64_t c) {
    return link_.send(multiply(part_.tilesOfChunk(c), 0), bytesOfChunk(c));
  }
  /// When the sums of a chunk of the own part are there, whose last parts arrive at `parts`.
  double sum(int64_t c, double parts) {
    double done = 0;
    for (int64_t n = part_.tilesOfChunk(c); n > 0; --n)
      done = std::max(done, cores_.runUntil(parts));
    return done;
  }
  /// When they have gone all the way along the ring.
  double sendSums(int64_t c, double sums) {
    for (int64_t d = 1; d < p_.ranks; ++d)
      sums = link_.send(sums, bytesOfChunk(c));
    return sums;
  }
  /// Of sums.
  double bytesOfChunk(int64_t c) const {
    auto rows = double(tilesOf(p_.rows, p_.ranks));
    double share = double(part_.tilesOfChunk(c)) / double(part_.tiles());
    return share * rows * double(p_.N) * double(p_.resultBytes);
  }
  int64_t tilesOfRound(int64_t q) const {
    int64_t rows = tilesOf(tilesOf(p_.rows, p_.ranks), p_.tileM), columns = tilesOf(p_.N, p_.tileN);
    int64_t cut = isBehind() ? columns : rows;
    return ((q + 1) * cut / rounds_ - q * cut / rounds_) * (isBehind() ? rows : columns);
  }
  double bytesOfTile() const {
    return double(std::min(p_.tileM, p_.rows) * std::min(p_.tileN, p_.N) * p_.resultBytes);
  }
  /// When the last one of `tiles` tiles is done.
  double multiply(int64_t tiles, double ready) {
    double done = 0;
    for (int64_t n = tiles; n > 0; --n)
      done = std::max(done, cores_.run(ready));
    return done;
  }
  /// The rows of a gathered shard; `ready` of a chunk is when it is there.
  template <class Ready> void multiplyShard(const Ready &ready) {
    for (int64_t c = 0; c < shards_.chunks(); ++c)
      multiply(tilesOf(shards_.rowsOf(c), p_.tileM) * tilesOf(p_.N, p_.tileN), ready(c));
  }

  const OverlapProblem &p_;
  int64_t rounds_;
  Shards shards_;
  Part part_;
  Cores cores_;
  Link link_;
  std::vector<double> sums_; ///< when the own chunks are done
};

/// Bytes that a rank receives.
double movedBytes(const OverlapProblem &p) {
  double others = double(p.ranks - 1) / double(p.ranks) * double(p.rows);
  if (p.exchange == Exchange::gather)
    return others * double(p.K) * double(p.operandBytes);
  double sums = others * double(p.N) * double(p.resultBytes);
  return p.exchange == Exchange::allReduce ? 2 * sums : sums;
}

} // namespace

/// Makes tiles larger where a replay of all would take long: of a million it matters little when one of
/// them is done.
static void makeReplayable(OverlapProblem &p, OverlapChoice &choice) {
  constexpr double kMostTiles = 1 << 20;
  auto rows = [&] { return tilesOf(p.rows, p.tileM); };
  auto columns = [&] { return tilesOf(p.N, p.tileN); };
  while (double(rows()) * double(columns()) > kMostTiles) {
    bool hasManyRows = tilesOf(tilesOf(p.rows, p.ranks), p.tileM) > columns();
    (hasManyRows ? p.tileM : p.tileN) *= 2;
    choice.wave = tilesOf(choice.wave, 2);
  }
}

Prediction predict(const OverlapProblem &problem, const OverlapChoice &chosen,
                   const Calibration &c) {
  OverlapProblem p = problem;
  OverlapChoice choice = chosen;
  makeReplayable(p, choice);
  Prediction result;
  double tile = tileSeconds(p, c);
  if (!choice.isOverlapped) {
    result.product = waves(p, p.cores) * tile;
    result.transfer = p.ranks > 1 ? c.collectiveLatency + movedBytes(p) / c.collectiveBandwidth : 0;
    result.seconds = result.product + result.transfer;
  } else {
    Replay replay(p, choice, c);
    result.seconds = p.exchange == Exchange::gather                  ? replay.gather()
                     : choice.engine == OverlapChoice::Engine::tiles ? replay.addTiles()
                     : p.exchange == Exchange::reduceScatter         ? replay.scatter()
                     : choice.rounds == 2                            ? replay.reduceInHalves()
                                                                     : replay.reduce();
    bool isCore = choice.engine == OverlapChoice::Engine::core;
    result.product = waves(p, p.cores - (isCore ? choice.commCores : 0)) * tile;
    result.transfer = replay.lastArrival();
  }
  result.stall = std::max(0.0, result.seconds - result.product);
  return result;
}

/// The one that takes least; of those within 1 % of it, the first of fewest chunks.
static OverlapChoice best(const OverlapProblem &p, const Calibration &c,
                          const std::vector<OverlapChoice> &choices) {
  constexpr double kAlike = 1.01;
  std::vector<double> seconds;
  for (const OverlapChoice &one : choices)
    seconds.push_back(predict(p, one, c).seconds);
  double least = *std::min_element(seconds.begin(), seconds.end());
  size_t best = 0;
  for (size_t n = 0; n < choices.size(); ++n) {
    bool isBetter = seconds[best] > kAlike * least || choices[n].chunks < choices[best].chunks;
    if (seconds[n] <= kAlike * least && isBetter)
      best = n;
  }
  return choices[best];
}

OverlapChoice chooseOverlapped(const OverlapProblem &p, const Calibration &c, bool hostCopies) {
  using Engine = OverlapChoice::Engine;
  std::vector<OverlapChoice> choices;
  int64_t most = std::clamp<int64_t>(tilesOf(tilesOf(p.rows, p.ranks), p.tileM), 1, 16);
  for (int64_t chunks = 1; chunks <= most; chunks *= 2) {
    if (hostCopies)
      choices.push_back({true, Engine::copy, chunks, 0});
    for (int64_t comm : {1, 8, 16})
      if (comm < std::max<int64_t>(p.cores, 2)) // one core does both in turn
        choices.push_back({true, Engine::core, chunks, comm});
  }
  return best(p, c, choices);
}

OverlapChoice chooseOverlap(const OverlapProblem &p, const Calibration &c, bool hostCopies) {
  return best(p, c, {{.isOverlapped = false}, chooseOverlapped(p, c, hostCopies)});
}

double limitOf(const OverlapProblem &p, const Calibration &c) {
  return std::max(librarySeconds(p, c),
                  movedBytes(p) / std::max(c.copyBandwidth, c.coreCopyBandwidth));
}

} // namespace ditron::heuristics
