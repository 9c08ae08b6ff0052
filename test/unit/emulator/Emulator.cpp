// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator.h"
#include "Block.h"

namespace ditron::emulator {

static void run(Cluster &cluster) {
  auto isDone = [](auto &block) { return block->isDone(); };
  while (!std::all_of(cluster.blocks.begin(), cluster.blocks.end(), isDone))
    cluster.blocks[cluster.random() % cluster.blocks.size()]->advance();
  for (auto &block : cluster.blocks)
    block->finish();
}

void execute(const std::string &ptx, const Launch &launch) {
  Program program = parse(ptx);
  for (int first = 0; first < launch.blocks; first += launch.cluster) {
    Cluster cluster{std::mt19937_64(launch.seed + static_cast<uint64_t>(first)), {}};
    for (int cta = 0; cta < launch.cluster; ++cta)
      cluster.blocks.push_back(std::make_unique<Block>(program, launch, first + cta, cluster));
    run(cluster);
  }
}

namespace {

/// The launches of one rank, one after the other.
struct Rank {
  const std::vector<Launch> &launches;
  size_t next = 0;
  std::vector<std::unique_ptr<Block>> blocks; ///< that have not ended

  bool isDone() const { return blocks.empty() && next == launches.size(); }

  void begin(const Program &program) {
    const Launch &launch = launches.at(next++);
    for (int block = 0; block < launch.blocks; ++block)
      blocks.push_back(std::make_unique<Block>(program, launch, block));
  }

  /// Some block executes some instructions.
  void advance(std::mt19937_64 &random) {
    auto block = blocks.begin() + static_cast<int64_t>(random() % blocks.size());
    for (uint64_t turns = 1 + random() % 16; turns > 0 && !(*block)->isDone(); --turns)
      (*block)->advance();
    if (!(*block)->isDone())
      return;
    (*block)->finish();
    blocks.erase(block);
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
    if (rank.blocks.empty()) {
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
