// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/functions/PackedWeights.h"
#include "ditron/support/Error.h"
#include <cmath>
#include <fmt/format.h>

namespace ditron::kernels {

using Bytes = View<i8, 2, Access::read>;

/// The scale or minimum of each weight, of tile (j, step).
static Tile spread(const View<f16, 2, Access::read> &view, int n, int blocks, Index j, Index step) {
  auto each = cast<f32>(view.tiled(n, blocks)(j, step));
  return reshape(broadcast(expand(each, 2), {n, blocks, kBlock}), {n, blocks * kBlock});
}

/// The low four bits of each byte of a block, and behind them the high ones.
static Tile nibbles(const Bytes &q, int n, int blocks, Index j, Index step) {
  constexpr int kBytes = kBlock / 2;
  auto bytes = q.split(1, q.cols() / kBytes).tiled(n, blocks, kBytes)(j, step, 0);
  std::vector<int64_t> halves{n, blocks, 2, kBytes};
  auto twice = cast<i32>(broadcast(expand(bytes, 2), halves));
  auto bits = (twice >> iota(halves, 2) * 4) & 15;
  return reshape(reshape(bits, {n, blocks, kBlock}), {n, blocks * kBlock});
}

Tile unpacked(const PackedViews &views, WeightFormat format, int n, int k, Index j, Index step) {
  int blocks = k / kBlock;
  auto scales = spread(views.scales, n, blocks, j, step);
  if (format == WeightFormat::q8_0)
    return cast<f32>(cast<i32>(views.q.tiled(n, k)(j, step))) * scales;
  return fma(cast<f32>(nibbles(views.q, n, blocks, j, step)), scales,
             spread(*views.minima, n, blocks, j, step));
}

/// By row of blocks, block and row in it.
static Tile scalesOf(const PackedBlocks &blocks, int n, int k, Index j, Index step) {
  int rows = n / kBlockRows, count = k / kBlock;
  Tile scales = blocks.scales.tiled(rows, count * kBlockRows)(j, step);
  return reshape(scales, {rows, count, kBlockRows});
}

Tile unpacked(const PackedBlocks &blocks, int n, int k, Index j, Index step) {
  auto q = cast<f32>(unblocked(blocks.q, n, k, j, step));
  Tile scales = transpose(scalesOf(blocks, n, k, j, step), {0, 2, 1});
  auto ofRows = cast<f32>(reshape(scales, {n, k / kBlock, 1}));
  return q * reshape(broadcast(ofRows, {n, k / kBlock, kBlock}), {n, k});
}

PackedTerms termsOf(const PackedBlocks &blocks, int n, int k, Index j, Index step) {
  int rows = n / kBlockRows, count = k / kBlock;
  Tile q = blocks.q.tiled(rows, count, kBlockRows, kBlock)(j, step, 0, 0);
  Tile scales = scalesOf(blocks, n, k, j, step);
  return {reshape(transpose(q, {1, 0, 2, 3}), {count, n, kBlock}),
          cast<f32>(reshape(transpose(scales, {1, 0, 2}), {count, 1, n}))};
}

std::string signatureOf(WeightFormat format, const std::string &name, int times) {
  bool isBlocked = isInBlocks(format);
  std::string rows = isBlocked ? "J" : "N";
  if (times != 1)
    rows = fmt::format("{}*{}", times, rows);
  if (format == WeightFormat::plain)
    return fmt::format("{}[{},K], -, -", name, rows);
  if (isBlocked)
    return fmt::format("{}[{},G,{},{}], {}, -", name, rows, kBlockRows, kBlock,
                       isPacked(format) ? fmt::format("scales[{},{}*G]", rows, kBlockRows) : "-");
  std::string blocks = fmt::format("[{},G]", rows);
  if (format == WeightFormat::q8_0)
    return fmt::format("{}[{},{}*G], scales{}, -", name, rows, kBlock, blocks);
  return fmt::format("{}[{},{}*G], scales{}, minima{}", name, rows, kBlock / 2, blocks, blocks);
}

std::string rowsText(WeightFormat format) {
  return isInBlocks(format) ? fmt::format("{}*J", kBlockRows) : "N";
}

std::string depthText(WeightFormat format) {
  return format == WeightFormat::plain ? "K" : fmt::format("{}*G", kBlock);
}

int64_t rowsOf(const Problem &problem, WeightFormat format) {
  return isInBlocks(format) ? kBlockRows * problem["J"] : problem["N"];
}

int64_t depthOf(const Problem &problem, WeightFormat format) {
  return format == WeightFormat::plain ? problem["K"] : kBlock * problem["G"];
}

double weightAt(const Inputs &inputs, WeightFormat format, int64_t rank, size_t argument, int64_t n,
                int64_t k) {
  if (format == WeightFormat::plain)
    return inputs.at(rank, argument, n, k);
  int64_t block = k / kBlock, place = k % kBlock;
  if (isInBlocks(format)) {
    int64_t j = n / kBlockRows, row = n % kBlockRows, blocks = inputs.shape(argument)[1];
    double value = inputs.at(rank, argument, (j * blocks + block) * kBlockRows + row, place);
    return isPacked(format) ? value * inputs.at(rank, argument + 1, j, block * kBlockRows + row)
                            : value;
  }
  double scale = inputs.at(rank, argument + 1, n, block);
  if (format == WeightFormat::q8_0)
    return inputs.at(rank, argument, n, k) * scale;
  constexpr int64_t kHalf = kBlock / 2;
  auto byte = static_cast<int64_t>(inputs.at(rank, argument, n, block * kHalf + place % kHalf));
  auto bits = static_cast<double>(place < kHalf ? byte & 15 : byte >> 4 & 15);
  return bits * scale + inputs.at(rank, argument + 2, n, block);
}

double packedInput(const Inputs &inputs, int64_t rank, size_t argument, int64_t element) {
  return std::floor(inputs.uniform(rank, argument, element) * 256) - 128;
}

void checkBlocks(WeightFormat format, int n, int k, const char *kernel) {
  if (isInBlocks(format) && (n % kBlockRows || k % kBlock))
    throw CompileError(
        fmt::format("{}: a tile is of {} rows by {} terms of W, expected multiples of {} and {}",
                    kernel, n, k, kBlockRows, kBlock));
  if (isPacked(format) && k % kBlock)
    throw CompileError(fmt::format("{}: a step is of {} weights, expected a multiple of {}, which "
                                   "share a scale",
                                   kernel, k, kBlock));
}

} // namespace ditron::kernels
