// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decision procedure on small traces, and against all interleavings of random ones.
#include "ditron/checker/causality/Causality.h"
#include "ditron/checker/causality/Races.h"
#include "ditron/checker/causality/Witness.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace ditron::checker {
namespace {

using Kind = Event::Kind;

/// A trace by hand: every event is an op of its own, bytes are those of one memory.
class Builder {
public:
  explicit Builder(size_t threads, size_t counters = 4) {
    trace_.threads.resize(threads);
    trace_.cores = static_cast<int64_t>(threads);
    trace_.roles = {""};
    trace_.memories = {{"m", 0, DType::i8, true, false}};
    for (size_t c = 0; c < counters; ++c)
      trace_.counters.push_back({"signal", Trace::Counter::Kind::signal});
  }
  Builder &add(uint32_t thread, Kind kind, uint32_t counter, uint64_t value) {
    return push(thread, kind, counter, value);
  }
  Builder &notify(uint32_t thread, uint32_t counter, uint64_t value = 1) {
    return push(thread, Kind::notifyAdd, counter, value);
  }
  Builder &wait(uint32_t thread, uint32_t counter, uint64_t value = 1) {
    return push(thread, Kind::wait, counter, value);
  }
  Builder &access(uint32_t thread, Kind kind, int64_t first, int64_t count = 1) {
    return push(thread, kind, trace_.footprints.add(0, first, {count}, {1}, 1), 0);
  }
  Builder &write(uint32_t thread, int64_t at) { return access(thread, Kind::write, at); }
  Builder &read(uint32_t thread, int64_t at) { return access(thread, Kind::read, at); }
  const Trace &trace() const { return trace_; }
  Trace &trace() { return trace_; }

private:
  Builder &push(uint32_t thread, Kind kind, uint32_t object, uint64_t value) {
    auto op = static_cast<uint32_t>(trace_.ops.size());
    trace_.ops.push_back({"op", "test", op, {}});
    trace_.sites.push_back({op, 0, {}});
    Event event;
    event.kind = kind;
    event.site = op;
    event.object = object;
    event.value = value;
    trace_.threads[thread].push_back(event);
    return *this;
  }
  Trace trace_;
};

RaceReport racesOf(const Trace &trace) {
  return findRaces(trace, Causality(trace.threads, trace.counters.size()));
}
size_t countRaces(const Builder &builder) { return racesOf(builder.trace()).races.size(); }

TEST(Causality, ANotifyAndAWaitGiveOrder) {
  Builder b(2);
  b.write(0, 0).notify(0, 0);
  b.wait(1, 0).read(1, 0);
  Causality causality(b.trace().threads, 4);
  EXPECT_TRUE(causality.mustPrecede({0, 0}, {1, 1}));
  EXPECT_TRUE(causality.mustPrecede({0, 1}, {1, 0}));
  EXPECT_FALSE(causality.mustPrecede({1, 1}, {0, 0}));
  EXPECT_EQ(countRaces(b), 0u);
}

TEST(Causality, ANotifyBeforeTheWriteGivesNone) {
  Builder b(2);
  b.notify(0, 0).write(0, 0);
  b.wait(1, 0).read(1, 0);
  ASSERT_EQ(countRaces(b), 1u);
  Race race = racesOf(b.trace()).races[0];
  EXPECT_EQ(race.first, (Position{0, 1}));
  EXPECT_EQ(race.second, (Position{1, 1}));
}

// Two notify one counter, one is waited for: whichever comes first.
TEST(Causality, ACumulativeCounterMayBeSatisfiedByTheOther) {
  Builder b(3);
  b.write(0, 0).notify(0, 0);
  b.write(1, 1).notify(1, 0);
  b.wait(2, 0, 1).read(2, 0);
  EXPECT_EQ(countRaces(b), 1u);
  Builder both(3);
  both.write(0, 0).notify(0, 0);
  both.write(1, 1).notify(1, 0);
  both.wait(2, 0, 2).read(2, 0).read(2, 1);
  EXPECT_EQ(countRaces(both), 0u);
}

TEST(Causality, OrderIsTransitive) {
  Builder b(3);
  b.write(0, 0).notify(0, 0);
  b.wait(1, 0).notify(1, 1);
  b.wait(2, 1).read(2, 0);
  EXPECT_EQ(countRaces(b), 0u);
}

TEST(Causality, TheLargerOfTwoValuesSetMaySatisfyAWait) {
  Builder b(3);
  b.write(0, 0).add(0, Kind::notifySet, 0, 1);
  b.write(1, 1).add(1, Kind::notifySet, 0, 2);
  b.wait(2, 0, 1).read(2, 0); // 2 is enough too
  b.wait(2, 0, 2).read(2, 1); // only 2 is
  EXPECT_EQ(countRaces(b), 1u);
}

TEST(Races, AtomicsDoNotRaceWithAtomics) {
  Builder b(2);
  b.access(0, Kind::atomic, 0);
  b.access(1, Kind::atomic, 0);
  RaceReport report = racesOf(b.trace());
  EXPECT_TRUE(report.races.empty());
  EXPECT_TRUE(report.hasUnorderedAtomics);
  b.read(1, 0);
  EXPECT_EQ(countRaces(b), 1u) << "with the read of another core";
}

TEST(Races, OnlyBytesThatBothTouch) {
  Builder b(2);
  b.access(0, Kind::write, 0, 4);
  b.access(1, Kind::write, 4, 4);
  EXPECT_EQ(countRaces(b), 0u);
  b.access(1, Kind::read, 3, 2);
  ASSERT_EQ(countRaces(b), 1u);
  EXPECT_EQ(racesOf(b.trace()).races[0].bytes, (Bytes{3, 4}));
}

TEST(Races, APutIsUnfinishedUntilTheNextRelease) {
  Builder early(1);
  early.access(0, Kind::putSource, 0).write(0, 0).notify(0, 0);
  EXPECT_EQ(countRaces(early), 1u);
  Builder late(1);
  late.access(0, Kind::putSource, 0).notify(0, 0).write(0, 0);
  EXPECT_EQ(countRaces(late), 0u);
  Builder quiet(1);
  quiet.access(0, Kind::putTarget, 0).add(0, Kind::quiet, 0, 0).read(0, 0);
  EXPECT_EQ(countRaces(quiet), 0u);
  Builder read(1);
  read.access(0, Kind::putSource, 0).read(0, 0);
  EXPECT_EQ(countRaces(read), 0u) << "both read";
}

TEST(Races, AFenceOrdersPutsToOneRank) {
  Builder none(1);
  none.access(0, Kind::putTarget, 0).access(0, Kind::putTarget, 0);
  EXPECT_EQ(countRaces(none), 1u);
  Builder fenced(1);
  fenced.access(0, Kind::putTarget, 0).add(0, Kind::fence, 0, 0).access(0, Kind::putTarget, 0);
  EXPECT_EQ(countRaces(fenced), 0u);
  Builder store(1);
  store.access(0, Kind::putTarget, 0).add(0, Kind::fence, 0, 0).write(0, 0);
  EXPECT_EQ(countRaces(store), 1u) << "a fence does not wait";
}

TEST(Races, AScopeHasToSpanThePath) {
  auto faults = [](Scope scope, bool isSeen) {
    Builder b(2);
    b.trace().cores = 1; // two ranks
    if (isSeen)
      b.wait(1, 0).notify(0, 0);
    else // the wait comes before the notify in every schedule
      b.wait(1, 0, 0).notify(1, 1).wait(0, 1).notify(0, 0);
    for (Thread &thread : b.trace().threads)
      for (Event &event : thread)
        if (event.object == 0)
          event.scope = scope;
    Causality causality(b.trace().threads, 4);
    return findNarrowScopes(b.trace(), causality).size();
  };
  EXPECT_EQ(faults(Scope::device, true), 1u);
  EXPECT_EQ(faults(Scope::system, true), 0u);
  EXPECT_EQ(faults(Scope::device, false), 0u);
}

TEST(Witness, NoMoreThanIsNeeded) {
  Builder b(3);
  b.write(0, 5).notify(0, 1).notify(0, 1).write(0, 0).notify(0, 0);
  b.write(1, 6).notify(1, 0).write(1, 7);
  b.wait(2, 0, 1).read(2, 0);
  ASSERT_EQ(countRaces(b), 1u);
  // The write stands at event 3 of core 0; the read at event 1 of core 2, behind core 1's notify.
  Schedule schedule = shortestTo(b.trace(), {{0, 3}, {2, 1}});
  EXPECT_EQ(toText(schedule, 3), "0.1:2 0.0:3 0.2:1");
  EXPECT_EQ(parseSchedule("0.1:2 0.0:3 0.2:1", 1, 3), schedule);
  EXPECT_THROW(parseSchedule("0.1:2 0.3:1", 1, 3), CompileError);
  EXPECT_THROW(parseSchedule("0.1", 1, 3), CompileError);
}

//===-- Against all interleavings -------------------------------------------------------------===//

/// Everything that can happen, by trying: the positions that can be reached, and from them which
/// pairs of events can happen in which order.
class Oracle {
public:
  explicit Oracle(const Trace &trace) : trace_(trace) {
    visit(std::vector<uint32_t>(trace.threads.size(), 0));
  }
  bool isStuck() const { return stuck_; }
  /// Whether some schedule executes `a` when `b` has not been.
  bool canBeFirst(Position a, Position b) const { return first_.contains({a, b}); }

private:
  bool isEnabled(const Event &event, const std::vector<uint32_t> &at) const {
    if (event.kind != Kind::wait)
      return true;
    uint64_t value = 0;
    for (size_t t = 0; t < at.size(); ++t)
      for (uint32_t i = 0; i < at[t]; ++i) {
        const Event &other = trace_.threads[t][i];
        if (other.object == event.object && other.kind == Kind::notifyAdd)
          value += other.value;
        if (other.object == event.object && other.kind == Kind::notifySet)
          value = std::max(value, other.value);
      }
    return value >= event.value;
  }

