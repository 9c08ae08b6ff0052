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
  constexpr int64_t kBytes = 65536;
  return chunkOf(kBytes / static_cast<int64_t>(byteSize(type)), rows, columns);
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

/// Seconds between copies of one stream, with the signal behind each.
constexpr double kBetweenCopies = 2e-6;
/// Of the bandwidth of cores, what kernels reach that also wait and notify.
constexpr double kOfCores = 0.6;
constexpr double kMostChunks = 16;
/// Trips over the link, or as long, of data that is put, notified and waited for, to the end of the
/// launch.
constexpr double kTrips = 4;
/// Of the bandwidth of cores, what data has where each access carries a flag: 2 bytes of 3.
constexpr double kOfFlagged = 0.63;

TransferChoice chooseTransfer(const Traffic &traffic, const Calibration &calibration) {
  int64_t peers = traffic.ranks - 1;
  if (peers < 1)
    return {};
  double local = double(traffic.local) / calibration.memoryBandwidth;
  double between = kBetweenCopies * double(peers);
  double chunks = std::clamp(std::round(std::sqrt(local / between)), 1.0, kMostChunks);
  double sent = double(traffic.sent);
  double engines = 2 * calibration.copyLatency + (chunks - 1) * between +
                   sent / calibration.copyBandwidth + local / chunks;
  double ofCores = kOfCores * calibration.coreCopyBandwidth;
  double cores = kTrips * calibration.signalLatency + sent / ofCores;
  double flagged = calibration.signalLatency + sent / (kOfFlagged * calibration.coreCopyBandwidth);
  if (flagged <= std::min(cores, engines))
    return {false, true, static_cast<int64_t>(chunks)};
  return {engines < cores, false, static_cast<int64_t>(chunks)};
}

bool takesTwoShots(int64_t bytes, int64_t ranks, const DeviceTraits &target,
                   const Calibration &calibration) {
  if (!target.isGpu())
    return bytes >= 256 * 1024;
  double more = double(ranks - 1) - 2 * double(ranks - 1) / double(ranks); // times the bytes
  double exchange = 3 * calibration.signalLatency;                         // put, notify, wait
  return double(bytes) * more > exchange * kOfCores * calibration.coreCopyBandwidth;
}

int64_t communicatingCores(int64_t cores, const DeviceTraits &target) {
  if (target.isGpu())
    return 16;
  return cores >= 4 ? 1 : 0;
}

} // namespace ditron::heuristics
