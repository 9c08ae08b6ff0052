// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language by example: what docs/language.md shows, compiled and run.
#include "Lesson.h"
#include <algorithm>
using namespace ditron;

//===-- Views ---------------------------------------------------------------------------------===//

// y[i, j] = x[b, j, i], the upper and the lower half of y one after the other.
Kernel views() {
  return Kernel("views(x[B,N,M], b) -> y[M,N]", [](In<f32, 3> x, Index b, Out<f32> y) {
    auto matrix = x.at(b);                // [N, M]: one matrix of the batch
    auto flipped = matrix.transposed();   // [M, N]: the same memory, strides swapped
    auto half = flipped.rows() / 2;       // an Index
    auto top = flipped.slice(0, 0, half); // rows 0 to half
    auto bottom = flipped.slice(0, half, flipped.rows() - half);
    auto upper = y.slice(0, 0, half), lower = y.slice(0, half, y.rows() - half);

    auto copy = [](const auto &from, const auto &to) { // a device function
      auto in = from.tiled(8, 8);
      auto out = to.tiled(8, 8);
      for (auto [i, j] : out.tiles())
        out(i, j) = in(i, j);
    };
    copy(top, upper);
    copy(bottom, lower);
  });
}

// [R*M, N] as [R, M, N]: a part of y for each rank r, here x + r.
Kernel parts() {
  return Kernel("parts(x[M,N]) -> y[R*M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(8, 8);
    auto ys = y.split(numRanks()).tiled(8, 8);
    for (auto [r, i, j] : ys.tiles()) // the leading dimension is not tiled: r counts elements
      ys(r, i, j) = xs(i, j) + cast<f32>(toTile(r));
  });
}

//===-- Numbers -------------------------------------------------------------------------------===//

Kernel quantize() {
  return Kernel("quantize(x[T,H], scale) -> q[T,H], largest[T,1]",
                [](In<f32> x, Scalar<f32> scale, Out<i8> q, Out<f32> largest) {
                  auto xs = x.tiled(4, 64);
                  auto qs = q.tiled(4, 64);
                  auto tops = largest.tiled(4, 1);
                  for (auto [i] : qs.bands()) { // rows of tiles; along a row this core goes itself
                    Var top = zeros<f32>(4, 1);
                    for (auto j : range(qs.cols())) {
                      auto v = xs(i, j) * scale; // a scalar broadcasts
                      qs(i, j) = cast<i8>(v, Rounding::nearestEven, Overflow::saturate);
                      top = maximum(top, max(abs(v), 1));
                    }
                    tops(i, 0) = top;
                  }
                });
}

//===-- Control -------------------------------------------------------------------------------===//

// x[i] is divided by 2 until it is below `limit`; y[i] counts the steps, at most `most`.
Kernel halve() {
  return Kernel("halve(x[N], limit, most) -> y[N]",
                [](In<f32, 1> x, Scalar<f32> limit, Index most, Out<i32, 1> y) {
                  auto xs = x.tiled(16);
                  auto ys = y.tiled(16);
                  for (auto [i] : ys.tiles()) {
                    Var value = Tile(xs(i));
                    Var steps = full<i32>({16}, 0);
                    for ([[maybe_unused]] auto step : range(most)) {
                      auto large = value.get() >= limit; // a tile of i1
                      value = select(large, value * 0.5, value);
                      steps += cast<i32>(large);
                    }
                    ys(i) = steps;
                    when(most == 0, [&] { ys(i) = -1; }); // a branch at run time
                  }
                });
}

//===-- Atomic sums ---------------------------------------------------------------------------===//

// How often each of the numbers 0 to 15 is in x, by all cores into one row of counters.
Kernel histogram() {
  return Kernel("histogram(x[N]) -> counts[W]", [](In<i32, 1> x, InOut<i32, 1> counts) {
    auto xs = x.tiled(64);
    auto total = counts.tiled(16);
    for (auto [i] : xs.tiles()) {
      auto numbers = expand(xs(i).padded(-1), 1); // [64, 1]
      auto hits = cast<i32>(numbers == iota({64, 16}, 1));
      atomicAdd(total(0), reshape(sum(hits, 0), {16}));
    }
  });
}

//===-- The host ------------------------------------------------------------------------------===//

static double value(int64_t i, int64_t j) { return double((7 * i + 3 * j) % 11) - 5; }

static void runViews(Context &ctx) {
  Tensor x = ctx.tensor<f32>({2, 20, 31}), y = ctx.tensor<f32>({31, 20});
  for (int64_t b = 0; b < 2; ++b) {
    Tensor part = Tensor::own(DType::f32, {20, 31});
    lesson::fill(part, [&](int64_t i, int64_t j) { return value(i, j) + 100.0 * double(b); });
    x.slice(0, b, 1).copyFrom(Tensor::borrow(part.data(), DType::f32, {1, 20, 31}));
  }
  ctx.compile(views())(x, 1, y);
  lesson::check(y, "y of views", [](int64_t i, int64_t j) { return value(j, i) + 100; });
}

static void runParts(Context &ctx) {
  Tensor x = ctx.tensor<f32>({13, 20}), y = ctx.tensor<f32>({ctx.ranks() * 13, 20});
  lesson::fill(x, value);
  ctx.compile(parts())(x, y);
  lesson::check(y, "y of parts",
                [](int64_t i, int64_t j) { return value(i % 13, j) + double(i / 13); });
}

static void runQuantize(Context &ctx) {
  Tensor x = ctx.tensor<f32>({10, 100}), q = ctx.tensor<i8>({10, 100});
  Tensor largest = ctx.tensor<f32>({10, 1});
  lesson::fill(x, value);
  ctx.compile(quantize())(x, 30.5, q, largest);
  lesson::check(q, "q", [](int64_t i, int64_t j) {
    return std::clamp(std::nearbyint(value(i, j) * 30.5), -128.0, 127.0);
  });
  lesson::check(largest, "largest", [](int64_t, int64_t) { return 5 * 30.5; });
}

static void runHalve(Context &ctx) {
  Tensor x = ctx.tensor<f32>({40}), y = ctx.tensor<i32>({40});
  lesson::fill(x, [](int64_t, int64_t j) { return double(j); });
  ctx.compile(halve())(x, 4.0, 10, y);
  lesson::check(y, "y of halve", [](int64_t, int64_t j) {
    int steps = 0;
    for (double v = double(j); v >= 4; v /= 2)
      ++steps;
    return steps;
  });
}

static void runHistogram(Context &ctx) {
  Tensor x = ctx.tensor<i32>({1000}), counts = ctx.tensor<i32>({16});
  lesson::fill(x, [](int64_t, int64_t j) { return j * j % 16; });
  lesson::fill(counts, [](int64_t, int64_t) { return 0; });
  ctx.compile(histogram())(x, counts);
  lesson::check(counts, "counts", [](int64_t, int64_t number) {
    int count = 0;
    for (int64_t j = 0; j < 1000; ++j)
      count += j * j % 16 == number;
    return count;
  });
}

int main() {
  return lesson::run("language", [] {
    Context ctx = Context::init({.cores = 2});
    runViews(ctx);
    runQuantize(ctx);
    runHalve(ctx);
    runHistogram(ctx);
    runRanks({.ranks = 3, .cores = 1}, runParts);
  });
}