  void visit(const std::vector<uint32_t> &at) {
    if (!seen_.insert(at).second)
      return;
    bool moved = false, done = true;
    for (uint32_t t = 0; t < at.size(); ++t) {
      if (at[t] == trace_.threads[t].size())
        continue;
      done = false;
      if (!isEnabled(trace_.threads[t][at[t]], at))
        continue;
      moved = true;
      for (uint32_t other = 0; other < at.size(); ++other)
        for (uint32_t i = at[other]; i < trace_.threads[other].size(); ++i)
          if (other != t)
            first_.insert({{t, at[t]}, {other, i}});
      std::vector<uint32_t> next = at;
      ++next[t];
      visit(next);
    }
    stuck_ |= !moved && !done;
  }

  const Trace &trace_;
  std::set<std::vector<uint32_t>> seen_;
  std::set<std::pair<Position, Position>> first_;
  bool stuck_ = false;
};

Builder randomProgram(std::mt19937 &random) {
  size_t threads = 2 + random() % 2;
  bool sets = random() % 4 == 0;
  Builder b(threads, 2);
  for (uint32_t t = 0; t < threads; ++t)
    for (uint32_t n = 2 + random() % 4; n > 0; --n) {
      auto counter = static_cast<uint32_t>(random() % 2);
      switch (random() % 4) {
      case 0:
        b.add(t, sets ? Kind::notifySet : Kind::notifyAdd, counter, 1 + random() % 2);
        break;
      case 1:
        b.wait(t, counter, 1 + random() % 2);
        break;
      case 2:
        b.read(t, static_cast<int64_t>(random() % 2));
        break;
      default:
        b.write(t, static_cast<int64_t>(random() % 2));
      }
    }
  return b;
}

TEST(Causality, AgreesWithAllInterleavings) {
  std::mt19937 random(7);
  size_t races = 0, stuckPrograms = 0, clean = 0;
  for (int n = 0; n < 3000; ++n) {
    Builder b = randomProgram(random);
    const Trace &trace = b.trace();
    Oracle oracle(trace);
    Front front(trace.threads, trace.counters.size());
    front.allowAll();
    front.run();
    bool stuck = false;
    for (uint32_t t = 0; t < trace.threads.size(); ++t)
      stuck |= front.isBlocked(t);
    ASSERT_EQ(stuck, oracle.isStuck()) << "program " << n;
    stuckPrograms += stuck;
    if (stuck)
      continue;
    Causality causality(trace.threads, trace.counters.size());
    std::set<std::pair<Position, Position>> expected, found;
    for (uint32_t t = 0; t < trace.threads.size(); ++t)
      for (uint32_t u = 0; u < trace.threads.size(); ++u)
        for (uint32_t i = 0; i < trace.threads[t].size(); ++i)
          for (uint32_t j = 0; t != u && j < trace.threads[u].size(); ++j) {
            Position x{t, i}, y{u, j};
            ASSERT_EQ(causality.mustPrecede(x, y), !oracle.canBeFirst(y, x)) << "program " << n;
            ASSERT_EQ(causality.unordered(x, u).contains(j),
                      oracle.canBeFirst(x, y) && oracle.canBeFirst(y, x));
            const Event &e = trace.at(x), &f = trace.at(y);
            if (t < u && e.isAccess() && f.isAccess() && e.object == f.object &&
                (e.writes() || f.writes()) && oracle.canBeFirst(x, y) && oracle.canBeFirst(y, x))
              expected.insert({x, y});
          }
    for (const Race &race : racesOf(trace).races)
      found.insert(std::minmax(race.first, race.second));
    ASSERT_EQ(found, expected) << "program " << n;
    (expected.empty() ? clean : races) += 1;
  }
  EXPECT_GT(races, 300u);
  EXPECT_GT(clean, 100u);
  EXPECT_GT(stuckPrograms, 300u);
}

} // namespace
} // namespace ditron::checker
