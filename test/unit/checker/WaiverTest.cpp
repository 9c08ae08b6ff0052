// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a waiver takes from a verdict, and what it does not.
#include "ditron/checker/Check.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ditron {
namespace {

std::vector<FindingKind> kindsOf(const std::vector<Finding> &findings) {
  std::vector<FindingKind> kinds;
  for (const Finding &finding : findings)
    kinds.push_back(finding.kind);
  return kinds;
}

bool notes(const Verdict &verdict, const std::string &text) {
  return std::any_of(verdict.notes.begin(), verdict.notes.end(),
                     [&](const std::string &note) { return note.find(text) != std::string::npos; });
}

const char *const kWaive = R"({ditron.waive = [{name = "any", reason = "any core will do"}]})";

/// A kernel of textual IR with what most of them use; `body` may name %c0 to %c2, %z and %core.
TextualIR kernel(const std::string &arguments, const std::string &body) {
  return {fmt::format(R"(
!own = memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
func.func @kernel({}) attributes {{tile.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %core = dist.core
  %isFirst = arith.cmpi eq, %core, %c0 : index
  {}
  return
}})",
                      arguments, body),
          "waivers.mlir"};
}

/// A function of C++ that is called under a waiver and without it: the same op at the same line.
TEST(Waivers, OfOneCallSayNothingOfAnother) {
  auto stamp = [](const auto &place, Index at) { place(at) = toTile(coreId()); };
  auto stamps = [&](bool isSecond) {
    return Kernel("stamps(x[N]) -> y[2]", [&, isSecond](In<i32, 1> x, Out<i32, 1> y) {
      auto ys = y.tiled(1);
      waive("any-core", "any core's number will do", [&] { stamp(ys, 0); });
      if (isSecond)
        stamp(ys, 1);
    });
  };
  CheckOptions options{.ranks = 1, .shape = {{"N", 4}}};
  Verdict verdict = check(stamps(true), options);
  EXPECT_EQ(kindsOf(verdict.findings), std::vector{FindingKind::dataRace}) << verdict.text();
  ASSERT_EQ(verdict.waivers.size(), 1u);
  EXPECT_EQ(kindsOf(verdict.waivers[0].waived), std::vector{FindingKind::dataRace});
  EXPECT_TRUE(check(stamps(false), options).clean());
}

/// Ops of one line on two buffers are two findings.
TEST(Waivers, OpsOfOneLineAreToldByTheirMemory) {
  std::string store = R"(
  tile.store %z, %{}[%c0] : tensor<4xf32>, memref<4xf32> loc("h.h":1:1))";
  Verdict verdict =
      check(kernel(R"(%y: memref<4xf32>, %w: memref<4xf32>)",
                   fmt::format(fmt::runtime(store), "y") + fmt::format(fmt::runtime(store), "w")),
            {.ranks = 1});
  EXPECT_EQ(verdict.findings.size(), 2u) << verdict.text();
}

/// All cores write who they are, waived; core 0 reads it and writes b where core 5 was the last, as
/// core 1 does.
TEST(Waivers, WhatFollowsAWaivedRaceIsNotProved) {
  TextualIR ir =
      kernel(R"(%w: memref<1xi32>, %a: memref<4xf32>, %b: memref<4xf32>)", fmt::format(R"(
  %five = arith.constant 5 : i32
  %number = arith.index_cast %core : index to i32
  %t = tensor.splat %number : tensor<1xi32>
  tile.store %t, %w[%c0] {} : tensor<1xi32>, memref<1xi32>
  dist.barrier cores
  %isSecond = arith.cmpi eq, %core, %c1 : index
  scf.if %isFirst {{
    %r = tile.load %w[%c0] : memref<1xi32> -> tensor<1xi32>
    %e = tensor.extract %r[%c0] : tensor<1xi32>
    %is5 = arith.cmpi eq, %e, %five : i32
    scf.if %is5 {{
      tile.store %z, %b[%c0] : tensor<4xf32>, memref<4xf32>
    }} else {{
      tile.store %z, %a[%c0] : tensor<4xf32>, memref<4xf32>
    }}
  }}
  scf.if %isSecond {{
    tile.store %z, %b[%c0] : tensor<4xf32>, memref<4xf32>
  }})",
                                                                                       kWaive));
  Verdict verdict = check(ir, {.ranks = 1, .cores = 3}); // none is core 5: nothing to be found
  EXPECT_TRUE(verdict.clean()) << verdict.text();
  EXPECT_EQ(verdict.method, Method::sampled) << verdict.text();
  EXPECT_EQ(verdict.schedules, 17);
  EXPECT_TRUE(notes(verdict, "and those on the waived data-race at waivers.mlir:14: no proof"))
      << verdict.text();
}

