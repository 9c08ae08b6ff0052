// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 6: rows go where a table says. Gathering rows, and amounts known only at run time.
//
// Tokens of a mixture of experts are routed: each of a rank's rows is for one rank, as many for one
// as it happens. Rows for the same rank are collected by an index, and sent in chunks whose number
// only the run knows.
#include "Lesson.h"
using namespace ditron;

// Row r of the result is row index[r] of x. A tile of row numbers reads as many rows at once;
// numbers outside of x read as 0.
Kernel gatherRows(int rows, int width) {
  return Kernel("gather-rows(x[T,H], index[S]) -> y[S,H]",
                [=](In<f32> x, In<i32, 1> index, Out<f32> y) {
                  auto numbers = index.tiled(rows);
                  auto ys = y.tiled(rows, width);
                  for (auto [i, h] : ys.tiles())
                    ys(i, h) = x.gather(numbers(i).padded(-1), h, width);
                });
}

// Rank `to` gets count[to] rows of x: the first count[0] rows are for rank 0, and so on. Rows from
// rank s arrive in y[s], at most T of them; received[s] says how many.
Kernel exchange(int rows, int width) {
  return Kernel("exchange(x[T,H], count[R]) -> y[R,T,H], received[R]",
                [=](In<f32> x, In<i32, 1> count, Out<f32, 3> y, Out<i32, 1> received) {
                  auto sizes = symmetric<i32>({numRanks()}, "sizes");
                  auto inbox = symmetric<f32>({numRanks(), x.rows(), x.cols()}, "inbox");
                  auto grid = inbox.tiled(rows, width);
                  auto announced = signals(numRanks(), "announced");
                  auto arrived = signals({numRanks(), grid.rows(), grid.cols()}, "arrived");

                  // Announce to each rank how much is to come. The counts go from tensor to tensor:
                  // put takes a tile of any view as its source.
                  auto counts = count.tiled(1);
                  for (auto [to] : counts.tiles()) {
                    put(counts(to), sizes.on(to).tiled(1)(rank()));
                    notify(announced.on(to)(rank()));
                  }

                  // Send. toIndex makes an Index of a number in memory; from here on the extents of
                  // `part` are known only at run time, and the code stays the same. A branch at run
                  // time is when(); tiles() deals a grid that is the same on every rank.
                  for (auto [to, i, h] : grid.tiles(order::nextRankFirst)) {
                    Var first = Index(0);
                    for (auto r : range(to))
                      first += toIndex(count.read({r}));
                    auto sent = x.slice(0, first, toIndex(count.read({to})));
                    auto part = sent.tiled(rows, width);
                    when(i < part.rows(), [&] {
                      // Both sides of a put have the same extents, here also in the last chunk.
                      auto place = inbox.on(to).at(rank()).slice(0, 0, sent.rows());
                      put(part(i, h), place.tiled(rows, width)(i, h));
                      notify(arrived.on(to)(rank(), i, h));
                    });
                  }

                  // Receive what was announced, and no row of the inbox that nobody has sent.
                  for (auto [from, i, h] : grid.tiles(order::ownShardFirst)) {
                    wait(announced(from), 1);
                    auto size = toIndex(sizes.read({from}));
                    auto sent = [&](const auto &view) {
                      return view.at(from).slice(0, 0, size).tiled(rows, width);
                    };
                    when(i < ceilDiv(size, rows), [&] {
                      wait(arrived(from, i, h), 1);
                      sent(y)(i, h) = sent(inbox)(i, h);
                    });
                  }
                  auto numbers = received.tiled(1);
                  auto known = sizes.tiled(1);
                  for (auto [from] : numbers.tiles()) {
                    wait(announced(from), 1);
                    numbers(from) = known(from);
                  }
                });
}

constexpr int64_t kTokens = 20, kWidth = 24;
constexpr int kRanks = 3;

static int64_t target(int64_t rank, int64_t token) { return (token * token + rank) % kRanks; }
static double feature(int64_t rank, int64_t token, int64_t h) {
  return 10000.0 * double(rank) + 100.0 * double(token) + double(h);
}

/// The tokens of a rank in the order of the ranks they are for, and how many are for each.
static std::vector<int64_t> route(int64_t rank, std::vector<int64_t> &count) {
  std::vector<int64_t> tokens;
  for (int64_t to = 0; to < kRanks; ++to) {
    for (int64_t token = 0; token < kTokens; ++token)
      if (target(rank, token) == to)
        tokens.push_back(token);
    count.push_back(std::ssize(tokens));
    for (int64_t r = 0; r < to; ++r)
      count.back() -= count[size_t(r)];
  }
  return tokens;
}

static void runRank(Context &ctx) {
  std::vector<int64_t> counts, tokens = route(ctx.rank(), counts);
  Tensor x = ctx.tensor<f32>({kTokens, kWidth}), sorted = ctx.tensor<f32>({kTokens, kWidth});
  Tensor index = ctx.tensor<i32>({kTokens}), count = ctx.tensor<i32>({kRanks});
  Tensor y = ctx.tensor<f32>({kRanks, kTokens, kWidth}), received = ctx.tensor<i32>({kRanks});
  lesson::fill(x, [&](int64_t t, int64_t h) { return feature(ctx.rank(), t, h); });
  lesson::fill(index, [&](int64_t, int64_t j) { return tokens[size_t(j)]; });
  lesson::fill(count, [&](int64_t, int64_t j) { return counts[size_t(j)]; });

  ctx.compile(gatherRows(8, 16))(x, index, sorted);
  ctx.compile(exchange(8, 16))(sorted, count, y, received);

  Tensor rows = y.toHost();
  for (int64_t from = 0; from < kRanks; ++from) {
    std::vector<int64_t> sent, order = route(from, sent);
    int64_t first = 0, number = sent[size_t(ctx.rank())];
    for (int64_t r = 0; r < ctx.rank(); ++r)
      first += sent[size_t(r)];
    lesson::check(received.slice(0, from, 1), "received", [&](int64_t, int64_t) { return number; });
    for (int64_t n = 0; n < number; ++n)
      for (int64_t h = 0; h < kWidth; ++h)
        if (rows.at({from, n, h}) != feature(from, order[size_t(first + n)], h))
          throw Error("a row of rank " + std::to_string(from) + " is wrong");
  }
}

int main() {
  return lesson::run("06-route-rows", [] { runRanks({.ranks = kRanks, .cores = 2}, runRank); });
}
