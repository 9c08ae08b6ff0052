// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One small kernel for every kind of finding, broken and mended.
#include "ditron/checker/Check.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>

namespace ditron {
namespace {

/// A kernel of 2 x 3 elements.
template <class Body> Kernel kernel(const Body &body) {
  return Kernel("kernel(x[M,N]) -> y[M,N]", body);
}

Verdict checked(const Kernel &kernel, CheckOptions options = {.cores = 1}) {
  options.shape = {{"M", 2}, {"N", 3}};
  return check(kernel, options);
}

const Finding *find(const Verdict &verdict, FindingKind kind) {
  for (const Finding &finding : verdict.findings)
    if (finding.kind == kind)
      return &finding;
  return nullptr;
}

/// Expects a finding of this kind with a party at this line of this file, whose schedule can be
/// followed; returns it.
Finding expectFinding(const Kernel &kernel, CheckOptions options, FindingKind kind, int line) {
  options.shape = {{"M", 2}, {"N", 3}};
  Verdict verdict = check(kernel, options);
  const Finding *found = find(verdict, kind);
  EXPECT_TRUE(found) << "expected " << name(kind) << "\n" << verdict.text();
  if (!found)
    return {};
  bool atLine = std::any_of(found->parties.begin(), found->parties.end(),
                            [&](const Party &party) { return party.line == line; });
  EXPECT_TRUE(atLine) << "expected line " << line << "\n" << verdict.text();
  EXPECT_NO_THROW(replay(kernel, options, found->schedule)) << verdict.text();
  return *found;
}

/// Each rank puts x on the next one, says so, and takes what it was given.
struct Exchange {
  bool notifies = true, waits = true, notifiesFirst = false;
  int threshold = 1;
  mutable int wrote = 0, read = 0, waited = 0;

