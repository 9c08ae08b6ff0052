// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thousands of random small programs: the explorer, with and without reduction, says of each what
// the enumeration of the memory model by its definition says (Oracle.h).
#include "Explored.h"
#include "Oracle.h"

namespace ditron::explorer {
namespace {

/// A scope is too narrow for a wait and a notify, or so that two accesses race.
bool isBetweenSignals(const Finding &finding) { return finding.parties[0].op == "dist.wait"; }

bool isRace(const Finding &finding) {
  FindingKind kind = finding.kind;
  return kind == FindingKind::dataRace || kind == FindingKind::unfinishedPut ||
         kind == FindingKind::wrongNotifier || kind == FindingKind::sharedSignal ||
         (kind == FindingKind::narrowScope && !isBetweenSignals(finding));
}
bool isDeadlock(FindingKind kind) {
  return kind == FindingKind::deadlock || kind == FindingKind::lostSignal;
}

oracle::Outcome outcomeOf(const Exploration &exploration) {
  oracle::Outcome outcome;
  for (const Finding &finding : exploration.findings) {
    if (isRace(finding))
      outcome.races.insert(std::minmax(static_cast<int>(finding.parties[0].line),
                                       static_cast<int>(finding.parties[1].line)));
    outcome.deadlock |= isDeadlock(finding.kind);
    outcome.negative |= finding.kind == FindingKind::invalidProgram;
    outcome.narrow |= finding.kind == FindingKind::narrowScope && isBetweenSignals(finding);
  }
  return outcome;
}

void compare(const oracle::Outcome &expected, const Exploration &exploration,
             const std::string &text) {
  oracle::Outcome found = outcomeOf(exploration);
  std::string all = text + toString(exploration);
  EXPECT_EQ(exploration.method, Method::exhaustive) << all;
  EXPECT_EQ(found.deadlock, expected.deadlock) << all;
  EXPECT_EQ(found.negative, expected.negative) << all;
  EXPECT_EQ(found.narrow, expected.narrow) << all;
  EXPECT_EQ(found.races, expected.races) << all;
}

struct Tally {
  int clean = 0, races = 0, deadlocks = 0, negative = 0, narrow = 0;

  void add(const oracle::Outcome &outcome) {
    races += !outcome.races.empty();
    deadlocks += outcome.deadlock;
    negative += outcome.negative;
    narrow += outcome.narrow;
    clean += outcome.races.empty() && !outcome.deadlock && !outcome.negative && !outcome.narrow;
  }
};

Tally compareAll(uint64_t first, uint64_t count, bool forms) {
  Tally tally;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    oracle::Program program = oracle::randomProgram(seed, forms);
    std::string text = oracle::toText(program);
    oracle::Outcome expected = oracle::enumerate(program);
    tally.add(expected);
    Source source(text);
    ExploreOptions options;
    for (bool reduce : {true, false}) {
      options.reduce = reduce;
      SCOPED_TRACE(fmt::format("seed {}, reduce {}", seed, reduce));
      Exploration exploration = source.explore("kernel", options);
      compare(expected, exploration, text);
      if (seed % 8 == 0) // what is printed can be followed
        for (const Finding &finding : exploration.findings)
          EXPECT_EQ(follow(source.record("kernel"), finding.schedule), finding.steps) << text;
    }
  }
  return tally;
}

TEST(Differential, ProgramsOfTheLanguage) {
  Tally tally = compareAll(1, 1500, /*forms=*/false);
  EXPECT_GT(tally.clean, 100);
  EXPECT_GT(tally.races, 100);
  EXPECT_GT(tally.deadlocks, 100);
}

TEST(Differential, ProgramsWithForms) {
  Tally tally = compareAll(100'001, 2500, /*forms=*/true);
  EXPECT_GT(tally.clean, 100);
  EXPECT_GT(tally.races, 100);
  EXPECT_GT(tally.deadlocks, 100);
  EXPECT_GT(tally.negative, 50);
  EXPECT_GT(tally.narrow, 50);
}

} // namespace
} // namespace ditron::explorer
