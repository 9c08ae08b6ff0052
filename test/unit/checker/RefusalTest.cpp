// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that no backend compiles are not clean, however they run in the interpreter.
#include "ditron/checker/Check.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ditron {
namespace {

Verdict checked(const std::string &body, const CheckOptions &options = {.ranks = 1, .cores = 1}) {
  return check(
      TextualIR{fmt::format(R"(func.func @k(%y: memref<8xf32>) attributes {{tile.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = dist.signals "s"() : !dist.signals<0>
  {}
  return
}})",
                            body),
                "k.mlir"},
      options);
}

void expectRefused(const std::string &body, const std::string &message) {
  Verdict verdict = checked(body);
  ASSERT_EQ(verdict.findings.size(), 1u) << verdict.text();
  EXPECT_EQ(verdict.findings[0].kind, FindingKind::invalidProgram);
  EXPECT_EQ(verdict.findings[0].message, message);
}

TEST(Refusals, OfRolesOfEngines) {
  expectRefused(
      R"(scf.for %i = %c0 to %c1 step %c1 {
    dist.role "r" cores %c0 for %c1 on copy { dist.notify %s[] add %c1 : !dist.signals<0> }
  })",
      "k.mlir:6: role 'r' runs on copy engines and stands in scf.for, expected the top of "
      "the kernel: they begin when the launch does");
  expectRefused(R"(dist.role "r" cores %c0 for %c1 on copy {
    dist.barrier ranks
  })",
                "k.mlir:6: role 'r' runs on copy engines, which put, notify and wait: they do not "
                "execute dist.barrier");
  expectRefused(R"(dist.role "r" cores %c0 for %c1 on copy {
    dist.notify %s[] add %c1 : !dist.signals<0>
  }
  dist.notify %s[] add %c1 : !dist.signals<0>)",
                "k.mlir:8: signal 's' is notified by copy engines and by cores, expected signals "
                "of their own");
  expectRefused(R"(dist.role "r" cores %c0 for %c1 on nic { dist.quiet })",
                "k.mlir:5: role 'r' runs on engine nic, expected core or copy");
}

/// A wait that no schedule comes to is refused by the compiler all the same.
TEST(Refusals, OfEffects) {
  expectRefused(R"(%never = arith.cmpi eq, %c0, %c1 : index
  scf.if %never {
    dist.wait %s[] >= %c1 : !dist.signals<0>
  })",
                "k.mlir:7: signal 's' is waited on but nothing notifies it");
}

TEST(Refusals, LeaveWhatARunSays) {
  Verdict verdict = checked("dist.wait %s[] >= %c1 : !dist.signals<0>");
  ASSERT_EQ(verdict.findings.size(), 1u) << verdict.text();
  EXPECT_EQ(verdict.findings[0].kind, FindingKind::lostSignal);
}

/// Of textual IR a scalar has the value that is given as its extent, or is said to be 1.
TEST(Scalars, OfTextualIRAreGivenByName) {
  TextualIR ir{R"(
!own = memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
func.func @k(%n: index {tile.name = "n"}, %x: memref<4xf32> {tile.name = "x"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %buf = dist.symmetric "buf"(%c4) : !own
  %core = dist.core
  %is = arith.cmpi slt, %core, %n : index
  scf.if %is {
    dist.put %x, %buf on %c0 : memref<4xf32>, !own
  }
  return
})"};
  Verdict assumed = check(ir, {.ranks = 1});
  EXPECT_TRUE(assumed.clean()) << assumed.text();
  EXPECT_EQ(assumed.notes, std::vector<std::string>{"'n' is taken to be 1: no value is given"});
  Verdict two = check(ir, {.ranks = 1, .extents = {{"n", {2}}}});
  EXPECT_FALSE(two.clean()) << two.text();
  EXPECT_TRUE(two.notes.empty());
  EXPECT_NE(two.text().find("k n=2: 1 rank"), std::string::npos) << two.text();
  EXPECT_THROW(check(ir, {.ranks = 1, .extents = {{"n", {2, 2}}}}), CompileError);
}

} // namespace
} // namespace ditron