/// What is waived is of no matter to a kernel that decides nothing.
TEST(Waivers, OfWhatNobodyReadsLeaveTheProof) {
  Verdict verdict =
      check(kernel("%y: memref<4xf32>",
                   fmt::format("tile.store %z, %y[%c0] {} : tensor<4xf32>, memref<4xf32>", kWaive)),
            {.ranks = 1});
  EXPECT_TRUE(verdict.clean() && verdict.method == Method::proved) << verdict.text();
}

/// buf[0] is written by all cores, waived; buf[1] is written by nobody; one op reads both.
TEST(Waivers, OfARaceLeaveReadsOfOtherBytes) {
  auto reads = [](const char *attribute, const char *first) {
    return check(kernel("%y: memref<8xf32>", fmt::format(R"(
  %c8 = arith.constant 8 : index
  %buf = dist.symmetric "buf"(%c8) : !own
  tile.store %z, %buf[%c0] {} : tensor<4xf32>, !own
  scf.if %isFirst {{
    scf.for %i = {} to %c2 step %c1 {{
      %t = tile.load %buf[%i] : !own -> tensor<4xf32>
      tile.store %t, %y[%i] : tensor<4xf32>, memref<8xf32>
    }}
  }})",
                                                         attribute, first)),
                 {.ranks = 1});
  };
  for (const char *first : {"%c0", "%c1"}) {
    Verdict verdict = reads(kWaive, first);
    EXPECT_EQ(kindsOf(verdict.findings), std::vector{FindingKind::uninitializedRead})
        << verdict.text();
  }
  std::vector<FindingKind> kinds = kindsOf(reads("", "%c0").findings);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), FindingKind::uninitializedRead), 1);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), FindingKind::dataRace), 2);
}

/// What is read before another core writes it is the race's, explored or not; where that is waived, it is
/// read all the same.
TEST(Waivers, ReadsThatRaceAreNoFindingsOfTheirOwn) {
  for (const char *take : {"", "take"})
    for (const char *waive : {"", kWaive}) {
      Verdict verdict = check(kernel("%y: memref<4xf32>", fmt::format(R"(
  %c4 = arith.constant 4 : index
  %buf = dist.symmetric "buf"(%c4) : !own
  %s = dist.signals "s"() : !dist.signals<0>
  dist.notify %s[] add %c1 : !dist.signals<0>
  scf.if %isFirst {{
    %t = tile.load %buf[%c0] : !own -> tensor<4xf32>
    tile.store %t, %y[%c0] : tensor<4xf32>, memref<4xf32>
    dist.wait %s[] >= %c2 {} : !dist.signals<0>
  }} else {{
    tile.store %z, %buf[%c0] {} : tensor<4xf32>, !own
  }})",
                                                                      take, waive)),
                              {.ranks = 1, .launches = 1});
      FindingKind expected = *waive ? FindingKind::uninitializedRead : FindingKind::dataRace;
      EXPECT_EQ(kindsOf(verdict.findings), std::vector{expected}) << take << verdict.text();
    }
}

/// 70 waived writes with a notify between, then one that is not waived: it races too.
TEST(Waivers, ManyWaivedPartnersHideNoOther) {
  Verdict verdict = check(kernel("%y: memref<4xf32>", fmt::format(R"(
  %n = arith.constant 70 : index
  %s = dist.signals "s"() : !dist.signals<0>
  scf.if %isFirst {{
    tile.store %z, %y[%c0] : tensor<4xf32>, memref<4xf32>
  }} else {{
    scf.for %i = %c0 to %n step %c1 {{
      tile.store %z, %y[%c0] {} : tensor<4xf32>, memref<4xf32>
      dist.notify %s[] add %c1 : !dist.signals<0>
    }}
    tile.store %z, %y[%c0] : tensor<4xf32>, memref<4xf32>
  }})",
                                                                  kWaive)),
                          {.ranks = 1});
  EXPECT_EQ(kindsOf(verdict.findings), std::vector{FindingKind::dataRace}) << verdict.text();
}

/// Behind a wait that never ends, and is waived, a race is not looked at: no proof.
TEST(Waivers, OfAWaitThatIsStuckEndTheProof) {
  for (const char *form : {"", "take"}) {
    Verdict verdict = check(kernel("%y: memref<4xf32>", fmt::format(R"(
  %s = dist.signals "s"() : !dist.signals<0>
  scf.if %isFirst {{
    dist.notify %s[] add %c1 : !dist.signals<0>
  }}
  %many = arith.addi %c2, %c2 : index
  dist.wait %s[] >= %many {} {} : !dist.signals<0>
  tile.store %z, %y[%c0] : tensor<4xf32>, memref<4xf32>)",
                                                                    form, kWaive)),
                            {.ranks = 1});
    EXPECT_TRUE(verdict.clean()) << verdict.text();
    EXPECT_EQ(verdict.method, Method::sampled) << verdict.text();
    EXPECT_FALSE(verdict.isComplete);
    EXPECT_TRUE(notes(verdict, "behind the waived lost-signal at waivers.mlir:16 nothing was "
                               "checked"))
        << verdict.text();
  }
}

} // namespace
} // namespace ditron
