// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a run is driven: schedules, steps, what an observer sees, arguments that do not fit.
#include "Interpret.h"
#include <set>

namespace ditron::reference {
namespace {

/// Every core writes its number to the same place: the last one stays.
const char *const kRace = R"(
func.func @kernel(%C: memref<1xi64>) {
  %c0 = arith.constant 0 : index
  %c = dist.core
  %x = arith.index_cast %c : index to i64
  memref.store %x, %C[%c0] : memref<1xi64>
  return
})";

TEST(Schedule, TheSeedDecides) {
  Program program(kRace);
  auto last = [&](uint64_t seed) {
    Array<i64> c({1});
    Options options;
    options.cores = 8;
    options.randomSchedule = true;
    options.seed = seed;
    program.run({{c}}, options);
    return c.elements[0];
  };
  std::set<int64_t> outcomes;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    EXPECT_EQ(last(seed), last(seed));
    outcomes.insert(last(seed));
  }
  EXPECT_GT(outcomes.size(), 4u) << "the seeds should reach different interleavings";
}

TEST(Schedule, RoundRobinIsInOrder) {
  Array<i64> c({1});
  Options options;
  options.cores = 8;
  Result result = Program(kRace).run({{c}}, options);
  EXPECT_EQ(c.elements[0], 7);
  EXPECT_EQ(result.steps, 8u * 5);
}

TEST(Schedule, AnyoneMayDecide) {
  Program program(kRace);
  Array<i64> c({1});
  Options options;
  options.cores = 3;
  Interpreter interpreter(program.kernel(), {{c}}, options);
  for (size_t core : {2, 0, 1}) {
    EXPECT_TRUE(llvm::is_contained(interpreter.runnable(), core));
    while (interpreter.step(core) == Outcome::running)
      ;
    EXPECT_TRUE(interpreter.core(core).isDone());
    EXPECT_EQ(c.elements[0], static_cast<int64_t>(core));
  }
  EXPECT_TRUE(interpreter.isDone());
  EXPECT_TRUE(interpreter.runnable().empty());
}

/// Rank 0 sends, rank 1 receives; a rank that only sends may be launches ahead.
const char *const kSend = R"(
!in = memref<2xf32>
!sym = memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
func.func @kernel(%A: !in, %C: !in) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = dist.symmetric "b"(%c2) : !sym
  %s = dist.signals "s"() : !dist.signals<0>
  %me = dist.rank
  %sends = arith.cmpi eq, %me, %c0 : index
  scf.if %sends {
    dist.put %A, %b on %c1 : !in, !sym
    dist.notify %s[] on %c1 add %c1 : !dist.signals<0>
  } else {
    dist.wait %s[] >= %c1 : !dist.signals<0>
    %x = tile.load %b[%c0] : !sym -> tensor<2xf32>
    tile.store %x, %C[%c0] : tensor<2xf32>, !in
  }
  return
})";

std::string describe(const Action &action) {
  using Kind = Action::Kind;
  const char *kinds[] = {"read",    "write",   "atomic", "putSource", "putTarget",
                         "release", "acquire", "fence",  "quiet"};
  std::string text = fmt::format("{} {}", action.core.rank(), kinds[static_cast<int>(action.kind)]);
  if (action.view)
    text += fmt::format(" {} of {}", action.view->memory->name, action.view->memory->rank);
  if (action.kind == Kind::release || action.kind == Kind::acquire)
    text += fmt::format(" {}", action.value);
  return text;
}

TEST(Observer, SeesMemoryAndSignals) {
  Program program(kSend);
  Array<f32> a({2}, 3), c0({2}), a1({2}), c1({2});
  std::vector<std::string> seen;
  Options options;
  options.observer = [&](const Action &action) { seen.push_back(describe(action)); };
  program.run({{a, c0}, {a1, c1}}, options);
  EXPECT_EQ(c1.elements[0], 3);
  EXPECT_EQ(seen, (std::vector<std::string>{"0 putSource argument 0 of 0", "0 putTarget b of 1",
                                            "0 release 1", "1 acquire 1", "1 read b of 1",
                                            "1 write argument 1 of 1"}));
}

TEST(Launches, ARankMayRunAheadByOne) {
  Program program(kSend);
  Array<f32> a({2}, 3), c0({2}), a1({2}), c1({2});
  Options options;
  options.launches = 4;
  options.ranks = 2;
  Interpreter interpreter(program.kernel(), {{a, c0}, {a1, c1}}, options);
  while (!interpreter.core(0).isDone()) // the sender waits for nobody in its launches
    interpreter.step(0);
  EXPECT_EQ(interpreter.core(0).launch(), 1);
  EXPECT_EQ(interpreter.core(1).launch(), 0);
  RoundRobin inTurn;
  interpreter.run(inTurn);
  EXPECT_EQ(interpreter.core(0).launch(), 3);
  EXPECT_EQ(c1.elements[1], 3);
  EXPECT_TRUE(interpreter.result().warnings.empty());
}

TEST(Launches, BuffersBeginPoisoned) {
  const char *text = R"(
!sym = memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
func.func @kernel(%C: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = dist.symmetric "b"(%c2) : !sym
  %x = tile.load %b[%c0] : !sym -> tensor<2xf32>
  tile.store %x, %C[%c0] : tensor<2xf32>, memref<2xf32>
  return
})";
  Array<f32> c({2});
  Program(text).run({{c}});
  EXPECT_TRUE(std::isnan(c.elements[0]) && std::isnan(c.elements[1]));
}

