// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules: which cores take the tasks of a node, and what tasks wait for.
#include "ditron/task/Plan.h"
#include "ditron/task/TaskGraph.h"
#include "test/unit/task/Errors.h"
#include "test/unit/task/GraphKernels.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <stdexcept>

namespace ditron {
namespace {

using namespace testing_graphs;
using task::Machine;
using task::Plan;
using task::Task;

/// The schedule of a graph whose one input is x[rows,columns].
Plan planOf(const TaskGraph &graph, int64_t rows, int64_t columns, int64_t cores) {
  const task::Graph &data = graph.graph();
  std::vector<task::Footprint> footprints(data.types.begin(), data.types.end());
  task::Shapes shapes = task::shapesOf(data, {{rows, columns}}, 1);
  return task::schedule(data, footprints, shapes, Machine{.cores = cores});
}

/// The cores that have a task of a node.
std::vector<size_t> coresOf(const Plan &plan, size_t node) {
  std::vector<size_t> cores;
  for (size_t core = 0; core < plan.queues.size(); ++core)
    for (const Task &task : plan.queues[core])
      if (task.node == node)
        cores.push_back(core);
  return cores;
}

const Task &taskOf(const Plan &plan, size_t core, size_t node) {
  for (const Task &task : plan.queues[core])
    if (task.node == node)
      return task;
  throw std::out_of_range("no such task");
}

TEST(Plans, TakeNoMoreCoresThanTheLargestTaskAsksFor) {
  TaskGraph g("one");
  Value x = g.input("x[M,N]");
  g.output(g.task(affine(), x, 1.0));
  // Nine tiles on four cores: three tasks of three end when four would, one of them with three.
  Plan nine = planOf(g, 9 * kTile, kTile, 4);
  EXPECT_EQ(coresOf(nine, 0), (std::vector<size_t>{0, 1, 2}));
  for (size_t core : {0, 1, 2})
    EXPECT_EQ(taskOf(nine, core, 0).end - taskOf(nine, core, 0).first, 3);
  EXPECT_EQ(coresOf(planOf(g, 8 * kTile, kTile, 4), 0).size(), 4u);
  EXPECT_EQ(coresOf(planOf(g, 2 * kTile, kTile, 4), 0).size(), 2u);
}

TEST(Plans, GiveSmallNodesToCoresThatAreFree) {
  TaskGraph g("two");
  Value x = g.input("x[M,N]");
  Value y = g.task(affine(), x, 1.0);
  g.output(g.task(centre(), y)); // a band reads its own rows
  // Core 3 has none of the nine tiles, and takes the first of the bands that one core is enough for.
  Plan plan = planOf(g, kTile, 9 * kTile, 4);
  EXPECT_EQ(coresOf(plan, 1), std::vector<size_t>{3});
}

/// Of two of the four parts of a row, the first halves.
Kernel firstHalves() {
  return Kernel("first-halves(x[M,N]) -> y[M,4,ceil(N/8)]", [](In<f32> X, Out<f32, 3> Y) {
    auto parts = X.split(1, 4);
    for (auto [t, j] : grid({X.rows(), 2})) {
      auto two = [&](const auto &view) {
        return view.at(t).slice(0, 2 * j, 2).slice(1, 0, Y.cols()).tiled(2, kTile)(0, 0);
      };
      two(Y) = two(parts);
    }
  });
}

TEST(Plans, WaitForThePartsOfARowThatATileReads) {
  TaskGraph g("two");
  Value x = g.input("x[M,N]");
  g.output(g.task(firstHalves(), g.task(affine(), x, 1.0)));
  Plan plan = planOf(g, 1, 8 * kTile, 8);
  ASSERT_EQ(coresOf(plan, 1).size(), 2u);
  for (size_t core : coresOf(plan, 1)) // half of the row each, not all of its tasks
    for (const task::Wait &wait : taskOf(plan, core, 1).waits)
      EXPECT_FALSE(wait.node);
  // A part is as long as the row has it, and not as its slice: the second task reads the second half.
  Task second = taskOf(plan, coresOf(plan, 1)[1], 1);
  std::set<int64_t> waited;
  for (const task::Wait &wait : second.waits)
    waited.insert(taskOf(plan, static_cast<size_t>(wait.core), 0).first);
  EXPECT_EQ(waited, (std::set<int64_t>{4, 5, 6, 7}));
}

TEST(Plans, WaitForANodeWhereMostOfItsTasksAreNeeded) {
  TaskGraph g("two");
  Value x = g.input("x[M,N]");
  g.output(g.task(centre(), g.task(affine(), x, 1.0)));
  // The band needs all three tasks of the tiles: one wait, for the node.
  Plan wide = planOf(g, kTile, 9 * kTile, 4);
  const Task &band = taskOf(wide, 3, 1);
  ASSERT_EQ(band.waits.size(), 1u);
  EXPECT_EQ(band.waits[0].node, std::optional<size_t>(0));
  EXPECT_EQ(band.waits[0].count, 3);
  // Of many rows, a band needs the tasks of its own.
  Plan high = planOf(g, 16 * kTile, kTile, 8);
  for (const Task &task : high.queues[0])
    for (const task::Wait &wait : task.waits)
      EXPECT_FALSE(wait.node) << "node " << *wait.node;
}

TEST(Plans, AreOfNoMoreTilesThanTablesCount) {
  TaskGraph g("one");
  g.label("first");
  g.output(g.task(affine(), g.input("x[M,N]"), 1.0));
  const char *expected = "task 'first affine' (affine): it has {} tiles, expected less than 2^31";
  EXPECT_ERROR(fmt::format(fmt::runtime(expected), int64_t(1) << 32),
               planOf(g, kTile << 16, kTile << 16, 2));
  EXPECT_ERROR(fmt::format(fmt::runtime(expected), std::numeric_limits<int64_t>::max()),
               planOf(g, int64_t(kTile) << 40, int64_t(kTile) << 40, 2));
}

} // namespace
} // namespace ditron
