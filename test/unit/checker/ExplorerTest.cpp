// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explored.h"
#include "ditron/checker/explore/ExploreState.h"
#include "ditron/support/Error.h"

namespace ditron::checker {
namespace {

/// A barrier of 2 ranks, 2 rounds: each notifies the other, waits for 1, and what `wait` and
/// `after` say.
std::string barrier(const std::string &wait, const std::string &after) {
  return fmt::format(R"(
func.func @kernel() attributes {{tile.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = dist.signals "arrived"() : !dist.signals<0>
  %me = dist.rank
  %other = arith.subi %c1, %me : index
  scf.for %round = %c0 to %c2 step %c1 {{
    dist.notify %s[] on %other add %c1 : !dist.signals<0>
    %n = arith.addi %round, %c1 : index
    dist.wait %s[] {} : !dist.signals<0>
    {}
  }}
  return
}})",
                     wait, after);
}
const char *const kSubtract = "dist.notify %s[] subtract %c1 : !dist.signals<0>";

const CheckOptions kOneLaunch{.cores = 1, .launches = 1};

TEST(Explorer, ExactBarrierDeadlocks) {
  Source source(barrier("== %c1", kSubtract), kOneLaunch);
  Exploration explored = source.explore({.reduce = false});
  EXPECT_TRUE(explored.isExhaustive);
  EXPECT_EQ(explored.states, 27u);
  ASSERT_EQ(explored.findings.size(), 1u) << toString(explored);
  const Finding &finding = explored.findings[0].finding;
  EXPECT_EQ(finding.kind, FindingKind::deadlock);
  EXPECT_EQ(finding.steps.size(), 5u) << toString(explored);
  EXPECT_EQ(finding.parties.size(), 2u);

  Exploration reduced = source.explore();
  EXPECT_LE(reduced.states, 27u);
  ASSERT_EQ(reduced.findings.size(), 1u) << toString(reduced);
  EXPECT_EQ(reduced.findings[0].finding.steps, finding.steps);
}

/// The same by way of the public check; its schedule can be followed to the deadlock.
TEST(Explorer, WitnessOfTheExactBarrierCanBeReplayed) {
  TextualIR ir{barrier("== %c1", kSubtract), "barrier.mlir"};
  Verdict verdict = check(ir, kOneLaunch);
  EXPECT_EQ(verdict.method, Method::exhaustive);
  ASSERT_EQ(verdict.findings.size(), 1u) << verdict.text();
  const Finding &finding = verdict.findings[0];
  EXPECT_EQ(finding.steps.size(), 5u);
  std::vector<std::string> lines = replay(ir, kOneLaunch, finding.schedule);
  ASSERT_EQ(lines.size(), 7u); // the five steps, and where it ends: both wait
  for (size_t i : {5, 6})
    EXPECT_NE(lines[i].find("waits for signal 'arrived'[] of rank"), std::string::npos) << lines[i];
}

TEST(Explorer, OtherBarriersPass) {
  for (auto [wait, after] : {std::pair(">= %c1", kSubtract), {">= %n", ""}, {">= %c1 take", ""}})
    for (bool reduce : {false, true}) {
      Exploration explored = Source(barrier(wait, after), kOneLaunch).explore({.reduce = reduce});
      EXPECT_TRUE(explored.isExhaustive);
      EXPECT_TRUE(explored.findings.empty()) << wait << "\n" << toString(explored);
    }
}

/// Core 0 takes what core 1 notifies, and core 1 what `second` says.
std::string handOver(const std::string &second) {
  return fmt::format(R"(
func.func @kernel() attributes {{tile.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = dist.signals "ready"(%c1) : !dist.signals<1>
  %core = dist.core
  %isFirst = arith.cmpi eq, %core, %c0 : index
  scf.if %isFirst {{
    dist.wait %s[%c0] >= %c1 take : !dist.signals<1>
  }} else {{
    {}
    dist.notify %s[%c0] add %c1 : !dist.signals<1>
  }}
  return
}})",
                     second);
}

TEST(Explorer, CoresThatCannotStartAreNoDeadlock) {
  TextualIR ir{handOver(""), "handover.mlir"};
  Verdict all = check(ir, {.ranks = 1, .cores = 2});
  EXPECT_TRUE(all.clean() && all.method == Method::exhaustive) << all.text();
  Verdict one = check(ir, {.ranks = 1, .cores = 2, .residentCores = 1});
  ASSERT_EQ(one.findings.size(), 1u) << one.text();
  const Finding &finding = one.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::notResident);
  EXPECT_EQ(finding.message, "1 of 2 cores of a rank run at a time, and 1 core waits, the first at "
                             "handover.mlir:9, for what only the others would do");
  EXPECT_EQ(finding.parties.size(), 2u);

  // Cores that would go on waiting are stuck all the same.
  ir.text = handOver("dist.wait %s[%c0] == %c1 : !dist.signals<1>");
  Verdict stuck = check(ir, {.ranks = 1, .cores = 2, .residentCores = 1});
  ASSERT_EQ(stuck.findings.size(), 1u) << stuck.text();
  EXPECT_EQ(stuck.findings[0].kind, FindingKind::deadlock) << stuck.text();
}

