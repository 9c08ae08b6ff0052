// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 7: what does not compile, and what is refused when a kernel is made, compiled or launched.
//
// A C++ function that is traced looks like one that is executed, and is not. The types forbid most
// of what would go wrong because of that; the rest is an error that names your line. This program
// makes the mistakes and prints what ditron says.
#include "Lesson.h"
#include <string>
#include <type_traits>
using namespace ditron;

//===-- What C++ itself refuses ---------------------------------------------------------------===//

// An Index, a Bool or a Tile is known only at run time: no native `if`, `while` or `&&` on one.
// Branches at run time are when() and select().
static_assert(!std::is_constructible_v<bool, Bool>);
static_assert(!std::is_constructible_v<bool, Index>);
static_assert(!std::is_constructible_v<bool, Tile>);

// Values do not change: declare what does as a Var. A Var is not copied by accident.
static_assert(!std::is_assignable_v<Tile &, Tile>);
static_assert(!std::is_copy_constructible_v<Var<Tile>>);

// An input is not written, also not in its slices and its parts.
using InputTile = decltype(std::declval<In<f16>>().at(0).slice(0, 0, 8).tiled(8)(0));
using OutputTile = decltype(std::declval<Out<f16>>().tiled(8, 8)(0, 0));
static_assert(!std::is_assignable_v<InputTile, Tile>);
static_assert(std::is_assignable_v<OutputTile, Tile>);

// The shape of a tile is known when the kernel is traced: int, not Index.
template <class N>
concept TileExtent = requires(In<f16> x, N n) { x.tiled(n, 8); };
static_assert(TileExtent<int>);
static_assert(!TileExtent<Index>);

// A rank waits for its own signals only; it notifies its own and its peers'.
template <class S>
concept Awaited = requires(S signals) { wait(signals(0), 1); };
static_assert(Awaited<SignalArray<1, false>>);
static_assert(!Awaited<SignalArray<1, true>>);

//===-- What is refused when a kernel is traced -----------------------------------------------===//

/// Makes the mistake, prints what ditron says, and holds it to be `expected`.
template <class E, class Fn> void mistake(const std::string &expected, const Fn &fn) {
  std::string said = "nothing";
  try {
    fn();
  } catch (const E &error) {
    said = error.what();
  }
  std::printf("%s\n", said.c_str());
  if (said.find(expected) == std::string::npos)
    throw Error("ditron said: " + said + "\nand not: " + expected);
}

/// A kernel with this body.
template <class Body> Kernel kernel(const Body &body) {
  return Kernel("kernel(x[M,N]) -> y[M,N]", body);
}

static void traceMistakes() {
  mistake<CompileError>("a native break or return leaves this loop", [] {
    kernel([](In<f32> x, Out<f32> y) {
      auto xs = x.tiled(8, 8);
      for (auto j : range(xs.cols())) {
        y.tiled(8, 8)(0, j) = xs(0, j);
        break;
      }
    });
  });
  mistake<CompileError>("07-rules.cpp:76: add: operands are of f32 and f16: cast one of them", [] {
    kernel([](In<f16> x, Out<f32> y) {
      Var sum = zeros<f32>(8, 8);
      sum += x.tiled(8, 8)(0, 0);
    });
  });
  mistake<CompileError>("add: shapes [8, 4] and [8, 8] do not broadcast: extents 4 and 8", [] {
    kernel([](In<f32> x, Out<f32> y) {
      y.tiled(8, 8)(0, 0) = x.tiled(8, 4)(0, 0) + zeros<f32>(8, 8);
    });
  });
  mistake<CompileError>("store: the tile is of f32 but the view is of f16: cast it", [] {
    kernel([](In<f32> x, Out<f16> y) { y.tiled(8, 8)(0, 0) = x.tiled(8, 8)(0, 0); });
  });
  mistake<CompileError>("dot: [8, 4] by [8, 4]: needs [..., m, k] by [..., k, n]", [] {
    kernel([](In<f32> x, Out<f32> y) {
      auto xs = x.tiled(8, 4);
      y.tiled(8, 8)(0, 0) = dot(xs(0, 0), xs(0, 0));
    });
  });
  mistake<CompileError>("symmetric stands in a loop, a branch or a role", [] {
    kernel([](In<f32> x, Out<f32> y) {
      when(rank() == 0, [&] { symmetric<f32>(x.rows(), x.cols()); });
    });
  });
  mistake<CompileError>("put: the destination is not a peer's: name it by on(peer)", [] {
    kernel([](In<f32> x, Out<f32> y) { put(x, symmetric<f32>(x.rows(), x.cols())); });
  });
  mistake<CompileError>("used outside of a kernel", [] { zeros<f32>(8, 8); });
  mistake<CompileError>("y is an output but In in the lambda",
                        [] { kernel([](In<f32> x, In<f32> y) {}); });
  mistake<CompileError>("signature \"kernel(x[M -> y[M]\": expected ']'",
                        [] { Kernel("kernel(x[M -> y[M]", [](In<f32, 1> x, Out<f32, 1> y) {}); });
}

