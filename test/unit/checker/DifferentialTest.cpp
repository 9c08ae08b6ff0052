// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thousands of random small programs: the check and the explorer, with and without reduction, say
// of each what the enumeration of the memory model by its definition says (Oracle.h).
#include "Explored.h"
#include "Oracle.h"

namespace ditron::checker {
namespace {

/// A scope is too narrow for a wait and a notify, or so that two accesses race.
bool isBetweenSignals(const Finding &finding) { return finding.parties[0].op == "dist.wait"; }

bool isRace(const Finding &finding) {
  FindingKind kind = finding.kind;
  return kind == FindingKind::dataRace || kind == FindingKind::unfinishedPut ||
         kind == FindingKind::workspaceReuse || kind == FindingKind::wrongNotifier ||
         kind == FindingKind::sharedSignal ||
         (kind == FindingKind::narrowScope && !isBetweenSignals(finding));
}
bool isDeadlock(FindingKind kind) {
  return kind == FindingKind::deadlock || kind == FindingKind::lostSignal;
}

oracle::Outcome outcomeOf(const std::vector<Finding> &findings) {
  oracle::Outcome outcome;
  for (const Finding &finding : findings) {
    if (isRace(finding))
      outcome.races.insert(std::minmax(static_cast<int>(finding.parties[0].line),
                                       static_cast<int>(finding.parties[1].line)));
    outcome.deadlock |= isDeadlock(finding.kind);
    outcome.negative |= finding.kind == FindingKind::invalidProgram;
    outcome.narrow |= finding.kind == FindingKind::narrowScope && isBetweenSignals(finding);
  }
  return outcome;
}

std::vector<Finding> findingsOf(const Exploration &exploration) {
  std::vector<Finding> findings;
  for (const Explained &one : exploration.findings)
    findings.push_back(one.finding);
  return findings;
}

void compare(const oracle::Outcome &expected, const std::vector<Finding> &findings,
             const std::string &text) {
  oracle::Outcome found = outcomeOf(findings);
  EXPECT_EQ(found.deadlock, expected.deadlock) << text;
  EXPECT_EQ(found.negative, expected.negative) << text;
  EXPECT_EQ(found.narrow, expected.narrow) << text;
  EXPECT_EQ(found.races, expected.races) << text;
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

/// A race and a deadlock of one program: the accesses behind a wait that is stuck are never made,
/// so the proof, which looks at one schedule as far as it comes, tells the deadlock first.
void compareVerdict(const oracle::Outcome &expected, const std::string &text,
                    const CheckOptions &options, bool replays) {
  TextualIR ir{text};
  Verdict verdict = check(ir, options);
  oracle::Outcome found = outcomeOf(verdict.findings);
  std::string all = text + verdict.text();
  EXPECT_NE(verdict.method, Method::sampled) << all;
  compare(expected, verdict.findings, all);
  for (const Finding &finding : verdict.findings)
    if (replays)
      EXPECT_NO_THROW(replay(ir, options, finding.schedule)) << all;
}

Tally compareAll(uint64_t first, uint64_t count, bool forms) {
  Tally tally;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    oracle::Program program = oracle::randomProgram(seed, forms);
    std::string text = oracle::toText(program);
    oracle::Outcome expected = oracle::enumerate(program);
    tally.add(expected);
    CheckOptions options{.ranks = program.ranks,
                         .cores = program.cores,
                         .nodes = program.nodes,
                         .launches = 1,
                         .schedules = 0};
    Source source(text, options);
    for (bool reduce : {true, false}) {
      SCOPED_TRACE(fmt::format("seed {}, reduce {}", seed, reduce));
      Exploration exploration = source.explore({.reduce = reduce});
      EXPECT_TRUE(exploration.isExhaustive);
      compare(expected, findingsOf(exploration), text + toString(exploration));
    }
    SCOPED_TRACE(fmt::format("seed {}, check", seed));
    compareVerdict(expected, text, options, seed % 8 == 0);
  }
  return tally;
}

TEST(Differential, ProgramsOfTheLanguage) {
  Tally tally = compareAll(1, 1000, /*forms=*/false);
  EXPECT_GT(tally.clean, 100);
  EXPECT_GT(tally.races, 100);
  EXPECT_GT(tally.deadlocks, 100);
}

TEST(Differential, ProgramsWithForms) {
  Tally tally = compareAll(100'001, 1500, /*forms=*/true);
  EXPECT_GT(tally.clean, 100);
  EXPECT_GT(tally.races, 100);
  EXPECT_GT(tally.deadlocks, 100);
  EXPECT_GT(tally.negative, 20);
  EXPECT_GT(tally.narrow, 20);
}

} // namespace
} // namespace ditron::checker
