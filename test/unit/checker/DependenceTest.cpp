// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the course of a kernel depends on what it reads.
#include "ditron/checker/Dependence.h"
#include "ditron/checker/CheckSubject.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ditron::checker {
namespace {

/// Cores add to a counter; `view` chooses where core 0 writes, by what it was before; core 1 writes b.
TextualIR atomics(const std::string &view) {
  return {fmt::format(R"(
!m = memref<4xf32>
func.func @k(%count: memref<1xi32>, %a: !m, %b: !m) attributes {{tile.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %one = arith.constant dense<1> : tensor<1xi32>
  %core = dist.core
  %cores = dist.num_cores
  %old = tile.atomic_add %one, %count[%c0] : tensor<1xi32>, memref<1xi32>
  %e = tensor.extract %old[%c0] : tensor<1xi32>
  %i = arith.index_cast %e : i32 to index
  %r = arith.remsi %i, %cores : index
  %last = arith.subi %cores, %c1 : index
  %is = arith.cmpi eq, %r, %last : index
  %n = arith.select %is, %c1, %c0 : index
  %is0 = arith.cmpi eq, %core, %c0 : index
  %is1 = arith.cmpi eq, %core, %c1 : index
  scf.if %is0 {{
    %v = {}
    tile.store %z, %v[%c0] : tensor<4xf32>, !m
  }}
  scf.if %is1 {{
    tile.store %z, %b[%c0] : tensor<4xf32>, !m
  }}
  return
}})",
                      view),
          "atomics.mlir"};
}

TEST(Dependence, AViewThatIsChosenByWhatIsReadIsADecision) {
  for (auto [view, op] : {std::pair("tile.select_view %n of (%a, %b) : !m", "tile.select_view"),
                          {"arith.select %is, %b, %a : !m", "arith.select"}}) {
    TextualIR ir = atomics(view);
    Parsed parsed(ir);
    mlir::Operation *decision = findDecisionOnMemory(parsed.subject({}).function);
    ASSERT_TRUE(decision) << view;
    EXPECT_EQ(decision->getName().getStringRef(), op);
    // Who is last is open: what one run shows holds for no other.
    EXPECT_EQ(check(ir, {.ranks = 1, .cores = 2}).method, Method::sampled);
  }
}

TEST(Dependence, AViewThatIsChosenByNumbersIsNone) {
  for (const char *view :
       {"tile.select_view %core of (%a, %b) : !m", "arith.select %is0, %a, %b : !m"}) {
    Parsed parsed(atomics(view));
    EXPECT_FALSE(findDecisionOnMemory(parsed.subject({}).function)) << view;
  }
}

/// Counts its launches in `count`; from the third on it waits for what nobody notifies, if that is
/// looked at.
Verdict counted(bool isLookedAt) {
  Kernel kernel("counted(count[N]) -> y[N]", [=](InOut<i32, 1> count, Out<i32, 1> y) {
    auto ready = signals(1, "ready");
    when(coreId() == 0, [&] {
      Index before = isLookedAt ? toIndex(count.read({0})) : Index(0);
      count.tiled(1)(0) = count.tiled(1)(0) + 1;
      notify(ready.on(rank())(0));
      wait(ready(0), min(before, 2));
      y.tiled(1)(0) = count.tiled(1)(0);
    });
  });
  CheckOptions options{.shape = {{"N", 1}}};
  options.input = [](int64_t, size_t, int64_t) { return 0; };
  return check(kernel, options);
}

TEST(Dependence, OnLaunchesBeforeLimitsAProofToThoseChecked) {
  Verdict verdict = counted(true);
  EXPECT_EQ(verdict.method, Method::proved);
  EXPECT_FALSE(verdict.isOfAllLaunches);
  EXPECT_NE(verdict.text().find("(proved: every schedule of 2 launches)"), std::string::npos)
      << verdict.text();
  EXPECT_TRUE(counted(false).isOfAllLaunches);
}

} // namespace
} // namespace ditron::checker
