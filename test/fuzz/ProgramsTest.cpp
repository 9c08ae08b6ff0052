// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random distributed programs: phases that pass tiles on between ranks, ordered by counters or
// barriers. Of one that is right the check says so, and the interpreter under random delivery and
// the CPU backend compute what a few lines of C++ do; in one with a mistake the check finds it.
//
// DITRON_TEST_SEED: the first program. DITRON_TEST_SECONDS: how long to go on, instead of the count.
#include "ditron/checker/Check.h"
#include "ditron/driver/Context.h"
#include "ditron/lang/Dist.h"
#include "ditron/lang/Trace.h"
#include "ditron/reference/Interpreter.h"
#include "ditron/support/Env.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <chrono>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace ditron {
namespace {

/// How a phase moves tiles, and how it orders that.
enum class Move { shift, gather };
enum class Order { counters, oneCounter, barrier };
enum class Mistake { none, droppedNotify, shortWait, earlyNotify, noBarrier };

struct Phase {
  Move move = Move::shift;
  Order order = Order::counters;
  int distance = 1;
  Mistake mistake = Mistake::none;
};

struct Plan {
  int ranks = 2, cores = 1, tile = 4;
  int64_t size = 8;
  std::vector<Phase> phases;
  bool isRight = true;

  std::string text() const {
    std::string text =
        fmt::format("{} ranks, {} cores, {} elements in tiles of {}:", ranks, cores, size, tile);
    for (const Phase &phase : phases)
      text += fmt::format(" (move {}, order {}, distance {}, mistake {})", int(phase.move),
                          int(phase.order), phase.distance, int(phase.mistake));
    return text;
  }
};

Plan randomPlan(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto draw = [&](int count) { return static_cast<int>(random() % static_cast<uint64_t>(count)); };
  Plan plan;
  plan.ranks = 2 + draw(3), plan.cores = 1 + draw(3);
  plan.tile = 1 + draw(6), plan.size = 1 + draw(20);
  for (int n = 1 + draw(3); n > 0; --n)
    plan.phases.push_back({Move(draw(2)), Order(draw(3)), 1 + draw(plan.ranks - 1)});
  plan.isRight = draw(3) != 0;
  if (!plan.isRight) {
    Phase &phase = plan.phases[static_cast<size_t>(draw(static_cast<int>(plan.phases.size())))];
    phase.mistake = phase.order == Order::barrier ? Mistake::noBarrier : Mistake(1 + draw(3));
  }
  return plan;
}

//===-- The kernel ----------------------------------------------------------------------------===//

/// Writes one phase: from the tiles of `from` to those of `to`.
class PhaseWriter {
public:
  PhaseWriter(const Phase &phase, int number, int tile, Index size)
      : phase_(phase), number_(number), tile_(tile),
        rows_(phase.move == Move::gather ? numRanks() : Index(1)),
        inbox_(symmetric<f32>({rows_, size}, fmt::format("inbox{}", number).c_str())) {}

  template <class From, class To> void write(const From &from, const To &to) {
    auto counters = signals(phase_.order == Order::oneCounter ? Index(1) : to.cols(),
                            fmt::format("arrived{}", number_).c_str());
    if (phase_.move == Move::gather) {
      for (auto peer : ranks())
        send(from, counters, peer, rank());
    } else {
      send(from, counters, (rank() + phase_.distance) % numRanks(), 0);
    }
    if (phase_.order == Order::barrier) {
      if (phase_.mistake != Mistake::noBarrier)
        barrierAll();
    }
    receive(from, to, counters);
  }

private:
  template <class From, class Counters>
  void send(const From &from, const Counters &counters, Index peer, Index row) {
    for (auto [i] : from.tiles()) {
      auto tell = [&, i = i] {
        if (phase_.order != Order::barrier && phase_.mistake != Mistake::droppedNotify)
          notify(counters.on(peer)(phase_.order == Order::oneCounter ? Index(0) : Index(i)));
      };
      if (phase_.mistake == Mistake::earlyNotify)
        tell();
      put(from(i), inbox_.on(peer).at(row).tiled(tile_)(i));
      if (phase_.mistake != Mistake::earlyNotify)
        tell();
    }
  }

  template <class From, class To, class Counters>
  void receive(const From &from, const To &to, const Counters &counters) {
    Index expected = rows_ * (phase_.order == Order::oneCounter ? to.cols() : Index(1));
    if (phase_.mistake == Mistake::shortWait)
      expected = expected - 1;
    for (auto [i] : to.tiles()) {
      if (phase_.order != Order::barrier)
        wait(counters(phase_.order == Order::oneCounter ? Index(0) : Index(i)), expected);
      Var total = Tile(from(i));
      for (auto row : range(rows_))
        total += inbox_.at(row).tiled(tile_)(i);
      to(i) = total;
    }
  }

