// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs on several ranks, each of which has a schedule of its own.
#include "ditron/checker/CheckGraph.h"
#include "ditron/task/GraphText.h"
#include <gtest/gtest.h>
#include <set>
#include <string>

namespace ditron {
namespace {

/// A kernel that copies tiles in this order.
std::string copyIn(const std::string &order, const std::string &name) {
  return "func.func @" + name +
         R"((%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "N"], ["M", "N"]], tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %m = memref.dim %y, %c0 : !view
  %n = memref.dim %y, %c1 : !view
  %rows = arith.ceildivsi %m, %c4 : index
  %cols = arith.ceildivsi %n, %c4 : index
  dist.tiles (%i, %j) of (%rows, %cols) order <")" +
         order + R"("> {
    %a = tile.load %x[%i, %j] : !view -> tensor<4x4xf32>
    tile.store %a, %y[%i, %j] : tensor<4x4xf32>, !view
  }
  return
}
)";
}

/// A copy whose tiles begin at the rank's own shard, and one that begins at the first: what a task
/// of the second waits for is another one on each rank.
std::string copies() {
  return "!view = memref<?x?xf32, strided<[?, ?], offset: ?>>\n" +
         copyIn("own-shard-first", "copy") + copyIn("row-major", "plain") + R"(
task.graph @g {
  %x = task.input "x[M,N]" : !task.tensor<?x?xf32>
  %e0, %a = task.node "first" @copy(%x) : (!task.tensor<?x?xf32>) -> !task.tensor<?x?xf32>
  %e1, %b = task.node "second" @plain(%a) : (!task.tensor<?x?xf32>) -> !task.tensor<?x?xf32>
  task.output %b : !task.tensor<?x?xf32>
})";
}

TEST(GraphsOfRanks, EachRankHasItsPlan) {
  TaskGraph graph = readGraph({copies()});
  for (int64_t ranks : {1, 2, 3})
    for (int64_t rows : {16, 20}) {
      Verdict verdict =
          check(graph, {.ranks = ranks, .cores = 2, .shape = {{"M", rows}, {"N", 16}}});
      EXPECT_TRUE(verdict.clean()) << verdict.text();
      EXPECT_EQ(verdict.method, Method::proved) << verdict.text();
      EXPECT_TRUE(verdict.notes.empty()) << verdict.text(); // its tables are no inputs
    }
}

TEST(GraphsOfRanks, EdgesOfEachRankAreShortened) {
  TaskGraph graph = readGraph({copies()});
  std::set<std::string> sources;
  for (const Mutant &mutant :
       mutate(graph, {.ranks = 2, .cores = 2, .shape = {{"M", 16}, {"N", 16}}})) {
    EXPECT_EQ(mutant.outcome, Mutant::Outcome::killed) << mutant.source << ": " << mutant.what;
    sources.insert(mutant.source.substr(mutant.source.find(", ")));
  }
  EXPECT_TRUE(sources.contains(", rank 1, core 0") || sources.contains(", rank 1, core 1"));
}

TEST(GraphsOfRanks, NumbersThatMakeNoSense) {
  TaskGraph graph = readGraph({copies()});
  auto problemOf = [](const auto &call) -> std::string {
    try {
      call();
    } catch (const CompileError &error) {
      return error.what();
    }
    return "no error";
  };
  Dimensions shape{{"M", 16}, {"N", 16}};
  GraphCheckOptions noCores{.cores = 0, .shape = shape}, noRanks{.ranks = 0, .shape = shape};
  EXPECT_EQ(problemOf([&] { check(graph, noCores); }), "check: cores is 0, expected 1 to 1024");
  EXPECT_EQ(problemOf([&] { replay(graph, noRanks, ""); }),
            "check: ranks is 0, expected 1 to 1024");
  EXPECT_EQ(problemOf([&] { mutate(graph, noCores); }), "check: cores is 0, expected 1 to 1024");
  for (DrawOptions wrong : {DrawOptions{shape, -1, 1}, DrawOptions{shape, 2, 0}})
    EXPECT_NE(problemOf([&] { toDot(graph, wrong); }).find("expected 0 or more and 1 or more"),
              std::string::npos);
}

TEST(GraphsOfRanks, MutantsShareTheTime) {
  TaskGraph graph = readGraph({copies()});
  try {
    mutate(
        graph,
        {.ranks = 2, .cores = 2, .shape = {{"M", 16}, {"N", 16}}, .time = std::chrono::seconds(0)});
    ADD_FAILURE() << "no error";
  } catch (const RuntimeError &error) {
    EXPECT_STREQ(error.what(), "the time of the check is over after 0 mutants of g");
  }
}

} // namespace
} // namespace ditron
