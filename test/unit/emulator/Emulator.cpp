// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator.h"
#include "Block.h"

namespace ditron::emulator {

static bool isEnded(const Cluster &cluster) {
  return std::all_of(cluster.blocks.begin(), cluster.blocks.end(),
                     [](auto &block) { return block->isDone(); });
}

static void finish(Cluster &cluster) {
  for (auto &block : cluster.blocks)
    block->finish();
}

static std::unique_ptr<Cluster> clusterOf(const Program &program, const Launch &launch, int first) {
  auto cluster = std::make_unique<Cluster>(
      Cluster{std::mt19937_64(launch.seed + static_cast<uint64_t>(first)), {}});
  for (int cta = 0; cta < launch.cluster; ++cta)
    cluster->blocks.push_back(std::make_unique<Block>(program, launch, first + cta, *cluster));
  return cluster;
}

void execute(const std::string &ptx, const Launch &launch) {
  Program program = parse(ptx);
  for (int first = 0; first < launch.blocks; first += launch.cluster) {
    auto cluster = clusterOf(program, launch, first);
    while (!isEnded(*cluster))
      cluster->blocks[cluster->random() % cluster->blocks.size()]->advance();
    finish(*cluster);
  }
}

namespace {

/// The launches of one rank, one after the other.
struct Rank {
  const std::vector<Launch> &launches;
  size_t next = 0;
  std::vector<std::unique_ptr<Cluster>> clusters; ///< that have not ended

  bool isDone() const { return clusters.empty() && next == launches.size(); }

  void begin(const Program &program) {
    const Launch &launch = launches.at(next++);
    for (int first = 0; first < launch.blocks; first += launch.cluster)
      clusters.push_back(clusterOf(program, launch, first));
  }

  /// Some block executes some instructions.
  void advance(std::mt19937_64 &random) {
    auto cluster = clusters.begin() + static_cast<int64_t>(random() % clusters.size());
    Block &block = *(*cluster)->blocks[random() % (*cluster)->blocks.size()];
    for (uint64_t turns = 1 + random() % 16; turns > 0 && !block.isDone(); --turns)
      block.advance();
    if (!isEnded(**cluster))
      return;
    finish(**cluster);
    clusters.erase(cluster);
  }
};

} // namespace

void executeTogether(const std::string &ptx, const std::vector<std::vector<Launch>> &launches,
                     uint64_t tick, const Meanwhile &meanwhile) {
  Program program = parse(ptx);
  std::mt19937_64 random(launches.at(0).at(0).seed); // rank 0 launches
  Block::tick = tick;
  std::vector<Rank> ranks;
  for (const std::vector<Launch> &own : launches)
    ranks.push_back({own, 0, {}});
  auto left = std::count_if(ranks.begin(), ranks.end(), [](auto &rank) { return !rank.isDone(); });
  while (left > 0) {
    Rank &rank = ranks[random() % ranks.size()];
    if (rank.isDone())
      continue;
    if (rank.clusters.empty()) {
      rank.begin(program);
      continue;
    }
    rank.advance(random);
    left -= rank.isDone();
    if (meanwhile)
      meanwhile();
  }
}

void executeAmongProcesses(const std::string &ptx, const Launch &launch,
                           const Meanwhile &meanwhile) {
  Block::peersAreProcesses = true;
  executeTogether(ptx, {{launch}}, 0, meanwhile);
}

} // namespace ditron::emulator