TEST(Arguments, StridesOfTheCaller) {
  const char *text = R"(
!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
func.func @kernel(%A: !view, %n: i8, %e: f16, %C: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %A[%c1, %c0] : !view
  memref.store %x, %C[%c0] : memref<2xf32>
  %f = arith.sitofp %n : i8 to f32
  %g = arith.extf %e : f16 to f32
  %y = arith.addf %f, %g : f32
  memref.store %y, %C[%c1] : memref<2xf32>
  return
})";
  // Columns first, the last one first: element (i, j) at 5 + i - 3 * j.
  std::vector<f32> memory{0, 1, 2, 3, 4, 5, 6, 7};
  Array<f32> c({2});
  // 300 wraps to 44; 0.1 is 0.0999755859375 in f16.
  Program(text).run(
      {{ArgumentMemory{&memory[5], DType::f32, {3, 2}, {1, -3}}, int64_t(300), 0.1, c}});
  EXPECT_EQ(c.elements[0], 6);
  EXPECT_EQ(c.elements[1], 44 + 0.0999755859375f);
}

TEST(Arguments, MustFit) {
  Program program(R"(
func.func @kernel(%A: memref<?x4xf32> {tile.name = "A"}, %n: index, %e: f32) {
  return
})");
  Array<f32> a({2, 4}), narrow({2, 3}), flat({4});
  Array<i32> integers({2, 4});
  auto run = [&](std::vector<std::vector<ArgumentValue>> arguments) {
    return [&program, arguments] { program.run(arguments); };
  };
  int64_t n = 1;
  program.run({{a, n, 1.0}});
  expectError<CompileError>(run({{narrow, n, 1.0}}),
                            {"argument 'A' has extents [2, 3], expected memref<?x4xf32>"});
  expectError<CompileError>(run({{flat, n, 1.0}}), {"argument 'A' has 1 extents and 1 strides, "
                                                    "expected 2"});
  expectError<CompileError>(run({{integers, n, 1.0}}),
                            {"argument 'A' has elements of i32, expected f32"});
  expectError<CompileError>(run({{n, n, 1.0}}),
                            {"argument 'A' is an integer, expected memref<?x4xf32>"});
  expectError<CompileError>(run({{a, 1.0, 1.0}}), {"argument 1 is a float, expected index"});
  expectError<CompileError>(run({{a, n, a}}), {"argument 2 is memory, expected f32"});
  expectError<CompileError>(run({{a, n}}),
                            {"kernel 'kernel' is given 2 arguments on rank 0, expected 3"});
  ArgumentValue nowhere = ArgumentMemory{nullptr, DType::f32, {2, 4}, {4, 1}};
  expectError<CompileError>(run({{nowhere, n, 1.0}}), {"argument 'A' has no memory"});
}

// As the driver gives them to every backend: an integer for a float, and a whole float for an integer.
TEST(Arguments, NumbersOfTheOtherKind) {
  Program program(fmt::format(R"(
func.func @kernel(%X: {}, %N: {}, %e: f32, %n: i32) {{
  %i = arith.constant 0 : index
  %x = tensor.splat %e : tensor<2xf32>
  %m = tensor.splat %n : tensor<2xi32>
  tile.store %x, %X[%i] : tensor<2xf32>, {}
  tile.store %m, %N[%i] : tensor<2xi32>, {}
  return
}})",
                              view(1, "f32"), view(1, "i32"), view(1, "f32"), view(1, "i32")));
  Array<f32> x({2});
  Array<i32> n({2});
  program.run({{x, n, int64_t(3), -4.0}});
  EXPECT_EQ(static_cast<float>(x.elements[1]), 3);
  EXPECT_EQ(n.elements[1], -4);
  expectError<CompileError>([&] { program.run({{x, n, int64_t(3), 0.5}}); },
                            {"argument 3 is a float, expected i32"});
}

TEST(Arguments, RanksCoresAndNodes) {
  Program program(kRace);
  Array<i64> c({1});
  Options options;
  options.ranks = 2;
  expectError<CompileError>([&] { interpret(program.kernel(), {{c}}, options); },
                            {"there are arguments for 1 ranks, expected 2"});
  options.nodes = 2;
  options.ranks = 3;
  expectError<CompileError>([&] { interpret(program.kernel(), {{c}, {c}, {c}}, options); },
                            {"3 ranks do not divide into 2 nodes"});
  options = {};
  options.cores = 0;
  expectError<CompileError>([&] { interpret(program.kernel(), {{c}}, options); },
                            {"a run needs 1 or more ranks, cores and nodes, found 1, 0, 1"});
  options = {};
  options.launches = 0;
  expectError<CompileError>([&] { interpret(program.kernel(), {{c}}, options); },
                            {"a run needs 1 or more launches, found 0"});
}

/// Sizes that no machine has are an error, not a crash.
TEST(Memory, MoreThanThereIs) {
  const char *text = R"(
!sym = memref<?x?xf32, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
func.func @kernel(%n: index) {
  %b = dist.symmetric "b"(%n, %n) : !sym
  return
})";
  Program program(text);
  expectError<RuntimeError>([&] { program.run({{int64_t(1) << 28}}); },
                            {"symmetric buffer 'b' of [268435456, 268435456] on 1 ranks asks for "
                             "288230376151711744 bytes of memory, but ",
                             " are available"});
  expectError<CompileError>([&] { program.run({{int64_t(1) << 40}}); },
                            {"'b' has extents [1099511627776, 1099511627776], expected none below "
                             "0 and a product that fits memory"});
}

} // namespace
} // namespace ditron::reference
