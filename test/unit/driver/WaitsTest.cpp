// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits for a count below 0 pass at once, as they stand in loops that run ahead by a few steps, on
// the backend that DITRON_BACKEND names.
#include "ditron/driver/Context.h"
#include <gtest/gtest.h>
#include <string>

namespace ditron {
namespace {

constexpr int kAhead = 2;

/// y = x + 1, row by row through entries of a queue that are free when they are read.
Kernel throughAQueue() {
  return Kernel("through-a-queue(x[M,8]) -> y[M,8]", [](In<f32> x, Out<f32> y) {
    auto entries = symmetric<f32>({kAhead, 8}, "entries").tiled(1, 8);
    auto empty = signals(1, "empty");
    when(coreId() == 0, [&] {
      for (auto i : range(x.rows())) {
        wait(empty(0), i - kAhead);
        entries(i % kAhead, 0) = x.tiled(1, 8)(i, 0) + 1.0f;
        y.tiled(1, 8)(i, 0) = entries(i % kAhead, 0);
        notify(empty.on(rank())(0));
      }
    });
  });
}

/// C = A * B, each tile behind the one `kAhead` before it.
Kernel productsInTurn() {
  return Kernel("products-in-turn(A[M,K], B[K,N]) -> C[M,N]",
                [](In<bf16> A, In<bf16> B, Out<f32> C) {
                  auto a = A.tiled(64, 64), b = B.tiled(64, 64);
                  auto c = C.tiled(64, 64);
                  auto done = signals(1, "done");
                  for (auto [i, j] : c.tiles()) {
                    wait(done(0), i - kAhead);
                    Var sum = zeros<f32>(64, 64);
                    for (auto k : range(a.cols()))
                      sum += dot(a(i, k), b(k, j));
                    c(i, j) = sum;
                    notify(done.on(rank())(0));
                  }
                });
}

TEST(Waits, ForLessThanNothingPass) {
  Context ctx = Context::init();
  constexpr int64_t kRows = 5;
  Tensor host = Tensor::own(DType::f32, {kRows, 8});
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < 8; ++j)
      host.set({i, j}, double(i));
  Tensor x = ctx.tensorFrom(host), y = ctx.tensor<f32>({kRows, 8});
  ctx.compile(throughAQueue())(x, y);
  Tensor found = y.toHost();
  for (int64_t i = 0; i < kRows; ++i)
    EXPECT_EQ(found.at({i, 0}), double(i + 1));
}

TEST(Waits, ForLessThanNothingPassInFrontOfProducts) {
  Context ctx = Context::init();
  constexpr int64_t kEdge = 128;
  Tensor host = Tensor::own(DType::bf16, {kEdge, kEdge});
  for (int64_t i = 0; i < kEdge; ++i)
    for (int64_t j = 0; j < kEdge; ++j)
      host.set({i, j}, i == j ? double(i % 7) : 0);
  Tensor a = ctx.tensorFrom(host), b = ctx.tensorFrom(host), c = ctx.tensor<f32>({kEdge, kEdge});
  ctx.compile(productsInTurn())(a, b, c);
  Tensor found = c.toHost();
  for (int64_t i = 0; i < kEdge; ++i)
    EXPECT_EQ(found.at({i, i}), double((i % 7) * (i % 7)));
}

TEST(Waits, NotifiesOfLessThanNothingNameTheirLine) {
  Context ctx = Context::init();
  if (ctx.backend() == "nvidia")
    GTEST_SKIP() << "counters of GPUs add what they are given";
  Program run = ctx.compile(Kernel("shrink(x[M,8]) -> y[M,8]", [](In<f32> x, Out<f32> y) {
    auto count = signals(1, "count");
    for (auto [i, j] : y.tiled(1, 8).tiles()) {
      notify(count.on(rank())(0), i - 1);
      wait(count(0), i - 1);
      y.tiled(1, 8)(i, j) = x.tiled(1, 8)(i, j);
    }
  }));
  Tensor x = ctx.tensor<f32>({1, 8}), y = ctx.tensor<f32>({1, 8});
  try {
    run(x, y);
    ctx.sync();
    ADD_FAILURE() << "a counter shrinks";
  } catch (const Error &error) {
    std::string text = error.what();
    for (const char *part : {"WaitsTest.cpp:", "notify", "-1", "counters only grow"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

} // namespace
} // namespace ditron