TEST(Explorer, BeyondTheBudgetSchedulesAreSampled) {
  Source source(barrier("== %c1", kSubtract), kOneLaunch);
  Exploration few = source.explore({.states = 5, .schedules = 100});
  EXPECT_FALSE(few.isExhaustive);
  EXPECT_EQ(few.schedules, 100);
  ASSERT_EQ(few.findings.size(), 1u) << toString(few);
  EXPECT_EQ(few.findings[0].finding.kind, FindingKind::deadlock);

  Verdict verdict = check(TextualIR{barrier("== %c1", kSubtract)},
                          {.cores = 1, .launches = 1, .schedules = 100, .states = 5});
  EXPECT_EQ(verdict.method, Method::sampled);
  EXPECT_FALSE(verdict.isComplete);
  EXPECT_NE(verdict.text().find("the budget of 5 states ended the exploration"), std::string::npos)
      << verdict.text();
}

/// States that wait take memory; which need no clocks have none.
TEST(Explorer, BeyondTheMemorySchedulesAreSampled) {
  Source source(barrier("== %c1", kSubtract), kOneLaunch);
  Machine machine(source.trace());
  EXPECT_FALSE(machine.tracksOrder());
  std::vector<Fault> faults;
  State state = machine.start(faults);
  EXPECT_TRUE(state.clocks.empty() && state.messages.empty());
  EXPECT_LT(state.bytes(), sizeof(State) + 100);

  Exploration few = source.explore({.bytes = 1, .schedules = 10});
  EXPECT_FALSE(few.isExhaustive);
  EXPECT_TRUE(few.isTooLarge);
  EXPECT_EQ(few.schedules, 10);
  Exploration all = source.explore({.bytes = 1 << 20});
  EXPECT_TRUE(all.isExhaustive);
  EXPECT_FALSE(all.isTooLarge);
}

TEST(Explorer, StatesWithClocksCountThem) {
  Source source(R"(
func.func @kernel(%y: memref<4xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<4xf32>
  tile.store %z, %y[%c0] : tensor<4xf32>, memref<4xf32>
  return
})",
                {.ranks = 1, .cores = 64, .launches = 1});
  Machine machine(source.trace());
  std::vector<Fault> faults;
  EXPECT_GT(machine.start(faults).bytes(), 2u * 64 * 64 * sizeof(uint32_t)); // of threads, settled
}

/// Copy engines of both ranks notify one counter; `before` and `wait` are what is explored.
std::string senders(const std::string &before, const std::string &wait) {
  return fmt::format(R"(
func.func @kernel(%x: memref<4xi32> {{tile.readonly}}) attributes {{tile.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = dist.num_ranks
  %s = dist.signals "arrived"() : !dist.signals<0>
  dist.role "send" cores %c0 for %c1 on copy {{
    dist.notify %s[] on %c0 add %c1 : !dist.signals<0>
  }}
  %me = dist.rank
  %isFirst = arith.cmpi eq, %me, %c0 : index
  {}
  scf.if %isFirst {{
    dist.wait %s[] >= {} : !dist.signals<0>
  }}
  return
}})",
                     before, wait);
}

TEST(Explorer, SeveralSendersAreFoundInWhatIsExploredAndSampled) {
  const char *const kRead = R"(
  %t = tile.load %x[%c0] : memref<4xi32> -> tensor<4xi32>
  %e = tensor.extract %t[%c0] : tensor<4xi32>
  %i = arith.index_cast %e : i32 to index
  %is = arith.cmpi sge, %i, %c0 : index
  scf.if %is {
    dist.quiet
  })";
  for (auto [before, wait, method] : {std::tuple("", "%n", Method::proved),
                                      {"", "%n scope network", Method::exhaustive},
                                      {kRead, "%n scope network", Method::sampled}}) {
    Verdict verdict = check(TextualIR{senders(before, wait)}, {.cores = 1});
    EXPECT_EQ(verdict.method, method) << verdict.text();
    ASSERT_EQ(verdict.findings.size(), 1u) << verdict.text();
    EXPECT_EQ(verdict.findings[0].kind, FindingKind::severalSenders) << verdict.text();
  }
}

} // namespace
} // namespace ditron::checker