  const Phase &phase_;
  int number_, tile_;
  Index rows_;
  Symmetric<f32, 2> inbox_;
};

Kernel kernelOf(const Plan &plan) {
  return Kernel("random(x[N]) -> y[N]", [plan](In<f32, 1> x, InOut<f32, 1> y) {
    auto xs = x.tiled(plan.tile);
    auto ys = y.tiled(plan.tile);
    for (size_t n = 0; n < plan.phases.size(); ++n) {
      PhaseWriter writer(plan.phases[n], static_cast<int>(n), plan.tile, x.size());
      n ? writer.write(ys, ys) : writer.write(xs, ys);
    }
  });
}

//===-- What it computes ----------------------------------------------------------------------===//

using Rows = std::vector<std::vector<float>>; ///< by rank

Rows inputsOf(const Plan &plan) {
  Rows rows(static_cast<size_t>(plan.ranks));
  for (size_t rank = 0; rank < rows.size(); ++rank)
    for (int64_t i = 0; i < plan.size; ++i)
      rows[rank].push_back(static_cast<float>(rank * 5 + static_cast<size_t>(i) % 7));
  return rows;
}

Rows expected(const Plan &plan) {
  Rows now = inputsOf(plan);
  size_t ranks = now.size();
  for (const Phase &phase : plan.phases) {
    Rows next = now;
    for (size_t rank = 0; rank < ranks; ++rank)
      for (size_t other = 0; other < ranks; ++other) {
        bool sends = phase.move == Move::gather ||
                     (other + static_cast<size_t>(phase.distance)) % ranks == rank;
        for (size_t i = 0; sends && i < now[rank].size(); ++i)
          next[rank][i] += now[other][i];
      }
    now = next;
  }
  return now;
}

Rows interpreted(const Plan &plan, const Kernel &kernel, uint64_t seed) {
  Rows x = inputsOf(plan), y(x.size(), std::vector<float>(static_cast<size_t>(plan.size)));
  std::vector<std::vector<reference::ArgumentValue>> arguments(x.size());
  for (size_t rank = 0; rank < x.size(); ++rank)
    for (std::vector<float> *row : {&x[rank], &y[rank]})
      arguments[rank].push_back(
          reference::ArgumentMemory{row->data(), DType::f32, {plan.size}, {1}});
  reference::Options options;
  options.ranks = plan.ranks, options.cores = plan.cores, options.launches = 2;
  options.seed = seed, options.randomSchedule = true, options.latePuts = true;
  auto functions = kernel.traced().meaning().getOps<mlir::func::FuncOp>();
  reference::interpret(*functions.begin(), arguments, options);
  return y;
}

Rows compiled(const Plan &plan, const Kernel &kernel) {
  Rows x = inputsOf(plan), y(x.size());
  runRanks({.ranks = plan.ranks, .cores = plan.cores}, [&](Context &context) {
    size_t rank = static_cast<size_t>(context.rank());
    Tensor in = context.tensor<f32>({plan.size}), out = context.tensor<f32>({plan.size});
    for (int64_t i = 0; i < plan.size; ++i)
      in.set({i}, x[rank][static_cast<size_t>(i)]), out.set({i}, 0);
    Program program = context.compile(kernel);
    for (int launch = 0; launch < 3; ++launch)
      program(in, out);
    Tensor result = out.toHost();
    for (int64_t i = 0; i < plan.size; ++i)
      y[rank].push_back(static_cast<float>(result.at({i})));
  });
  return y;
}

void compare(uint64_t seed) {
  Plan plan = randomPlan(seed);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, plan.text()));
  Kernel kernel = kernelOf(plan);
  CheckOptions options{.ranks = plan.ranks, .cores = plan.cores};
  options.shape = {{"N", plan.size}};
  Verdict verdict = check(kernel, options);
  EXPECT_EQ(verdict.clean(), plan.isRight) << verdict.text();
  if (!verdict.clean())
    return;
  Rows right = expected(plan);
  for (uint64_t delivery = 1; delivery <= 4; ++delivery)
    EXPECT_EQ(interpreted(plan, kernel, seed * 100 + delivery), right) << "delivery " << delivery;
  EXPECT_EQ(compiled(plan, kernel), right) << "on the CPU";
}

TEST(Programs, AreWhatTheCheckSays) {
  uint64_t first = static_cast<uint64_t>(envInteger("DITRON_TEST_SEED", 0, INT64_MAX).value_or(1));
  std::optional<int64_t> seconds = envInteger("DITRON_TEST_SECONDS", 1, 86'400);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds.value_or(86'400));
  uint64_t count = seconds ? UINT64_MAX - first : 40, seed = first;
  while (seed < first + count && std::chrono::steady_clock::now() < end && !HasFailure())
    compare(seed++);
  fmt::print("programs: {} random programs from {} on\n", seed - first, first);
}

} // namespace
} // namespace ditron
