// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explored.h"
#include "ditron/support/Error.h"

namespace ditron::explorer {
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
  %theirs = dist.on %s, %other : !dist.signals<0> -> !dist.signals<0, remote>
  scf.for %round = %c0 to %c2 step %c1 {{
    dist.notify %theirs[] add %c1 : !dist.signals<0, remote>
    %n = arith.addi %round, %c1 : index
    dist.wait %s[] {} : !dist.signals<0>
    {}
  }}
  return
}})",
                     wait, after);
}
const char *const kSubtract = "dist.notify %s[] subtract %c1 : !dist.signals<0>";

TEST(Explorer, ExactBarrierDeadlocks) {
  Source source(barrier("== %c1", kSubtract));
  ExploreOptions all;
  all.reduce = false;
  Exploration explored = source.explore("kernel", all);
  EXPECT_EQ(explored.method, Method::exhaustive);
  EXPECT_EQ(explored.states, 27u);
  ASSERT_EQ(explored.findings.size(), 1u) << toString(explored);
  const Finding &finding = explored.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::deadlock);
  EXPECT_EQ(finding.steps.size(), 5u) << toString(explored);
  EXPECT_EQ(finding.parties.size(), 2u);

  Exploration reduced = source.explore("kernel");
  EXPECT_LE(reduced.states, 27u);
  ASSERT_EQ(reduced.findings.size(), 1u) << toString(reduced);
  EXPECT_EQ(reduced.findings[0].steps, finding.steps);
  EXPECT_EQ(follow(source.record("kernel"), finding.schedule), finding.steps);
}

TEST(Explorer, OtherBarriersPass) {
  for (auto [wait, after] : {std::pair(">= %c1", kSubtract), {">= %n", ""}, {">= %c1 take", ""}}) {
    ExploreOptions options;
    for (bool reduce : {false, true}) {
      options.reduce = reduce;
      Exploration explored = Source(barrier(wait, after)).explore("kernel", options);
      EXPECT_EQ(explored.method, Method::exhaustive);
      EXPECT_TRUE(explored.findings.empty()) << wait << "\n" << toString(explored);
    }
  }
}

} // namespace
} // namespace ditron::explorer
