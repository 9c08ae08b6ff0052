// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs as text: what is printed is read again as the same graph, is checked and runs.
#include "ditron/task/GraphText.h"
#include "ditron/checker/CheckGraph.h"
#include "ditron/driver/Context.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include "test/unit/task/Errors.h"
#include "test/unit/task/GraphKernels.h"
#include <cstring>
#include <gtest/gtest.h>

namespace ditron {
namespace {

using namespace testing_graphs;

Tensor hostTensor(std::vector<int64_t> shape) {
  Tensor tensor = Tensor::own(DType::f32, std::move(shape));
  for (int64_t n = 0; n < tensor.elements(); ++n)
    tensor.as<f32>()[n] = float(n % 7) - 3;
  return tensor;
}

TaskGraph sample(const Tensor &constant) {
  TaskGraph g("sample");
  Value x = g.input("x[M,M]");
  g.label("layer \"0\"");
  Value a = g.task(affine(), x, 0.25), b = g.task(square(), a);
  g.task(accumulate(), b, inOut(x));
  g.label("end");
  Value c = g.task(blend(), x, constant);
  g.output(g.task(byHand(), c));
  g.output(c);
  return g;
}

TEST(GraphText, WhatIsPrintedIsReadAgain) {
  std::string text = toText(sample(hostTensor({12, 12})));
  TaskGraph again = readGraph({text});
  EXPECT_EQ(again.name(), "sample");
  EXPECT_EQ(again.graph().types.size(), 5u);
  EXPECT_EQ(again.graph().nodes.size(), 5u);
  EXPECT_EQ(again.graph().outputs, sample(hostTensor({12, 12})).graph().outputs);
  EXPECT_EQ(toText(again), text);
}

TEST(GraphText, KernelsOfOneNameAreToldApart) {
  TaskGraph g("g");
  Value x = g.input("x[M,N]");
  auto scale = [](float by) {
    return Kernel("scale(x[M,N]) -> y[M,N]", [=](In<f32> X, Out<f32> Y) {
      auto tiles = X.tiled(4, 4);
      auto y = Y.tiled(4, 4);
      for (auto [i, j] : y.tiles())
        y(i, j) = tiles(i, j) * by;
    });
  };
  g.output(g.task(scale(3), g.task(scale(2), x)));
  TaskGraph again = readGraph({toText(g)});
  EXPECT_EQ(again.graph().types.size(), 2u);
  EXPECT_NE(again.graph().types[0].name(), again.graph().types[1].name());
}

TEST(GraphText, WhatIsReadRunsAsItDid) {
  Context ctx = Context::init({.cores = 2});
  Tensor constant = ctx.tensorFrom(hostTensor({12, 12}));
  TaskGraph original = sample(constant), again = readGraph({toText(original)});
  auto run = [&](const TaskGraph &graph) {
    Tensor x = ctx.tensorFrom(hostTensor({12, 12})), y = ctx.tensor<f32>({12, 12}),
           z = ctx.tensor<f32>({12, 12});
    ctx.compile(graph)(x, y, z);
    return y.toHost();
  };
  EXPECT_THROW(ctx.compile(again), CompileError); // nobody said what the constant holds
  again.fillConstants([&](const task::Value &) { return constant; });
  Tensor expected = run(original), found = run(again);
  EXPECT_EQ(0, std::memcmp(found.data(), expected.data(), expected.bytes()));
}

TEST(GraphText, WhatIsReadIsProved) {
  TaskGraph again = readGraph({toText(sample(hostTensor({12, 12})))});
  GraphCheckOptions options{.cores = 2, .shape = {{"M", 12}}};
  Verdict verdict = check(again, options);
  EXPECT_TRUE(verdict.clean()) << verdict.text();
  EXPECT_EQ(verdict.method, Method::proved);
}

TEST(GraphText, KernelsOfRanksAreRead) {
  TaskGraph g("ranks");
  Value x = g.input("x[M,N]");
  g.output(g.task(kernels::allReduce(DType::f32), g.task(affine(), x, 1.0)));
  TaskGraph again = readGraph({toText(g)});
  EXPECT_EQ(toText(again), toText(g));
  GraphCheckOptions options{.ranks = 2, .cores = 2, .shape = {{"M", 9}, {"N", 5}}};
  Verdict verdict = check(again, options);
  EXPECT_TRUE(verdict.clean()) << verdict.text();
}

TEST(GraphText, ADrawingCountsTasksAndWaits) {
  TaskGraph g = sample(hostTensor({12, 12}));
  std::string plain = toDot(g), scheduled = toDot(g, {.dims = {{"M", 12}}, .cores = 2});
  EXPECT_NE(plain.find("n0 [label=\"layer \\\"0\\\" affine\"]"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("task"), std::string::npos) << plain;
  EXPECT_NE(scheduled.find("2 tasks"), std::string::npos) << scheduled;
  EXPECT_NE(scheduled.find("wait"), std::string::npos) << scheduled;
}

TEST(GraphText, ADrawingHasNoControlCharacters) {
  TaskGraph g("g");
  g.label("one\ntwo\x01three");
  g.output(g.task(affine(), g.input("x[M,N]"), 1.0));
  EXPECT_NE(toDot(g).find("[label=\"one two three affine\"]"), std::string::npos) << toDot(g);
}

//===-- Errors --------------------------------------------------------------------------------===//

TEST(GraphTextErrors, NameTheLine) {
  EXPECT_ERROR("a.mlir:1:", readGraph({"nonsense", "a.mlir"}));
  EXPECT_ERROR("a.mlir: the module has no task.graph", readGraph({"module {}", "a.mlir"}));
  GraphText two{"task.graph @a {}\ntask.graph @b {}", "a.mlir"};
  EXPECT_EQ(graphsOf(two), (std::vector<std::string>{"a", "b"}));
  EXPECT_ERROR("the module has the graphs a, b, expected the name of one", readGraph(two));
  EXPECT_ERROR("the module has no graph 'c', expected one of a, b", readGraph(two, "c"));
  std::string unknown = "task.graph @g {\n"
                        "  %x = task.input \"x[M]\" : !task.tensor<?xf32>\n"
                        "  %n, %y = task.node \"first\" @gone(%x) : (!task.tensor<?xf32>)"
                        " -> !task.tensor<?xf32>\n}";
  EXPECT_ERROR("a.mlir:3:12: g: task 'first' (gone): the module has no function 'gone'",
               readGraph({unknown, "a.mlir"}));
}

TEST(GraphTextErrors, ShapesThatDoNotFitNameTheLine) {
  TaskGraph g("g");
  Value x = g.input("x[M,N]"), y = g.input("y[K,N]");
  g.output(g.task(blend(), x, y));
  std::string text = toText(g);
  auto line = std::count(text.begin(), text.begin() + int64_t(text.find("task.node")), '\n') + 1;
  TaskGraph again = readGraph({text, "a.mlir"});
  EXPECT_ERROR("a.mlir:" + std::to_string(line) + ":",
               check(again, {.shape = {{"M", 4}, {"N", 4}, {"K", 5}}}));
  EXPECT_ERROR("g: task 'blend' (blend): blend(x[M,N], y[M,N]) -> z[M,N]: M is 4 in x but 5 in y",
               check(again, {.shape = {{"M", 4}, {"N", 4}, {"K", 5}}}));
}

TEST(GraphTextErrors, ConstantsAreFilledAsTheyAre) {
  TaskGraph again = readGraph({toText(sample(hostTensor({12, 12})))});
  EXPECT_ERROR("constant 'constant 3' is given f32 [12, 11], expected f32 [12, 12]",
               again.fillConstants([](const task::Value &) { return hostTensor({12, 11}); }));
}

TEST(GraphTextErrors, NamesAndTensorsOfPrograms) {
  EXPECT_ERROR("a graph is named 'two words', expected a word of letters, digits, _ and -",
               TaskGraph("two words"));
  EXPECT_ERROR("a graph is named '', expected a word", TaskGraph(""));
  TaskGraph g("g");
  EXPECT_ERROR("g: 'w' is a Tensor without memory, expected one that was made",
               g.constant(Tensor(), "w"));
  EXPECT_ERROR("GraphTextTest.cpp:", g.constant(Tensor(), "w"));
  Value x = g.input("x[M,N]");
  EXPECT_ERROR("g: task 'blend' (blend): blend(x[M,N], y[M,N]) -> z[M,N]: y is a Tensor without "
               "memory, expected one that was made",
               g.task(blend(), x, Tensor()));
  EXPECT_ERROR("g: the graph has no task, expected one or more", check(g, {}));
}

} // namespace
} // namespace ditron
