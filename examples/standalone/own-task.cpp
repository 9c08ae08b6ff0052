// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A type of task of one's own: a kernel is one. It stands in a graph beside kernels of the library,
// is part of the one kernel that the graph becomes, and of its proof.
#include <cstdio>
#include <cstring>
#include <ditron/checker/CheckGraph.h>
#include <ditron/ditron.h>

using namespace ditron;

Kernel clip() {
  return Kernel("clip(x[M,N], most) -> y[M,N]", [](In<f32> x, Scalar<f32> most, Out<f32> y) {
    auto xs = x.tiled(8, 32);
    auto ys = y.tiled(8, 32);
    for (auto [i, j] : ys.tiles())
      ys(i, j) = minimum(xs(i, j), most);
  });
}

TaskGraph clipped() {
  TaskGraph g("clipped");
  Value x = g.input("x[M,N]");
  Value rows = g.task(kernels::softmax(DType::f32), x); // of the library
  g.output(g.task(clip(), rows, 0.01));                 // of this file
  return g;
}

Tensor run(const Context &ctx, Mode mode) {
  Tensor in = Tensor::own(DType::f32, {40, 100});
  for (int64_t n = 0; n < in.elements(); ++n)
    in.as<f32>()[n] = float(n % 17);
  Tensor x = ctx.tensorFrom(in), y = ctx.tensor<f32>({40, 100});
  TaskProgram step = ctx.compile(clipped(), {.mode = mode});
  step(x, y);
  return y.toHost();
}

int main() try {
  Verdict verdict = check(clipped(), {.cores = 2, .shape = {{"M", 20}, {"N", 40}}});
  Context ctx = Context::init({.cores = 2});
  Tensor one = run(ctx, Mode::megakernel), many = run(ctx, Mode::stream);
  bool isSame = std::memcmp(one.data(), many.data(), one.bytes()) == 0;
  std::printf("%s%s\n", verdict.text().c_str(), isSame ? "the same bits" : "other bits");
  return verdict.clean() && isSame ? 0 : 1;
} catch (const Error &error) {
  std::fprintf(stderr, "own-task: %s\n", error.what());
  return 1;
}
