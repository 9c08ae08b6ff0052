// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel for every kind of finding that docs/check.md shows: the smallest that has it.
//
//   findings              checks that each has the finding of its name, and no other
//   findings data-race    prints the verdict on one
#include "Lesson.h"
#include <cstring>
#include <ditron/checker/Check.h>
using namespace ditron;

/// A kernel of one tile: x and y have 4 x 8 elements.
template <class Body> Kernel kernel(const Body &body) {
  return Kernel("kernel(x[M,N]) -> y[M,N]", body);
}
static Index nextRank() { return (rank() + 1) % numRanks(); }

//===-- Order ---------------------------------------------------------------------------------===//

// The receiver does not wait.
Kernel dataRace() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    put(x, inbox.on(nextRank()));
    y.tiled(4, 8)(0, 0) = inbox.tiled(4, 8)(0, 0);
  });
}

// Everybody sends to rank 0, which waits for one of them and reads all.
Kernel wrongNotifier() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto slots = symmetric<f32>({numRanks(), x.rows(), x.cols()}, "slots");
    auto arrived = signals(1, "arrived");
    put(x, slots.on(0).at(rank()));
    notify(arrived.on(0)(0));
    when(rank() == 0, [&] {
      wait(arrived(0), 1);
      for (auto r : range(numRanks()))
        y.tiled(4, 8)(0, 0) = slots.tiled(4, 8)(r, 0, 0);
    });
  });
}

// Two roles notify the same counter; the reader means one of them.
Kernel sharedSignal() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto stage = symmetric<f32>({4, 8}, "stage").tiled(4, 8);
    auto done = signals(1, "done");
    auto [load, log, use] = splitCores(1, 1);
    load.run("load", [&] {
      stage(0, 0) = x.tiled(4, 8)(0, 0);
      notify(done.on(rank())(0));
    });
    log.run("log", [&] { notify(done.on(rank())(0)); });
    use.run("use", [&] {
      wait(done(0), 1);
      y.tiled(4, 8)(0, 0) = stage(0, 0);
    });
  });
}

// A queue of two entries: entry i may be written when i - 1 entries have been read, not i - 2.
Kernel workspaceReuse() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto entries = symmetric<f32>({2, 8}, "entries").tiled(1, 8);
    auto full = signals(1, "full"), empty = signals(1, "empty");
    auto [produce, consume] = splitCores(1);
    produce.run("produce", [&] {
      for (auto i : range(x.rows())) {
        wait(empty(0), i - 2);
        entries(i % 2, 0) = x.tiled(1, 8)(i, 0);
        notify(full.on(rank())(0));
      }
    });
    consume.run("consume", [&] {
      for (auto i : range(x.rows())) {
        wait(full(0), i + 1);
        y.tiled(1, 8)(i, 0) = entries(i % 2, 0);
        notify(empty.on(rank())(0));
      }
    });
  });
}

// A stage is written again while the put of what it held may still read it.
Kernel unfinishedPut() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto stage = symmetric<f32>({1, 8}, "stage").tiled(1, 8);
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    for (auto i : range(x.rows())) {
      stage(0, 0) = x.tiled(1, 8)(i, 0);
      put(stage(0, 0), inbox.on(nextRank()).tiled(1, 8)(i, 0));
    }
    barrierAll();
    y.tiled(4, 8)(0, 0) = inbox.tiled(4, 8)(0, 0);
  });
}

//===-- Waits ---------------------------------------------------------------------------------===//

// Everybody waits for the rank before, and nobody begins.
Kernel deadlock() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto token = signals(1, "token");
    wait(token(0), 1);
    notify(token.on(nextRank())(0));
  });
}

// One notify, and a wait for two.
Kernel lostSignal() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto ready = signals(1, "ready");
    notify(ready.on(nextRank())(0));
    wait(ready(0), 2);
  });
}

// A core with no row left is not there when the others meet.
Kernel divergentBarrier() {
  return kernel([](In<f32> x, Out<f32> y) {
    for (auto i : range(coreId(), 3, numCores())) {
      y.tiled(1, 8)(i, 0) = x.tiled(1, 8)(i, 0);
      barrier();
    }
  });
}

// Checked for a machine that runs one core of each rank at a time: the first waits for the second.
Kernel notResident() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto ready = signals(1, "ready");
    auto [first, second] = splitCores(1);
    first.run("first", [&] { wait(ready(0), 1); });
    second.run("second", [&] { notify(ready.on(rank())(0)); });
  });
}

//===-- Memory --------------------------------------------------------------------------------===//

