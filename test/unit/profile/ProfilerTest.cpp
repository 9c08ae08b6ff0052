// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of one's own, recorded from C++.
#include "ditron/profile/Profiler.h"
#include "ditron/ditron.h"
#include "ditron/profile/Export.h"
#include <gtest/gtest.h>
#include <optional>

using namespace ditron;

namespace {

/// Every rank sends its tiles to the next one, which adds one to them.
Kernel passOn() {
  return {"pass-on(A[M,N]) -> B[M,N]", [](In<f32> A, Out<f32> B) {
            auto inbox = symmetric<f32>({A.rows(), A.cols()}, "inbox");
            auto a = A.tiled(16, 16);
            auto b = B.tiled(16, 16);
            auto in = inbox.tiled(16, 16);
            auto there = signals({a.rows()}, "there");
            Index next = (rank() + 1) % numRanks();
            auto [send, add] = splitCores(1);
            send.run("send", [&] {
              for (auto [i, j] : a.tiles()) {
                put(a(i, j), inbox.on(next).tiled(16, 16)(i, j));
                notify(there.on(next)(i));
              }
            });
            add.run("add", [&] {
              for (auto [i, j] : b.tiles()) {
                wait(there(i), a.cols());
                b(i, j) = in(i, j) + 1.0f;
              }
            });
          }};
}

size_t count(const profile::Timeline &timeline, profile::Kind kind) {
  size_t n = 0;
  for (const profile::Lane &lane : timeline.lanes)
    for (const profile::Slice &slice : lane.slices)
      n += slice.kind == kind;
  return n;
}

TEST(Profiler, RecordsAKernel) {
  Kernel kernel = passOn();
  profile::Timeline timeline;
  runRanks({.ranks = 3, .cores = 2}, [&](Context &ctx) {
    Tensor A = ctx.tensor<f32>({48, 32}), B = ctx.tensor<f32>({48, 32});
    std::fill_n(static_cast<float *>(A.data()), 48 * 32, 1.0f);
    profile::Profiler profiler(ctx);
    Program run = profiler.compile(kernel), plain = ctx.compile(kernel);
    run(A, B);
    run(A, B);
    plain(A, B); // is not recorded
    profile::Timeline mine = profiler.timeline();
    if (ctx.rank() == 0)
      timeline = mine;
    else
      EXPECT_TRUE(mine.lanes.empty());
  });
  using profile::Kind;
  ASSERT_EQ(timeline.lanes.size(), 6u);
  EXPECT_EQ(timeline.kernel, "pass-on");
  EXPECT_EQ(count(timeline, Kind::role), 6u);
  EXPECT_EQ(count(timeline, Kind::tile), 3 * 2 * 6u);
  EXPECT_EQ(count(timeline, Kind::put), 3 * 6u);
  EXPECT_EQ(count(timeline, Kind::notify), 3 * 6u);
  EXPECT_EQ(count(timeline, Kind::wait), 3 * 6u);
  EXPECT_EQ(timeline.arrows.size(), 3 * 6u);
  for (const profile::Arrow &arrow : timeline.arrows) {
    const profile::Lane &from = timeline.lanes[size_t(arrow.from.lane)],
                        &to = timeline.lanes[size_t(arrow.to.lane)];
    EXPECT_EQ((from.rank + 1) % 3, to.rank);
    EXPECT_LE(timeline.at(arrow.from).begin, timeline.at(arrow.to).end);
    EXPECT_EQ(timeline.text(timeline.at(arrow.to).name),
              timeline.text(timeline.at(arrow.from).name));
  }
  for (const profile::Slice &slice : timeline.lanes[0].slices)
    if (slice.kind == Kind::put) {
      EXPECT_EQ(slice.peer, 1);
      EXPECT_EQ(slice.values[0], 16 * 16 * 4);
      EXPECT_EQ(timeline.text(slice.place).rfind("ProfilerTest.cpp:", 0), 0u);
    }
}

TEST(Profiler, EndsBehindItsLaunches) {
  Context ctx = Context::init({.cores = 2});
  Tensor x = ctx.tensor<f32>({1024, 64}), y = ctx.tensor<f32>({1024, 64});
  std::optional<Program> run;
  {
    profile::Profiler profiler(ctx);
    EXPECT_THROW(profile::Profiler another(ctx), UsageError);
    run = profiler.compile(passOn());
    for (int n = 0; n < 50; ++n)
      (*run)(x, y);
  }
  (*run)(x, y); // tells nobody
  ctx.sync();
  profile::Profiler profiler(ctx);
  profiler.compile(passOn())(x, y);
  EXPECT_FALSE(profiler.timeline().lanes.empty());
}

TEST(Profiler, SaysThatNothingWasRecorded) {
  try {
    runRanks({.ranks = 2}, [&](Context &ctx) { profile::Profiler(ctx).timeline(); });
    FAIL();
  } catch (const RuntimeError &error) {
    EXPECT_STREQ(error.what(), "rank 0 has recorded no launch");
  }
}

TEST(Export, TextCannotEndTheScript) {
  profile::Timeline timeline;
  timeline.kernel = "</script><b>";
  timeline.ranks = timeline.cores = 1;
  timeline.lanes.resize(1);
  std::string page = profile::page(timeline, "\xff </script> \"quoted\"");
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script> \\\"quoted\\\""), std::string::npos);
  EXPECT_EQ(page.find("@data@"), std::string::npos);
  EXPECT_NE(profile::chromeTrace(timeline).find("\"name\":\"</script><b>\""), std::string::npos);
}

} // namespace
