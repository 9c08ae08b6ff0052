// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 12: the Task level. Kernels as nodes of one program.
//
// A small MLP with a residual, layer after layer:
//
//     h = relu(x * up)          x = x + h * down
//
// Launched one by one, every kernel waits for all of the one before: at the end of each, cores stand
// idle. As one graph the same kernels become one persistent kernel, a megakernel. Each core walks
// through its own queue of tasks, and waits for the tiles that it needs, not for kernels.
#include "Lesson.h"
using namespace ditron;

/// y = act(x * w), by tiles of 16 x 32; what it adds to the residual is its own tile.
Kernel upKernel() {
  return Kernel("up(x[M,K], w[K,N]) -> y[M,N]", [](In<f32> X, In<f32> W, Out<f32> Y) {
    auto x = X.tiled(16, 16), w = W.tiled(16, 32);
    auto y = Y.tiled(16, 32);
    for (auto [i, j] : y.tiles()) {
      Var acc = zeros<f32>(16, 32);
      for (auto k : range(x.cols()))
        acc += dot(x(i, k), w(k, j));
      y(i, j) = maximum(acc, 0);
    }
  });
}

/// x += h * w, in place.
Kernel downKernel() {
  return Kernel("down(h[M,K], w[K,N]) -> x[M,N]", [](In<f32> H, In<f32> W, InOut<f32> X) {
    auto h = H.tiled(16, 16), w = W.tiled(16, 32);
    auto x = X.tiled(16, 32);
    for (auto [i, j] : x.tiles()) {
      Var acc = Tile(x(i, j));
      for (auto k : range(h.cols()))
        acc += dot(h(i, k), w(k, j));
      x(i, j) = acc;
    }
  });
}

/// The graph: inputs, a task a line, no mention of who waits for whom. That follows from the tiles:
/// row i of tiles of `up` needs row i of x, and nothing else of it.
TaskGraph mlp(const std::vector<Tensor> &up, const std::vector<Tensor> &down) {
  TaskGraph g("mlp");
  Value x = g.input("x[M,K]");
  for (size_t layer = 0; layer < up.size(); ++layer) {
    g.label("layer " + std::to_string(layer));
    Value h = g.task(upKernel(), x, up[layer]);
    g.task(downKernel(), h, down[layer], inOut(x));
  }
  return g;
}

int main() {
  return lesson::run("12-task-graph", [] {
    const int64_t M = 50, K = 48, H = 100;
    const size_t layers = 3;
    Context ctx = Context::init({.cores = 2});
    std::vector<Tensor> up, down;
    for (size_t layer = 0; layer < layers; ++layer) {
      up.push_back(ctx.tensor<f32>({K, H}));
      down.push_back(ctx.tensor<f32>({H, K}));
      lesson::fill(up.back(),
                   [&](int64_t i, int64_t j) { return double((5 * i + 3 * j) % 7 - 3) / 8; });
      lesson::fill(down.back(),
                   [&](int64_t i, int64_t j) { return double((2 * i + j) % 5 - 2) / 8; });
    }

    // The same tasks as launches, as a recorded graph, and as one kernel: the same bits.
    TaskGraph graph = mlp(up, down);
    std::vector<Tensor> results;
    for (Mode mode : {Mode::stream, Mode::graph, Mode::megakernel}) {
      Tensor x = ctx.tensor<f32>({M, K});
      lesson::fill(x, [](int64_t i, int64_t j) { return double((7 * i + j) % 9) - 4; });
      TaskProgram step = ctx.compile(graph, {.mode = mode});
      for (int repeat = 0; repeat < 2; ++repeat)
        step(x);
      results.push_back(x.toHost());
    }
    for (const Tensor &result : results)
      lesson::check(result, "x", [&](int64_t i, int64_t j) { return results[0].at({i, j}); });
  });
}
