// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/Fragments.h"
#include <algorithm>
#include <bit>

namespace ditron::nvidia {

using core::Iters;

std::pair<int64_t, int64_t> fragmentGrid(const Shape &shape, int64_t warps) {
  constexpr int64_t kRows = 16, kColumns = 16; // of a fragment, and of two
  return gpu::warpGrid(shape, {kRows, kColumns}, warps);
}

Layout accumulator(const Shape &shape, int64_t warps) {
  auto [rows, columns] = fragmentGrid(shape, warps);
  Iters replication;
  if (int64_t used = rows * columns; used < warps)
    replication.push_back({warps / used, used, Axis::warp});
  int64_t height = shape[0] / (16 * rows), width = shape[1] / (8 * columns);
  return Layout({{rows, columns, Axis::warp},
                 {height, 4 * width, Axis::reg},
                 {2, 2, Axis::reg},
                 {8, 4, Axis::lane},
                 {columns, 1, Axis::warp},
                 {width, 4, Axis::reg},
                 {4, 1, Axis::lane},
                 {2, 1, Axis::reg}},
                replication);
}

Layout warpgroupAccumulator(const Shape &shape, int64_t warps) {
  int64_t groups = warps / kWarpgroup, width = shape[1] / 8;
  return Layout({{groups, kWarpgroup, Axis::warp},
                 {shape[0] / (64 * groups), 4 * width, Axis::reg},
                 {kWarpgroup, 1, Axis::warp},
                 {2, 2, Axis::reg},
                 {8, 4, Axis::lane},
                 {width, 4, Axis::reg},
                 {4, 1, Axis::lane},
                 {2, 1, Axis::reg}});
}

Layout warpgroupOperand(const Shape &shape, int64_t warps) {
  int64_t groups = warps / kWarpgroup, width = shape[1] / 4;
  return Layout({{groups, kWarpgroup, Axis::warp},
                 {shape[0] / (64 * groups), 2 * width, Axis::reg},
                 {kWarpgroup, 1, Axis::warp},
                 {2, 1, Axis::reg},
                 {8, 4, Axis::lane},
                 {width, 2, Axis::reg},
                 {4, 1, Axis::lane}});
}

namespace {

/// Warps: slices are neighbours, then groups come.
core::Iter sliceOf(const SlicedShape &shape) { return {shape.slicingWarps(), 1, Axis::warp}; }
core::Iter groupOf(const SlicedShape &shape) {
  return {shape.groups, shape.slicingWarps(), Axis::warp};
}
/// Of all slices of a warp.
int64_t stepsOf(const SlicedShape &shape) { return shape.slicesOfWarp() * shape.steps(); }

} // namespace

Layout slicedWeights(const SlicedShape &shape) {
  int64_t steps = stepsOf(shape), blocks = shape.blocks();
  if (shape.isTransposed)
    return Layout({groupOf(shape),
                   {blocks, 32 * steps, Axis::reg},
                   {8, 4, Axis::lane},
                   {8, 1, Axis::reg},
                   sliceOf(shape),
                   {steps, 32, Axis::reg},
                   {4, 1, Axis::lane},
                   {4, 8, Axis::reg}});
  if (shape.isByWords())
    return Layout({groupOf(shape),
                   {blocks, 8 * steps, Axis::reg},
                   {8, 4, Axis::lane},
                   sliceOf(shape),
                   {steps, 8, Axis::reg},
                   {4, 1, Axis::lane},
                   {8, 1, Axis::reg}});
  return Layout({groupOf(shape),
                 {blocks, 16 * steps, Axis::reg},
                 {2, 8, Axis::reg},
                 {8, 4, Axis::lane},
                 sliceOf(shape),
                 {steps, 16, Axis::reg},
                 {4, 1, Axis::lane},
                 {8, 1, Axis::reg}});
}

Layout slicedFactor(const SlicedShape &shape) {
  int64_t run = shape.termsAtOnce() / 4; // of a lane
  int64_t columns = shape.isByWords() ? 2 : 1, rows = 8 / columns;
  Iters replication;
  if (shape.groups > 1)
    replication.push_back(groupOf(shape));
  if (shape.m < rows)
    replication.push_back({rows / shape.m, 4 * columns * shape.m, Axis::lane});
  if (columns > 1)
    replication.push_back({columns, 4, Axis::lane});
  return Layout({{shape.m, 4 * columns, Axis::lane},
                 sliceOf(shape),
                 {stepsOf(shape), run, Axis::reg},
                 {4, 1, Axis::lane},
                 {run, 1, Axis::reg}},
                replication);
}

Layout slicedSums(const SlicedShape &shape) {
  int64_t columns = shape.isByWords() ? 1 : std::min<int64_t>(shape.m, 2);
  int64_t lanes = shape.m / columns;
  Iters replication;
  if (lanes < 4)
    replication.push_back({4 / lanes, lanes, Axis::lane});
  int64_t ofSlice = columns * shape.n / (shape.groups * 8); // registers
  Iters iters = {sliceOf(shape), {shape.slicesOfWarp(), ofSlice, Axis::reg}, groupOf(shape)};
  if (shape.isTransposed) // neighbouring rows are in one lane
    iters.insert(
        iters.end(),
        {{shape.blocks(), 8 * columns, Axis::reg}, {8, 4, Axis::lane}, {8, columns, Axis::reg}});
  else if (shape.isByWords())
    iters.insert(iters.end(), {{shape.blocks(), 1, Axis::reg}, {8, 4, Axis::lane}});
  else
    iters.insert(
        iters.end(),
        {{shape.blocks(), 2 * columns, Axis::reg}, {2, columns, Axis::reg}, {8, 4, Axis::lane}});
  iters.insert(iters.end(), {{lanes, 1, Axis::lane}, {columns, 1, Axis::reg}});
  return Layout(iters, replication);
}

Layout sharedPanels(const Shape &shape, int64_t elementBytes) {
  int64_t width = kPanelBytes / elementBytes, rows = shape[shape.size() - 2];
  int64_t chunk = 16 / elementBytes;
  return Layout({{rows, width, Axis::m},
                 {shape.back() / width, rows * width, Axis::m},
                 {width, 1, Axis::m}})
      .swizzled({3, std::countr_zero(static_cast<uint64_t>(chunk)), 3, Axis::m});
}

} // namespace ditron::nvidia
