// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `ditron check` finds of inboxes: a slot that is filled twice, and one that nobody fills.
#include "ditron/lang/Inbox.h"
#include "ditron/checker/Check.h"
#include "ditron/ditron.h"
#include <gtest/gtest.h>
#include <set>

namespace ditron {
namespace {

std::set<std::string> kindsOf(const Verdict &verdict) {
  EXPECT_EQ(verdict.method, Method::proved) << verdict.text();
  std::set<std::string> kinds;
  for (const Finding &finding : verdict.findings)
    kinds.insert(std::string(name(finding.kind)));
  return kinds;
}

/// Every rank's rows on every rank; all senders have one slot of a row, or one each.
Kernel gather(bool hasOwnSlots) {
  return Kernel("gather(x[M,N]) -> y[R*M,N]", [=](In<f32> x, Out<f32> y) {
    auto slotOf = [&](const Index &sender) { return hasOwnSlots ? sender : Index(0); };
    auto xs = x.tiled(1, 4);
    auto ys = y.split(numRanks()).tiled(1, 4);
    auto box = inbox<f32>({numRanks(), xs.rows()}, {1, 4}, "box");
    for (auto [i, j] : xs.tiles())
      for (auto peer : peers())
        send(xs(i, j), box.on(peer)(slotOf(rank()), i));
    for (auto [i, j] : xs.tiles()) {
      ys(rank(), i, j) = xs(i, j);
      for (auto peer : peers())
        ys(peer, i, j) = receive(box(slotOf(peer), i));
    }
  });
}

TEST(Inboxes, SlotsAreFilledOnce) {
  CheckOptions options{.ranks = 3, .cores = 2, .shape = {{"M", 2}, {"N", 4}}};
  EXPECT_EQ(kindsOf(check(gather(true), options)), std::set<std::string>());
  EXPECT_EQ(kindsOf(check(gather(false), options)),
            (std::set<std::string>{"data-race", "wrong-notifier"}));
}

/// From every rank to the next one, but for the last; the first one receives nothing, or waits.
Kernel pipeline(bool hasFirst) {
  return Kernel("pipeline(x[M,N]) -> y[M,N]", [=](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(1, 4);
    auto ys = y.tiled(1, 4);
    auto box = inbox<f32>({xs.rows()}, {1, 4}, "box");
    auto next = (rank() + 1) % numRanks();
    for (auto [i, j] : xs.tiles())
      when(next != 0, [&] { send(xs(i, j), box.on(next)(i)); });
    for (auto at : ys.tiles()) {
      auto [i, j] = at;
      auto take = [&] { ys(i, j) = receive(box(i)); };
      auto keep = [&] { ys(i, j) = xs(i, j); };
      if (hasFirst)
        when(rank() == 0, keep, take);
      else
        take();
    }
  });
}

TEST(Inboxes, SlotsAreFilled) {
  CheckOptions options{.ranks = 2, .cores = 2, .shape = {{"M", 2}, {"N", 4}}};
  EXPECT_EQ(kindsOf(check(pipeline(true), options)), std::set<std::string>());
  EXPECT_EQ(kindsOf(check(pipeline(false), options)), std::set<std::string>{"lost-signal"});
}

} // namespace
} // namespace ditron
