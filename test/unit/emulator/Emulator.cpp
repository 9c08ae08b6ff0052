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

void executeTogether(const std::string &ptx, const std::vector<std::vector<Launch>> &launches,
                     uint64_t tick) {
  Program program = parse(ptx);
  std::mt19937_64 random(launches.at(0).at(0).seed); // rank 0 launches
  Block::tick = tick;
  struct Rank {
    size_t next = 0;
    std::vector<std::unique_ptr<Block>> blocks;
  };
  std::vector<Rank> ranks(launches.size());
  auto begin = [&](size_t rank) {
    const Launch &launch = launches[rank].at(ranks[rank].next++);
    for (int block = 0; block < launch.blocks; ++block)
      ranks[rank].blocks.push_back(std::make_unique<Block>(program, launch, block));
  };
  auto left =
      std::count_if(launches.begin(), launches.end(), [](auto &own) { return !own.empty(); });
  while (left > 0) {
    size_t number = random() % ranks.size();
    Rank &rank = ranks[number];
    if (rank.blocks.empty() && rank.next == launches[number].size())
      continue;
    if (rank.blocks.empty()) {
      begin(number);
      continue;
    }
    auto block = rank.blocks.begin() + static_cast<int64_t>(random() % rank.blocks.size());
    for (uint64_t turns = 1 + random() % 16; turns > 0 && !(*block)->isDone(); --turns)
      (*block)->advance();
    if (!(*block)->isDone())
      continue;
    (*block)->finish();
    rank.blocks.erase(block);
    if (rank.blocks.empty() && rank.next == launches[number].size())
      --left;
  }
}

void executeAmongProcesses(const std::string &ptx, const Launch &launch) {
  Block::peersAreProcesses = true;
  executeTogether(ptx, {{launch}});
}

} // namespace ditron::emulator