  Kernel make() const {
    return kernel([this](In<f32> x, Out<f32> y) {
      auto buffer = symmetric<f32>({x.rows(), x.cols()}, "buffer");
      auto ready = signals({1}, "ready");
      Index next = (rank() + 1) % numRanks();
      if (notifiesFirst)
        notify(ready.on(next)(0));
      put(x, buffer.on(next)), wrote = __LINE__;
      if (notifies && !notifiesFirst)
        notify(ready.on(next)(0));
      if (waits)
        wait(ready(0), threshold), waited = __LINE__;
      y.tiled(4, 4)(0, 0) = buffer.tiled(4, 4)(0, 0), read = __LINE__;
    });
  }
};

TEST(Findings, NoneWhereThereIsNone) {
  Verdict verdict = checked(Exchange().make(), {.ranks = 3, .cores = 1});
  EXPECT_TRUE(verdict.clean()) << verdict.text();
  EXPECT_EQ(verdict.method, Method::proved);
  EXPECT_EQ(verdict.schedules, 5);
  EXPECT_TRUE(verdict.isComplete);
}

TEST(Findings, DataRace) {
  Exchange exchange{.waits = false};
  Kernel broken = exchange.make();
  Finding race = expectFinding(broken, {.cores = 1}, FindingKind::dataRace, exchange.wrote);
  ASSERT_EQ(race.parties.size(), 2u);
  EXPECT_EQ(race.parties[1].line, exchange.read);
  EXPECT_EQ(race.parties[0].op, "dist.put");
  EXPECT_EQ(race.parties[0].rank, 0);
  EXPECT_EQ(race.parties[1].rank, 1);
  EXPECT_EQ(race.parties[0].what, "puts to bytes 0 to 23 of 'buffer' of rank 1");
}

/// What reads the next row, too, races with whoever writes that in place.
TEST(Findings, DataRaceInPlace) {
  int line = 0;
  auto rows = [&](int more) {
    return kernel([&](In<f32> x, Out<f32> y) {
      for (auto [i, j] : y.tiled(1, 4).tiles())
        y.tiled(1, 4)(i, j) = x.tiled(1, 4)(i, j) + x.tiled(1, 4)(i + more, j), line = __LINE__;
    });
  };
  CheckOptions options{.ranks = 1, .cores = 2};
  for (const Kernel &clean : {rows(1), rows(0).inPlace("y", "x")}) {
    Verdict verdict = checked(clean, options);
    EXPECT_TRUE(verdict.clean() && verdict.method == Method::proved) << verdict.text();
  }
  Finding race = expectFinding(rows(1).inPlace("y", "x"), options, FindingKind::dataRace, line);
  ASSERT_FALSE(race.notes.empty());
  EXPECT_EQ(race.notes.back(), "in a launch in place, where 'y' is 'x'");
}

TEST(Findings, PutBehindTheNotify) {
  Exchange exchange{.notifiesFirst = true};
  Kernel broken = exchange.make();
  expectFinding(broken, {.cores = 1}, FindingKind::dataRace, exchange.read);
}

TEST(Findings, WaitForLessThanNothing) {
  Exchange exchange{.threshold = 0};
  Kernel broken = exchange.make();
  Finding race = expectFinding(broken, {.cores = 1}, FindingKind::dataRace, exchange.read);
  ASSERT_FALSE(race.notes.empty());
  EXPECT_NE(race.notes[0].find("passes at once"), std::string::npos) << race.notes[0];
}

TEST(Findings, LostSignal) {
  Exchange exchange{.threshold = 2};
  Kernel broken = exchange.make();
  Finding lost = expectFinding(broken, {.cores = 1}, FindingKind::lostSignal, exchange.waited);
  EXPECT_EQ(lost.parties[0].what, "waits for signal 'ready'[0] of rank 0 to reach 2, it is 1");
  ASSERT_FALSE(lost.notes.empty());
  EXPECT_NE(lost.notes[0].find("notified it: rank 1, core 0 (FindingsTest.cpp:"), std::string::npos)
      << lost.notes[0];
}

/// Rank 0 gathers a row of everyone and waits for all but one.
TEST(Findings, WrongNotifier) {
  auto gather = [](int missing) {
    return kernel([=](In<f32> x, Out<f32> y) {
      auto slots = symmetric<f32>({numRanks(), x.rows(), x.cols()}, "slots");
      auto arrived = signals({1}, "arrived");
      put(x, slots.on(0).at(rank()));
      notify(arrived.on(0)(0));
      when(rank() == 0, [&] {
        wait(arrived(0), numRanks() - missing);
        Var sum = zeros<f32>(4, 4);
        for (auto r : range(numRanks()))
          sum += slots.tiled(4, 4)(r, 0, 0);
        y.tiled(4, 4)(0, 0) = sum;
      });
    });
  };
  Verdict verdict = checked(gather(1), {.ranks = 3, .cores = 1});
  const Finding *found = find(verdict, FindingKind::wrongNotifier);
  ASSERT_TRUE(found) << verdict.text();
  EXPECT_NE(found->notes[0].find("passes without the notify of rank"), std::string::npos);
  EXPECT_TRUE(checked(gather(0), {.ranks = 3, .cores = 1}).clean());
}

/// The reader waits for whichever role is first.
TEST(Findings, SharedSignal) {
  auto share = [](bool apart) {
    return kernel([=](In<f32> x, Out<f32> y) {
      auto buffer = symmetric<f32>({x.rows(), x.cols()}, "buffer");
      auto done = signals({2}, "done");
      auto [write, other, read] = splitCores(1, 1);
      write.run("write", [&] {
        buffer.tiled(4, 4)(0, 0) = x.tiled(4, 4)(0, 0);
        notify(done.on(rank())(0));
      });
      other.run("other", [&] { notify(done.on(rank())(apart ? 1 : 0)); });
      read.run("read", [&] {
        wait(done(0), 1);
        y.tiled(4, 4)(0, 0) = buffer.tiled(4, 4)(0, 0);
      });
    });
  };
  Verdict verdict = checked(share(false), {.ranks = 1, .cores = 3});
  EXPECT_TRUE(find(verdict, FindingKind::sharedSignal)) << verdict.text();
  EXPECT_TRUE(checked(share(true), {.ranks = 1, .cores = 3}).clean());
}

TEST(Findings, WorkspaceReuse) {
  auto ir = [](const char *pages) {
    return std::string(R"(
!sym = memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
func.func @kernel(%A: memref<2xf32> {tile.readonly}, %C: memref<2xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %me = dist.rank
  %peer = arith.subi %c1, %me : index
  %b = dist.symmetric "b"(%c2) )") +
           pages + R"( : !sym
  %s = dist.signals "s"() : !dist.signals<0>
  dist.put_notify %A, %b, %s[] on %peer add %c1 : memref<2xf32>, !sym, !dist.signals<0>
  dist.wait %s[] >= %c1 : !dist.signals<0>
  %x = tile.load %b[%c0] : !sym -> tensor<2xf32>
  tile.store %x, %C[%c0] : tensor<2xf32>, memref<2xf32>
  return
})";
  };
  EXPECT_TRUE(check(TextualIR{ir("")}, {.cores = 1}).clean());
  Verdict verdict = check(TextualIR{ir("{dist.pages = 1 : i64}"), "reuse.mlir"}, {.cores = 1});
  const Finding *found = find(verdict, FindingKind::workspaceReuse);
  ASSERT_TRUE(found) << verdict.text();
  EXPECT_EQ(found->parties[0].source(), "reuse.mlir:13");
  EXPECT_EQ(found->parties[1].source(), "reuse.mlir:11");
  EXPECT_EQ(found->parties[0].launch, 0);
  EXPECT_EQ(found->parties[1].launch, 1);
}

/// A queue of two entries between two roles: an entry is free when what was in it has been read.
TEST(Findings, WorkspaceReuseInALaunch) {
  int read = 0, wrote = 0;
  auto queue = [&](int free) {
    return kernel([&, free](In<f32> x, Out<f32> y) {
      auto entries = symmetric<f32>({2, x.cols()}, "entries").tiled(1, 4);
      auto full = signals({1}, "full"), empty = signals({1}, "empty");
      auto [produce, consume] = splitCores(1);
      produce.run("produce", [&] {
        for (auto i : range(x.rows())) {
          wait(empty(0), i - free);
          entries(i % 2, 0) = x.tiled(1, 4)(i, 0), wrote = __LINE__;
          notify(full.on(rank())(0));
        }
      });
      consume.run("consume", [&] {
        for (auto i : range(x.rows())) {
          wait(full(0), i + 1);
          y.tiled(1, 4)(i, 0) = entries(i % 2, 0), read = __LINE__;
          notify(empty.on(rank())(0));
        }
      });
    });
  };
  CheckOptions options{.ranks = 1, .shape = {{"M", 5}, {"N", 3}}};
  Verdict verdict = check(queue(2), options);
  const Finding *found = find(verdict, FindingKind::workspaceReuse);
  ASSERT_TRUE(found) << verdict.text();
  EXPECT_EQ(found->parties[0].line, read);
  EXPECT_EQ(found->parties[1].line, wrote);
  EXPECT_NE(found->message.find("while it may still be read"), std::string::npos);
  EXPECT_NE(found->notes[0].find("passes at once"), std::string::npos) << found->notes[0];
  EXPECT_TRUE(check(queue(1), options).clean());
}

TEST(Findings, EveryCoreWritesTheSame) {
  auto copy = [](bool isDealt) {
    return kernel([=](In<f32> x, Out<f32> y) {
      auto ys = y.tiled(4, 4);
      if (isDealt)
        for (auto [i, j] : ys.tiles())
          ys(i, j) = x.tiled(4, 4)(i, j);
      else
        ys(0, 0) = x.tiled(4, 4)(0, 0);
    });
  };
  Verdict verdict = checked(copy(false), {.ranks = 1, .cores = 2});
  const Finding *found = find(verdict, FindingKind::dataRace);
  ASSERT_TRUE(found) << verdict.text();
  EXPECT_NE(found->notes[1].find("every core executes this"), std::string::npos);
  EXPECT_TRUE(checked(copy(true), {.ranks = 1, .cores = 2}).clean());
}

TEST(Findings, UnfinishedPut) {
  int line = 0;
  auto reuse = [&](bool isComplete) {
    return kernel([&](In<f32> x, Out<f32> y) {
      auto out = symmetric<f32>({x.rows(), x.cols()}, "out");
      auto in = symmetric<f32>({x.rows(), x.cols()}, "in");
      out.tiled(4, 4)(0, 0) = x.tiled(4, 4)(0, 0);
      put(out, in.on((rank() + 1) % numRanks()));
      if (isComplete)
        quiet();
      out.tiled(4, 4)(0, 0) = zeros<f32>(4, 4), line = __LINE__;
      barrierAll();
      y.tiled(4, 4)(0, 0) = in.tiled(4, 4)(0, 0);
    });
  };
  Kernel broken = reuse(false);
  expectFinding(broken, {.cores = 1}, FindingKind::unfinishedPut, line);
  EXPECT_TRUE(checked(reuse(true)).clean());
}

TEST(Findings, Deadlock) {
  int line = 0;
  auto meet = [&](bool waitsFirst) {
    return kernel([&](In<f32> x, Out<f32> y) {
      auto ready = signals({1}, "ready");
      if (!waitsFirst)
        notify(ready.on((rank() + 1) % numRanks())(0));
      wait(ready(0), 1), line = __LINE__;
      if (waitsFirst)
        notify(ready.on((rank() + 1) % numRanks())(0));
    });
  };
  Kernel broken = meet(true);
  Finding cycle = expectFinding(broken, {.ranks = 3, .cores = 1}, FindingKind::deadlock, line);
  EXPECT_EQ(cycle.parties.size(), 3u);
  EXPECT_NE(cycle.notes[0].find("would be notified by rank"), std::string::npos);
  EXPECT_TRUE(checked(meet(false)).clean());
}

TEST(Findings, DivergentBarrier) {
  int line = 0;
  Kernel broken = kernel(
      [&](In<f32> x, Out<f32> y) { when(coreId() == 0, [&] { barrier(), line = __LINE__; }); });
  expectFinding(broken, {.ranks = 1, .cores = 3}, FindingKind::divergentBarrier, line);
  EXPECT_TRUE(checked(kernel([](In<f32> x, Out<f32> y) { barrier(); }), {.cores = 3}).clean());
}

TEST(Findings, NotResident) {
  int line = 0;
  Kernel handOver = kernel([&](In<f32> x, Out<f32> y) {
    auto ready = signals({1}, "ready");
    auto [first, last] = splitCores(1);
    first.run("first", [&] { wait(ready(0), 1), line = __LINE__; });
    last.run("last", [&] { notify(ready.on(rank())(0)); });
  });
  expectFinding(handOver, {.ranks = 1, .cores = 3, .residentCores = 1}, FindingKind::notResident,
                line);
  EXPECT_TRUE(checked(handOver, {.ranks = 1, .cores = 3, .residentCores = 2}).clean());
  EXPECT_TRUE(checked(handOver, {.ranks = 1, .cores = 3}).clean());
}

TEST(Findings, UninitializedRead) {
  int line = 0;
  Kernel broken = kernel([&](In<f32> x, Out<f32> y) {
    auto buffer = symmetric<f32>({x.rows(), x.cols()}, "buffer");
    y.tiled(4, 4)(0, 0) = buffer.tiled(4, 4)(0, 0), line = __LINE__;
  });
  expectFinding(broken, {.cores = 1}, FindingKind::uninitializedRead, line);
}

TEST(Findings, OutOfBounds) {
  int line = 0;
  Kernel beyond = kernel([&](In<f32> x, Out<f32> y) {
    auto slots = symmetric<f32>({numRanks(), x.rows(), x.cols()}, "slots");
    put(x.tiled(4, 4)(0, 0), slots.on(0).tiled(4, 4)(rank() + 1, 0, 0)), line = __LINE__;
  });
  Finding put = expectFinding(beyond, {.cores = 1}, FindingKind::outOfBounds, line);
  EXPECT_NE(put.message.find("moves a chunk of [2, 3] of 'x' into one of [0, 0] of 'slots'"),
            std::string::npos)
      << put.message;
  Kernel peer = kernel([&](In<f32> x, Out<f32> y) {
    auto ready = signals({1}, "ready");
    notify(ready.on(rank() + 1)(0)), line = __LINE__;
  });
  Finding error = expectFinding(peer, {.cores = 1}, FindingKind::outOfBounds, line);
  EXPECT_NE(error.message.find("names rank 2 of 2 ranks"), std::string::npos) << error.message;
}

TEST(Findings, UnevenAllocation) {
  int line = 0;
  Kernel broken = kernel([&](In<f32> x, Out<f32> y) {
    symmetric<f32>({x.rows() + rank(), x.cols()}, "buffer"), line = __LINE__;
  });
  expectFinding(broken, {.cores = 1}, FindingKind::unevenAllocation, line);
}

/// Ranks that send each other a word by copy engines; `several`: all of them to one counter of a peer.
static Kernel senders(bool several, int &line) {
  return kernel([&line, several](In<f32> x, Out<f32> y) {
    auto slots = symmetric<f32>({numRanks(), x.rows(), x.cols()}, "slots");
    auto arrived = signals({numRanks()}, "arrived");
    copyEngines().run("send", [&] {
      for (auto peer : peers()) {
        put(x, slots.on(peer).at(rank()));
        notify(arrived.on(peer)(several ? Index(0) : rank())), line = __LINE__;
      }
    });
  });
}

TEST(Findings, SeveralSenders) {
  int line = 0;
  Kernel broken = senders(true, line);
  expectFinding(broken, {.ranks = 3, .cores = 1}, FindingKind::severalSenders, line);
  EXPECT_TRUE(checked(senders(true, line), {.ranks = 2, .cores = 1}).clean()); // one other rank
  EXPECT_TRUE(checked(senders(false, line), {.ranks = 3, .cores = 1}).clean());
}

/// Cores that put to the next rank, whose copy engines send it on; `asked`: when that rank has said
/// that it has come; `heard`: and no more once it has sent it.
static Kernel relay(bool asked, bool heard, int &line) {
  return kernel([&line, asked, heard](In<f32> x, Out<f32> y) {
    auto next = (rank() + 1) % numRanks(), before = (rank() + numRanks() - 1) % numRanks();
    auto held = symmetric<f32>({x.rows(), x.cols()}, "held");
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    auto full = signals(1, "full"), arrived = signals(1, "arrived"), here = signals(1, "here");
    copyEngines().run("send", [&] {
      wait(full(0), 1);
      put(held, inbox.on(next));
      notify(arrived.on(next)(0));
    });
    notify(here.on(before)(0));
    if (asked)
      wait(here(0), 1);
    put(x, held.on(next));
    notify(full.on(next)(0)), line = __LINE__;
    wait(arrived(0), 1);
    if (!heard)
      notify(full.on(next)(0)), line = __LINE__;
  });
}

TEST(Findings, StrayNotify) {
  int line = 0;
  CheckOptions options{.ranks = 3, .cores = 1};
  Kernel early = relay(false, true, line);
  Finding finding = expectFinding(early, options, FindingKind::strayNotify, line);
  EXPECT_NE(finding.message.find("before that rank has begun"), std::string::npos)
      << finding.message;
  Kernel late = relay(true, false, line);
  finding = expectFinding(late, options, FindingKind::strayNotify, line);
  EXPECT_NE(finding.message.find("when that rank has ended"), std::string::npos) << finding.message;
  Verdict verdict = checked(relay(true, true, line), options);
  EXPECT_TRUE(verdict.clean()) << verdict.text();
}

//===-- Waivers, text, reproduction -----------------------------------------------------------===//

TEST(Waivers, AreListedWithWhatTheyWaive) {
  Kernel waived = kernel([](In<f32> x, Out<f32> y) {
    auto buffer = symmetric<f32>({x.rows(), x.cols()}, "buffer");
    waive("garbage-in", "the caller overwrites y",
          [&] { y.tiled(4, 4)(0, 0) = buffer.tiled(4, 4)(0, 0); });
    waive("no-use", "nothing is wrong here", [&] { y.tiled(4, 4)(0, 0) = zeros<f32>(4, 4); });
  });
  Verdict verdict = checked(waived);
  EXPECT_TRUE(verdict.clean()) << verdict.text();
  ASSERT_EQ(verdict.waivers.size(), 2u);
  EXPECT_EQ(verdict.waivers[0].name, "garbage-in");
  EXPECT_EQ(verdict.waivers[0].reason, "the caller overwrites y");
  ASSERT_EQ(verdict.waivers[0].waived.size(), 1u);
  EXPECT_EQ(verdict.waivers[0].waived[0].kind, FindingKind::uninitializedRead);
  EXPECT_TRUE(verdict.waivers[1].waived.empty());
  EXPECT_NE(verdict.text().find("waived by 'garbage-in'"), std::string::npos) << verdict.text();
  EXPECT_NE(verdict.text().find("unused waiver 'no-use'"), std::string::npos) << verdict.text();
  EXPECT_THROW(kernel([](In<f32> x, Out<f32> y) { waive("name", "", [] {}); }), CompileError);
}

TEST(Verdict, IsTheSameForTheSameSeed) {
  Kernel broken = Exchange{.waits = false}.make();
  std::string first = checked(broken, {.cores = 1, .seed = 5}).text();
  EXPECT_EQ(first, checked(broken, {.cores = 1, .seed = 5}).text());
  EXPECT_NE(first.find("data-race: 'buffer' of rank 1 is put to at FindingsTest.cpp:"),
            std::string::npos)
      << first;
}

TEST(Replay, FollowsTheScheduleToTheTwoAccesses) {
  Exchange exchange{.waits = false};
  Kernel broken = exchange.make();
  CheckOptions options{.cores = 1, .shape = {{"M", 2}, {"N", 3}}};
  Finding race = check(broken, options).findings[0];
  std::vector<std::string> steps = replay(broken, options, race.schedule);
  ASSERT_GE(steps.size(), 2u);
  EXPECT_NE(steps[steps.size() - 1].find("puts to"), std::string::npos) << steps.back();
  EXPECT_THROW(replay(broken, options, "7.0:1"), CompileError);
  EXPECT_THROW(replay(broken, options, "0.0:99999"), CompileError);
}

TEST(Budget, SaysHowFarItCame) {
  Verdict verdict = checked(Exchange().make(), {.cores = 1, .budget = 20});
  EXPECT_TRUE(verdict.clean()) << verdict.text();
  EXPECT_FALSE(verdict.isComplete);
  EXPECT_EQ(verdict.method, Method::sampled);
  EXPECT_NE(verdict.text().find("the budget of 20 operations ended a run"), std::string::npos);
}

TEST(Budget, EndsWhatIsImaginedBehindADeadlock) {
  TextualIR ir{R"(
    func.func @k() attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %many = arith.constant 1000000 : index
      %full = dist.signals "full"() : !dist.signals<0>
      scf.for %i = %c0 to %many step %c1 {
        %next = arith.addi %i, %c1 : index
        dist.wait %full[] >= %next : !dist.signals<0>
      }
      return
    })"};
  Verdict verdict = check(ir, {.cores = 1, .budget = 20'000, .time = std::chrono::seconds(20)});
  EXPECT_NE(find(verdict, FindingKind::lostSignal), nullptr) << verdict.text();
  EXPECT_EQ(verdict.text().find("the time of"), std::string::npos) << verdict.text();
}

TEST(Usage, ErrorsNameWhatIsWrong) {
  Kernel kernel = Exchange().make();
  auto messageOf = [&](CheckOptions options) {
    try {
      check(kernel, options);
    } catch (const CompileError &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(messageOf({.ranks = 0}), "check: ranks is 0, expected 1 to 1024");
  EXPECT_NE(messageOf({.shape = {{"M", 1}, {"K", 2}}}).find("shape gives 'K', expected M, N"),
            std::string::npos);
  EXPECT_NE(messageOf({.shape = {{"M", 1}}}).find("N"), std::string::npos);
  EXPECT_THROW(check(TextualIR{"func.func @f() {"}, {}), CompileError);
  EXPECT_THROW(check(TextualIR{"func.func @f() { return }"}, {}), CompileError);
}

/// What depends on the values of inputs is proved for these inputs, and the verdict says so.
TEST(Verdict, SaysWhatDependsOnInputs) {
  auto k =
      Kernel("send(x[N], count[R]) -> y[N]", [](In<f32, 1> x, In<i32, 1> count, Out<f32, 1> y) {
        auto inbox = symmetric<f32>({x.size()}, "inbox");
        auto arrived = signals({1}, "arrived");
        auto next = (rank() + 1) % numRanks();
        when(toIndex(count.read({next})) > 0, [&] {
          put(x, inbox.on(next));
          notify(arrived.on(next)(0));
        });
        when(toIndex(count.read({rank()})) > 0, [&] {
          wait(arrived(0), 1);
          y.tiled(4)(0) = inbox.tiled(4)(0);
        });
      });
  CheckOptions options{.cores = 1, .shape = {{"N", 4}}};
  options.input = [](int64_t, size_t, int64_t) { return 1; };
  Verdict agreed = check(k, options);
  EXPECT_TRUE(agreed.clean()) << agreed.text();
  EXPECT_EQ(agreed.method, Method::proved);
  EXPECT_NE(agreed.text().find("the proof is for the inputs of this check"), std::string::npos);
  options.input = [](int64_t rank, size_t argument, int64_t) {
    return argument == 1 ? double(rank) : 1; // rank 0 sends nothing, and rank 1 waits
  };
  EXPECT_TRUE(find(check(k, options), FindingKind::lostSignal));
}

/// Branches on what atomic additions leave: the order of those is open, so no run speaks for all.
TEST(Verdict, IsSampledWhereBranchesDependOnAtomics) {
  auto k = Kernel("last(x[N]) -> y[N], sum[N]", [](In<i32, 1> x, Out<i32, 1> y, InOut<i32, 1> sum) {
    Tile before = atomicAdd(sum.tiled(1)(0), x.tiled(1)(0));
    when(toIndex(max(before, 0)) == 0, [&] { y.tiled(1)(0) = before; });
  });
  Verdict verdict = check(k, {.ranks = 1, .cores = 2, .shape = {{"N", 1}}});
  EXPECT_EQ(verdict.method, Method::sampled) << verdict.text();
}

TEST(Mutation, TellsMistakesFromVariations) {
  CheckOptions options{.ranks = 3, .cores = 1, .shape = {{"M", 2}, {"N", 3}}};
  std::vector<Mutant> mutants = mutate(Exchange().make(), options);
  std::map<std::string, Mutant::Outcome> outcomes;
  for (const Mutant &mutant : mutants)
    outcomes[mutant.kind] = mutant.outcome;
  for (const char *kind : {"drop-notify", "drop-wait", "threshold-less", "threshold-more",
                           "next-peer", "swap", "un-double"}) {
    ASSERT_TRUE(outcomes.contains(kind)) << kind;
    EXPECT_EQ(outcomes[kind], Mutant::Outcome::killed) << kind;
  }
  EXPECT_THROW(mutate(Exchange{.waits = false}.make(), options), CompileError);
}

} // namespace
} // namespace ditron
