// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 8: checking a kernel before it runs. Races, deadlocks, and how good the tests are.
//
// A kernel that works today may count on luck: on a put that is fast, on ranks that go in step.
// ditron::check runs it once in an interpreter, for as many ranks as you like, on this thread, and
// finds what can go wrong in any other schedule. One call in a unit test.
#include "Lesson.h"
#include <ditron/checker/Check.h>
using namespace ditron;

// Every rank passes its x to the next one of a ring, tile by tile. `counters` is a mistake that is
// easy to make: one counter for all tiles. Who waits for i + 1 takes tiles 0 to i to be there, but
// two cores put them, in any order.
Kernel shift(bool oneCounter) {
  return Kernel("shift(x[N]) -> y[N]", [=](In<f32, 1> x, Out<f32, 1> y) {
    auto xs = x.tiled(64);
    auto ys = y.tiled(64);
    auto inbox = symmetric<f32>({x.size()}, "inbox");
    auto arrived = signals(xs.cols(), "arrived");
    auto next = (rank() + 1) % numRanks();
    for (auto [i] : xs.tiles()) {
      put(xs(i), inbox.on(next).tiled(64)(i));
      notify(arrived.on(next)(oneCounter ? Index(0) : i));
    }
    for (auto [i] : ys.tiles()) {
      wait(oneCounter ? arrived(0) : arrived(i), oneCounter ? i + 1 : Index(1));
      ys(i) = inbox.tiled(64)(i);
    }
  });
}

// A difference that is meant is waived by name, with a reason. The verdict lists it.
Kernel lastWins() {
  return Kernel("last-wins(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto winner = symmetric<i32>({1}, "winner").tiled(1);
    waive("any-core", "any core's number will do", [&] { winner(0) = toTile(coreId()); });
    for (auto [i] : y.tiled(64).tiles())
      y.tiled(64)(i) = x.tiled(64)(i);
  });
}

static void expect(bool isTrue, const Verdict &verdict) {
  if (!isTrue)
    throw Error("unexpected verdict: " + verdict.text());
}

int main() {
  return lesson::run("08-check", [] {
    CheckOptions options{.ranks = 3, .cores = 2, .shape = {{"N", 150}}};

    // A finding names the two accesses, why nothing orders them, and a schedule that leads there.
    Verdict broken = check(shift(true), options);
    expect(!broken.clean() && broken.findings[0].kind == FindingKind::wrongNotifier, broken);
    std::printf("%s\n", broken.text().c_str());

    // With a counter for each tile: clean, in every schedule, for any number of launches.
    Verdict fixed = check(shift(false), options);
    expect(fixed.clean() && fixed.method == Method::proved, fixed);
    std::printf("%s\n", fixed.text().c_str());

    Verdict waived = check(lastWins(), {.ranks = 1, .shape = {{"N", 64}}});
    expect(waived.clean() && waived.waivers.size() == 1, waived);
    std::printf("%s\n", waived.text().c_str());

    // How much of the synchronisation does the check hold in place? Each mistake in turn: killed is
    // what it finds, equivalent what is no mistake. One is missed: a put to the rank itself, which
    // is put and read in a good order, and computes something else. The check does not know what a
    // kernel is to compute; a test that compares results does.
    int missed = 0;
    for (const Mutant &mutant : mutate(shift(false), options)) {
      std::printf("%s: %s: %s %s\n", mutant.source.c_str(), mutant.what.c_str(),
                  name(mutant.outcome).data(), mutant.finding.c_str());
      missed += mutant.outcome == Mutant::Outcome::missed;
    }
    if (missed != 1)
      throw Error(std::to_string(missed) + " mutants are missed, expected 1");
  });
}