// What a buffer holds at the start of a launch is undefined.
Kernel uninitializedRead() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto total = symmetric<f32>({4, 8}, "total").tiled(4, 8);
    total(0, 0) = total(0, 0) + x.tiled(4, 8)(0, 0);
    y.tiled(4, 8)(0, 0) = total(0, 0);
  });
}

// The last rank has no next one.
Kernel outOfBounds() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    put(x, inbox.on(rank() + 1));
  });
}

// Symmetric memory is allocated before the launch, on all ranks at once, in the same size.
Kernel unevenAllocation() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto inbox = symmetric<f32>({x.rows() + rank(), x.cols()}, "inbox").tiled(4, 8);
    inbox(0, 0) = x.tiled(4, 8)(0, 0);
  });
}

// Each rank's copy engines notify the same counter of a peer.
Kernel severalSenders() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto slots = symmetric<f32>({numRanks(), x.rows(), x.cols()}, "slots");
    auto arrived = signals(1, "arrived");
    copyEngines().run("send", [&] {
      for (auto peer : peers()) {
        put(x, slots.on(peer).at(rank()));
        notify(arrived.on(peer)(0));
      }
    });
    wait(arrived(0), numRanks() - 1);
    y.tiled(4, 8)(0, 0) = x.tiled(4, 8)(0, 0);
  });
}

// A core tells another rank's copy engines to send what it has put there, and does not ask whether
// that rank has come.
Kernel strayNotify() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto relay = symmetric<f32>({x.rows(), x.cols()}, "relay");
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    auto full = signals(1, "full"), arrived = signals(1, "arrived");
    copyEngines().run("relay", [&] {
      wait(full(0), 1);
      put(relay, inbox.on(nextRank()));
      notify(arrived.on(nextRank())(0));
    });
    put(x, relay.on(nextRank()));
    notify(full.on(nextRank())(0));
    wait(arrived(0), 1);
    y.tiled(4, 8)(0, 0) = inbox.tiled(4, 8)(0, 0);
  });
}

// A counter is either added to or set.
Kernel invalidProgram() {
  return kernel([](In<f32> x, Out<f32> y) {
    auto ready = signals(1, "ready");
    notify(ready.on(rank())(0));
    notifySet(ready.on(rank())(0), 2);
  });
}

//===-- All of them ---------------------------------------------------------------------------===//

struct Example {
  FindingKind kind;
  Kernel (*make)();
  CheckOptions options = {.cores = 1};
};

static const Example kExamples[] = {
    {FindingKind::dataRace, dataRace},
    {FindingKind::wrongNotifier, wrongNotifier},
    {FindingKind::sharedSignal, sharedSignal, {.ranks = 1, .cores = 3}},
    {FindingKind::workspaceReuse, workspaceReuse, {.ranks = 1, .cores = 2}},
    {FindingKind::unfinishedPut, unfinishedPut},
    {FindingKind::deadlock, deadlock},
    {FindingKind::lostSignal, lostSignal},
    {FindingKind::divergentBarrier, divergentBarrier, {.ranks = 1, .cores = 2}},
    {FindingKind::notResident, notResident, {.ranks = 1, .cores = 2, .residentCores = 1}},
    {FindingKind::uninitializedRead, uninitializedRead, {.ranks = 1, .cores = 1}},
    {FindingKind::outOfBounds, outOfBounds},
    {FindingKind::unevenAllocation, unevenAllocation},
    {FindingKind::severalSenders, severalSenders, {.ranks = 3, .cores = 1}},
    {FindingKind::strayNotify, strayNotify, {.ranks = 3, .cores = 1}},
    {FindingKind::invalidProgram, invalidProgram, {.ranks = 1, .cores = 1}},
};

static Verdict verdictOn(const Example &example) {
  CheckOptions options = example.options;
  options.shape = {{"M", 4}, {"N", 8}};
  return check(example.make(), options);
}

int main(int argc, char **argv) {
  return lesson::run("findings", [&] {
    bool isKnown = argc < 2;
    for (const Example &example : kExamples) {
      if (argc > 1 && name(example.kind) != argv[1])
        continue;
      isKnown = true;
      Verdict verdict = verdictOn(example);
      if (argc > 1)
        std::printf("%s", verdict.text().c_str());
      if (verdict.findings.size() != 1 || verdict.findings[0].kind != example.kind)
        throw Error("expected " + std::string(name(example.kind)) + ":\n" + verdict.text());
    }
    if (!isKnown)
      throw Error("no example of " + std::string(argv[1]));
  });
}
