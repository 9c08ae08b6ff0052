// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 3: softmax of rows. Reductions, broadcasting, padding and masks.
#include "Lesson.h"
using namespace ditron;

// A tile here is some whole rows: `width` covers the longest row there will be.
Kernel softmax(int rows, int width) {
  return Kernel("softmax(x[T,H]) -> y[T,H]", [=](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(rows, width);
    auto ys = y.tiled(rows, width);
    for (auto [i, h] : ys.tiles()) {
      // A row shorter than the tile leaves a rest. It reads as 0 unless you say what it shall read
      // as; -infinity is what neither a maximum nor a sum of exponentials notices.
      auto v = cast<f32>(xs(i, h).padded(-INFINITY));
      // A reduction keeps the axis, with extent 1: max is of shape [rows, 1]. Beside a tile of
      // [rows, width] it broadcasts, as in NumPy.
      auto e = exp(v - max(v, 1));
      ys(i, h) = e / sum(e, 1); // what lies beyond the edge of y is not written
    }
  });
}

// The same with a mask: row t may look at columns 0 to t only, as tokens in a causal model do. No
// branch is needed: which elements count is a tile of truth values. iota counts along an axis, and
// an Index beside a tile is a scalar (i32) that broadcasts like any other.
Kernel causalSoftmax(int rows, int width) {
  return Kernel("causal-softmax(x[T,T]) -> y[T,T]", [=](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(rows, width);
    auto ys = y.tiled(rows, width);
    auto column = iota({rows, width}, 1), row = iota({rows, width}, 0);
    for (auto [i, h] : ys.tiles()) {
      auto seen = column <= row + i * rows;
      auto v = select(seen, xs(i, h), -INFINITY); // a native number takes the other's type
      auto e = exp(v - max(v, 1));
      ys(i, h) = e / sum(e, 1);
    }
  });
}

static double input(int64_t i, int64_t j) { return double((7 * i + 3 * j) % 11) / 4; }

/// Compares y with the softmax of the first visible(i) elements of each row.
static void checkRows(const Tensor &y, auto visible) {
  lesson::check(
      y, "y",
      [&](int64_t i, int64_t j) {
        double total = 0;
        for (int64_t h = 0; h < visible(i); ++h)
          total += std::exp(input(i, h));
        return j < visible(i) ? std::exp(input(i, j)) / total : 0;
      },
      1e-6);
}

int main() {
  return lesson::run("03-softmax", [] {
    Context ctx = Context::init({.cores = 2});
    Tensor x = ctx.tensor<f32>({50, 50}), y = ctx.tensor<f32>({50, 50});
    lesson::fill(x, input);

    ctx.compile(softmax(4, 64))(x, y);
    checkRows(y, [](int64_t) { return 50; });

    ctx.compile(causalSoftmax(4, 64))(x, y);
    checkRows(y, [](int64_t i) { return i + 1; });
  });
}
