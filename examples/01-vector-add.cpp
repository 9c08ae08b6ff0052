// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 1: a kernel, from its definition to its result.
//
// A kernel is written on tiles: small blocks of a tensor whose size is known when the kernel is
// compiled. It is an ordinary C++ function object, run once to record what it does (it is traced);
// the record is compiled for this machine's CPU and launched as often as you like.
#include "Lesson.h"
using namespace ditron;

// The string is the kernel's signature: it names the arguments and their dimensions, inputs on the
// left of the arrow, outputs on the right. Both inputs have N elements, and so has the output: that
// is checked at every launch. The parameters of the lambda are the arguments in that order, each
// with its element type and its number of dimensions (2 if you do not say).
Kernel vectorAdd(int tile) {
  return Kernel("vector-add(x[N], y[N]) -> z[N]", [=](In<f32, 1> x, In<f32, 1> y, Out<f32, 1> z) {
    // Nothing is read here: x.tiled(256) only says that x is seen as tiles of 256 elements. The
    // last tile of a vector that is no multiple of 256 is cut: what is read beyond the end is 0,
    // what is written there is dropped. No code for ragged edges is ever needed.
    auto xs = x.tiled(tile), ys = y.tiled(tile);
    auto zs = z.tiled(tile);

    // A kernel runs on several cores at once. tiles() deals the tiles among them: each core sees
    // the tiles that are its own. The body is traced once, so `i` is not a number but an Index: a
    // value that is known only when the kernel runs.
    for (auto [i] : zs.tiles())
      zs(i) = xs(i) + ys(i); // using a tile of an input reads it, assigning to one writes it
  });
}

int main() {
  return lesson::run("01-vector-add", [] {
    // A context is one device, here two cores of this machine's CPU. It makes tensors.
    Context ctx = Context::init({.cores = 2});
    const int64_t n = 1000; // 3 tiles of 256 and a part of a fourth
    Tensor x = ctx.tensor<f32>({n}), y = ctx.tensor<f32>({n}), z = ctx.tensor<f32>({n});
    lesson::fill(x, [](int64_t, int64_t j) { return j; });
    lesson::fill(y, [](int64_t, int64_t j) { return 1000 - 2 * j; });

    // `tile` is a C++ int, so it is fixed when the kernel is traced: another tile size is another
    // kernel. N is not: the same program takes vectors of any length.
    Program add = ctx.compile(vectorAdd(256));
    add(x, y, z);

    lesson::check(z, "z", [](int64_t, int64_t j) { return 1000 - j; });
  });
}
