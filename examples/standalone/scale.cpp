// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program of its own: a kernel with a run-time scalar, on data that the program has already.
#include <cstdio>
#include <ditron/ditron.h>
#include <vector>

using namespace ditron;

Kernel scale() {
  return Kernel("scale(x[N], factor) -> y[N]", [](In<f32, 1> x, Scalar<f32> factor, Out<f32, 1> y) {
    auto xs = x.tiled(1024);
    auto ys = y.tiled(1024);
    for (auto [i] : ys.tiles())
      ys(i) = xs(i) * factor;
  });
}

int main() try {
  std::vector<float> in(5000, 2), out(5000);
  Tensor input = Tensor::borrow(in.data(), DType::f32, {5000});
  Tensor output = Tensor::borrow(out.data(), DType::f32, {5000});

  Context ctx = Context::init({.cores = 2}); // on CPU cores, or what DITRON_BACKEND names
  Tensor x = ctx.tensorFrom(input), y = ctx.tensor<f32>({5000});
  Program run = ctx.compile(scale());
  run(x, 21.0, y);    // asynchronous
  output.copyFrom(y); // waits
  std::printf("%g %g\n", out.front(), out.back());
  return out.front() == 42 && out.back() == 42 ? 0 : 1;
} catch (const Error &error) {
  std::fprintf(stderr, "scale: %s\n", error.what());
  return 1;
}
