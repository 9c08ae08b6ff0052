// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/Communication.h"
#include "ditron/heuristics/Extents.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace ditron::heuristics {

static ChunkShape chunkOf(int64_t elements, int64_t rows, int64_t columns) {
  int64_t width = fit(columns, elements);
  return {fit(rows, elements / width), width};
}

ChunkShape movedChunk(int64_t rows, int64_t columns, DType type) {
  return chunkOf(kMovedBytes / static_cast<int64_t>(byteSize(type)), rows, columns);
}

constexpr int64_t kSummedElements = 8192;

ChunkShape summedChunk(int64_t rows, int64_t columns) {
  return chunkOf(kSummedElements, rows, columns);
}

int64_t summedRows(int64_t rows, int64_t columns) {
  int64_t most = std::clamp<int64_t>(kSummedElements / columns, 1, rows);
  while (rows % most)
    --most;
  return most;
}

ChunkShape spreadChunk(int64_t rows, int64_t columns, int64_t cores, int64_t most) {
  constexpr int64_t kFewest = 2048;
  auto share = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(rows * columns / std::max<int64_t>(1, cores))));
  return chunkOf(std::clamp(share, kFewest, most), rows, columns);
}

/// Cores that fill the link to another rank: about half of a GPU's.
static int64_t fillingCores(int64_t cores) { return cores / 2 / 8 * 8; }

Forwarding chooseForwarding(int64_t rows, int64_t columns, int64_t cores, DType type) {
  constexpr int64_t kOfSender = 2, kMany = 8;
  int64_t senders = fillingCores(cores), most = kMovedBytes / static_cast<int64_t>(byteSize(type));
  if (senders == 0)
    return {spreadChunk(rows, columns, kOfSender * cores, most), {}};
  ChunkShape chunk = spreadChunk(rows, columns, kOfSender * senders, most);
  int64_t chunks = tilesOf(rows, chunk.rows) * tilesOf(columns, chunk.columns);
  auto batch =
      std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(chunks / (kMany * senders), 1, 4)));
  return {chunk, {.cores = senders, .batch = static_cast<int64_t>(batch)}};
}

constexpr double kMostChunks = 16;
/// Of a launch whose copy engines send one shard, and of each chunk more, in copies' latencies.
constexpr double kCopyLaunch = 3, kCopyChunk = 1;
/// Of a launch that puts, notifies and waits, to its end, for one rank and for several, and of one in inboxes, in trips
/// over the link.
constexpr double kPutLaunch = 10, kPutSeveral = 8, kInboxLaunch = 3.3;
/// The bytes that travel for one of data where each access has a flag.
constexpr double kFlagged = 1.6;
/// Of a launch whose copy engines send several shards, for each but the first, in copies' latencies; and of
/// the link, what cores reach that do. As four H200s did.
constexpr double kCopyShard = 3, kOfSeveral = 0.9;
/// Of their bandwidth, what copy engines reach between two ranks whose cores work on what arrives. Two H200s took 419 us for
/// 128 MB each way, which copies alone take 344 us for.
constexpr double kOfEngines = 0.92;

TransferChoice chooseTransfer(const Traffic &traffic, const Calibration &calibration) {
  int64_t peers = traffic.ranks - 1;
  if (peers < 1)
    return {};
  double behind = double(traffic.behind) / calibration.memoryBandwidth;
  // Of a second exchange the first shard is sent as it comes, too.
  double between = kCopyChunk * calibration.copyLatency * double(2 * traffic.shots - 1);
  double chunks = std::clamp(std::round(std::sqrt(behind / between)), 1.0, kMostChunks);
  double sent = double(traffic.sent);
  double byCores = double(std::max(traffic.sent, traffic.byCores)) / calibration.coreCopyBandwidth;
  double copies = kCopyLaunch + double(traffic.shots * peers - 1) * kCopyShard;
  double ofEngines = peers > 1 ? 1 : kOfEngines;
  double engines = copies * calibration.copyLatency + (chunks - 1) * between +
                   sent / (ofEngines * calibration.copyBandwidth) + behind / chunks;
  double cores = peers > 1 ? double(traffic.shots) * kPutSeveral * calibration.signalLatency +
                                 byCores / kOfSeveral
                           : kPutLaunch * calibration.signalLatency + byCores;
  double flagged =
      double(traffic.shots) * kInboxLaunch * calibration.signalLatency + byCores * kFlagged;
  bool byEngines = engines < cores && !traffic.needsCores;
  if (flagged <= (byEngines ? engines : cores))
    return {false, true, static_cast<int64_t>(chunks)};
  return {byEngines, false, static_cast<int64_t>(chunks)};
}

Senders chooseSenders(int64_t chunks, int64_t cores, int64_t ranks) {
  if (ranks > 2) {
    bool isMore = chunks > cores, isMany = chunks > 2 * cores;
    return {.batch = isMore && !isMany ? 2 : 1, .stagger = isMore, .inHalves = isMany};
  }
  int64_t half = fillingCores(cores), fewer = half * 3 / 4;
  if (half == 0 || chunks < 4 * half)
    return {};
  // Few take longer for a put, and each of many bytes is worth its wait for the link.
  return chunks < 16 * half ? Senders{half, 2} : Senders{fewer, 4};
}

bool takesParts(int64_t bytes, int64_t ranks, const Calibration &calibration) {
  if (ranks < 3)
    return false;
  auto others = double(ranks - 1);
  double fewer = others - 1 - (others - 1) / others; // times the bytes: a link at a time, then all
  double exchange = 2 * calibration.signalLatency;   // receive, send
  return kFlagged * double(bytes) * fewer > exchange * calibration.coreCopyBandwidth;
}

bool takesTwoShots(int64_t bytes, int64_t ranks, const DeviceTraits &target,
                   const Calibration &calibration) {
  if (!target.isGpu())
    return bytes >= 256 * 1024;
  double more = double(ranks - 1) - 2 * double(ranks - 1) / double(ranks); // times the bytes
  double exchange = 3 * calibration.signalLatency;                         // put, notify, wait
  return double(bytes) * more > exchange * calibration.coreCopyBandwidth;
}

int64_t communicatingCores(int64_t cores, const DeviceTraits &target) {
  if (target.isGpu())
    return 16;
  return cores >= 4 ? 1 : 0;
}

} // namespace ditron::heuristics