//===-- What is refused when it is compiled ---------------------------------------------------===//

static void compileMistakes(Context &ctx) {
  Tensor x = ctx.tensor<f32>({8, 8}), y = ctx.tensor<f32>({8, 8});
  mistake<CompileError>("signal 'ready' is waited on but nothing notifies it", [&] {
    ctx.compile(kernel([](In<f32> x, Out<f32> y) {
      auto ready = signals(4, "ready");
      wait(ready(0), 1);
    }))(x, y);
  });
  mistake<CompileError>("a variable declared outside of dist.role cannot change inside", [&] {
    ctx.compile(kernel([](In<f32> x, Out<f32> y) {
      Var sum = zeros<f32>(8, 8);
      auto [first, rest] = splitCores(1);
      first.run("add", [&] { sum += x.tiled(8, 8)(0, 0); });
    }))(x, y);
  });
}

//===-- What is refused at a launch -----------------------------------------------------------===//

static void launchMistakes(Context &ctx) {
  Program copy = ctx.compile(kernel([](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(8, 8);
    auto ys = y.tiled(8, 8);
    for (auto [i, j] : ys.tiles())
      ys(i, j) = xs(i, j);
  }));
  Tensor x = ctx.tensor<f32>({40, 50}), y = ctx.tensor<f32>({40, 60});
  mistake<CompileError>("kernel(x[M,N]) -> y[M,N]: N is 50 in x but 60 in y", [&] { copy(x, y); });
  mistake<CompileError>("y is of i32, expected f32", [&] { copy(x, ctx.tensor<i32>({40, 50})); });
  mistake<CompileError>("launched with 1 arguments, expected 2", [&] { copy(x); });

  // A signal that comes too late, or never: the error says what every core of every rank waits for
  // and who notified it last. Every rank ends the launch with that error, and goes on.
  Program stuck = ctx.compile(kernel([](In<f32> x, Out<f32> y) {
    auto ready = signals(4, "ready");
    auto [sender, receiver] = splitCores(1);
    sender.run("send", [&] { notify(ready.on(rank())(1)); });
    receiver.run("receive", [&] { wait(ready(1), 2); });
  }));
  mistake<RuntimeError>("07-rules.cpp:147: waits for signal 'ready'[1]", [&] {
    stuck(x, ctx.tensor<f32>({40, 50})); // a launch does not wait...
    ctx.sync();                          // who waits gets the error
  });
  copy(x, x.clone());
}

int main() {
  return lesson::run("07-rules", [] {
    Context ctx = Context::init({.cores = 2, .waitTimeout = std::chrono::milliseconds(100)});
    traceMistakes();
    compileMistakes(ctx);
    launchMistakes(ctx);
  });
}
