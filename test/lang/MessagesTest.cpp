// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the language says of a kernel that is wrong: the line, what was found and what was expected.
#include "ditron/device/Order.h"
#include "ditron/lang/Inbox.h"
#include "ditron/lang/Kernel.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ditron;

namespace {

/// The body of a kernel of x[M,N] -> y[M,N], z[K].
using Body = std::function<void(const In<f32> &, const Out<f32> &, const Out<i32, 1> &)>;

std::string errorOf(const Body &body) {
  try {
    Kernel("k(x[M,N], n) -> y[M,N], z[K]",
           [&](In<f32> x, Index, Out<f32> y, Out<i32, 1> z) { body(x, y, z); });
  } catch (const CompileError &error) {
    return error.what();
  }
  return "no error";
}

/// The message of a body whose mistake stands in the line of this macro.
#define EXPECT_MESSAGE(text, ...)                                                                  \
  EXPECT_EQ(errorOf([&](const In<f32> &x, const Out<f32> &y, const Out<i32, 1> &z) {               \
              (void)x, (void)y, (void)z;                                                           \
              __VA_ARGS__;                                                                         \
            }),                                                                                    \
            std::string("MessagesTest.cpp:") + std::to_string(__LINE__) + ": " + text)

TEST(Messages, waiversEndWithTheirBodies) {
  Kernel kernel("k() -> y[M,N]", [](Out<f32> y) {
    try {
      waive("early", "on purpose", [] { throw 1; });
    } catch (int) {
      y.tiled(8, 8)(0, 0) = 1;
    }
  });
  EXPECT_THAT(kernel.ir(), testing::Not(testing::HasSubstr("early")));
}

/// Each call declares another array: names are made, which are others in one line, too.
TEST(Messages, declarationsWithoutNames) {
  auto arrays = [] { return std::array{signals(1), signals(1, nullptr)}; };
  Kernel kernel("k() -> y[M,N]", [&](Out<f32>) { arrays(), arrays(); });
  std::string line = "MessagesTest.cpp:" + std::to_string(__LINE__ - 2);
  for (const char *number : {"", " (2)", " (3)", " (4)"})
    EXPECT_THAT(kernel.ir(), testing::HasSubstr("dist.signals \"" + line + number + "\""));
}

// Each mistake and its message stand in one line, whose number the message has.
// clang-format off

TEST(Messages, shapes) {
  EXPECT_MESSAGE("add: shapes [2, 3] and [4, 3] do not broadcast: extents 2 and 4", zeros<f32>(2, 3) + zeros<f32>(4, 3));
  EXPECT_MESSAGE("dot: [2, 3] by [4, 5]: needs [..., m, k] by [..., k, n]", dot(zeros<f32>(2, 3), zeros<f32>(4, 5)));
  EXPECT_MESSAGE("dot: [3] by [3]: needs [..., m, k] by [..., k, n]", dot(zeros<f32>(3), zeros<f32>(3)));
  EXPECT_MESSAGE("broadcast: [2, 3] does not repeat to [1, 3]", broadcast(zeros<f32>(2, 3), {1, 3}));
  EXPECT_MESSAGE("reshape: [2, 3] has 6 elements but [4] has 4", reshape(zeros<f32>(2, 3), {4}));
  EXPECT_MESSAGE("transpose: needs 2 or more dimensions", transpose(zeros<f32>(3)));
  EXPECT_MESSAGE("transpose: [0, 0] is no permutation of the 2 dimensions of [2, 3]", transpose(zeros<f32>(2, 3), {0, 0}));
  EXPECT_MESSAGE("sum: axis is 2 but the tile has 2 dimensions", sum(zeros<f32>(2, 3), 2));
  EXPECT_MESSAGE("cummax: axis is -1 but the tile has 2 dimensions", cummax(zeros<f32>(2, 3), -1));
  EXPECT_MESSAGE("argmax: axis is 1 but the tile has 1 dimensions", argmax(zeros<f32>(3), 1));
  EXPECT_MESSAGE("iota: axis is 2 but the shape [2, 3] has 2 dimensions", iota({2, 3}, 2));
  EXPECT_MESSAGE("a tile of shape [0, 3] has an extent below 1", zeros<f32>(0, 3));
  EXPECT_MESSAGE("a tile of shape [-3] has an extent below 1", iota(-3));
  EXPECT_MESSAGE("a tile of shape [4, 0] has an extent below 1", iota({4, 0}, 0));
  EXPECT_MESSAGE("gather: the width is -4, expected 1 or more", x.gather(iota(8), 0, -4));
  EXPECT_MESSAGE("store: the tile is [4, 16] but the view is [8, 8]: reshape() or transpose() it", y.tiled(8, 8)(0, 0) = zeros<f32>(4, 16));
  EXPECT_MESSAGE("store: the tile is [1, 8] but the view is [8]: reshape() or transpose() it", z.tiled(8)(0) = zeros<i32>(1, 8));
  EXPECT_MESSAGE("tiled: a tile has extent 0, expected 1 or more", x.tiled(0, 8).rows());
  EXPECT_MESSAGE("tiled: a tile has extent -8, expected 1 or more", y.tiled(8, -8));
}

TEST(Messages, assignments) {
  const std::string isAssigned = "an Index or Bool from in front of this loop, branch or role is assigned to inside of it, which would happen once, while it is traced: declare a Var";
  EXPECT_MESSAGE(isAssigned, Index n = 0; when(x.rows() > 1, [&] { n = 7; }));
  EXPECT_MESSAGE(isAssigned, Index n = x.rows(); for (auto i : range(4)) n = n + i);
  EXPECT_MESSAGE(isAssigned, Bool found = x.rows() > 1; for (auto [i, j] : y.tiled(2, 2).tiles()) found = found || i == j);
  EXPECT_MESSAGE(isAssigned, Index n = 0; splitCores(1)[0].run("gather", [&] { for (int i = 0; i < 2; ++i) n = n + 1; }));
  // In C++ alone, what is traced being the same.
  EXPECT_EQ(errorOf([](const In<f32> &x, auto...) { Index n = 1; for (int d = 0; d < 2; ++d) n = n * x.dim(d); }), "no error");
  EXPECT_EQ(errorOf([](const In<f32> &x, auto...) { for (auto i : range(4)) { Index n = i; if (i.isConstant()) n = 0; n = n + x.rows(); } }), "no error");
}

TEST(Messages, ordersWithoutNames) {
  EXPECT_MESSAGE("tiles: order '' with parameter 1: known orders are " + device::orderNames() + ", the parameter is 1 or more", for ([[maybe_unused]] auto [i, j] : y.tiled(2, 2).tiles(Order{nullptr})) {});
}

TEST(Messages, types) {
  EXPECT_MESSAGE("add: operands are of f32 and f16: cast one of them", zeros<f32>(3) + zeros<f16>(3));
  EXPECT_MESSAGE("dot: operands are of f32 and f16: needs one type, floats or i8", dot(zeros<f32>(2, 2), zeros<f16>(2, 2)));
  EXPECT_MESSAGE("dot: operands are of i32 and i32: needs one type, floats or i8", dot(zeros<i32>(2, 2), zeros<i32>(2, 2)));
  EXPECT_MESSAGE("exp: is not defined for i32", exp(zeros<i32>(2, 2)));
  EXPECT_MESSAGE("bitAnd: is not defined for f32", zeros<f32>(2) & zeros<f32>(2));
  const std::string alongAnAxis = "is not defined for i1: use any or all, or cast the truth values to a type of numbers";
  EXPECT_MESSAGE("mean: " + alongAnAxis, mean(zeros<i1>(2), 0));
  EXPECT_MESSAGE("sum: " + alongAnAxis, sum(zeros<i1>(2), 0));
  EXPECT_MESSAGE("argmax: " + alongAnAxis, argmax(zeros<i1>(2), 0));
  EXPECT_MESSAGE("cumsum: " + alongAnAxis, cumsum(zeros<i1>(2), 0));
  EXPECT_MESSAGE("any: the tile is of i32, expected truth values, as comparisons give", any(zeros<i32>(2), 0));
  EXPECT_MESSAGE("all: axis is 1 but the tile has 1 dimensions", all(zeros<i1>(2), 1));
  EXPECT_MESSAGE("select: condition is of f32, expected i1", select(zeros<f32>(2), 1, 2));
  EXPECT_MESSAGE("toIndex: needs integers, found f32", toIndex(zeros<f32>(1)));
  EXPECT_MESSAGE("toIndex: needs one element, found a tile of shape [2]", toIndex(zeros<i32>(2)));
  EXPECT_MESSAGE("minimum: needs a tile among its operands", minimum(2.0, 3));
}

TEST(Messages, numbers) {
  EXPECT_MESSAGE("0.5 is no i32: expected an integer from -2147483648 to 2147483647", zeros<i32>(2) + 0.5);
  EXPECT_MESSAGE("3000000000 is no i32: expected an integer from -2147483648 to 2147483647", zeros<i32>(2) * 3000000000u);
  EXPECT_MESSAGE("300 is no i8: expected an integer from -128 to 127", 300 - zeros<i8>(2));
  EXPECT_MESSAGE("-129 is no i8: expected an integer from -128 to 127", less(zeros<i8>(2), -129));
  EXPECT_MESSAGE("40000 is no i16: expected an integer from -32768 to 32767", select(zeros<i16>(2) == 0, zeros<i16>(2), 40000));
  EXPECT_MESSAGE("18446744073709551615 is no i64: expected an integer from -9223372036854775808 to 9223372036854775807", zeros<i64>(2) + UINT64_MAX);
  EXPECT_MESSAGE("1e+19 is no i64: expected an integer from -9223372036854775808 to 9223372036854775807", zeros<i64>(2) + 1e19);
  EXPECT_MESSAGE("nan is no i64: expected an integer from -9223372036854775808 to 9223372036854775807", zeros<i64>(2) + double(NAN));
  EXPECT_MESSAGE("2 is no i1: expected an integer from 0 to 1", (zeros<i32>(2) == 0) & 2);
  EXPECT_MESSAGE("-1 is no i1: expected an integer from 0 to 1", full<i1>({2}, -1));
  EXPECT_MESSAGE("1.5 is no i32: expected an integer from -2147483648 to 2147483647", z.tiled(2)(0) = 1.5);
  EXPECT_MESSAGE("1.5 is no i32: expected an integer from -2147483648 to 2147483647", Var v = zeros<i32>(2); v = 1.5);
  EXPECT_MESSAGE("10000000000 is no f16: expected a magnitude of at most 65504", zeros<f16>(2) + 1e10);
  EXPECT_MESSAGE("1e+39 is no f32: expected a magnitude of at most 3.4028234663852886e+38", x.tiled(2, 2)(0, 0).padded(1e39) + zeros<f32>(2, 2));
  EXPECT_MESSAGE("1e+39 is no f32: expected a magnitude of at most 3.4028234663852886e+38", x.gather(iota(4), 0, 8, -1e39 * -1));
  EXPECT_MESSAGE("-inf is no f8e4m3, which has no infinity: expected a magnitude of at most 448", full<f8e4m3>({2}, -INFINITY));
}

TEST(Messages, numbersThatFit) {
  Kernel kernel("k(x[M]) -> y[M]", [](In<i64, 1>, Out<i64, 1> y) {
    auto ys = y.tiled(2);
    ys(0) = (int64_t(1) << 53) + 1;
    ys(1) = INT64_MIN;
    ys(2) = 2.0;
    ys(3) = cast<i64>(zeros<i8>(2) + -128);
    ys(4) = cast<i64>(select(full<i1>({2}, true), full<f16>({2}, -INFINITY), 65519.0));
    ys(5) = cast<i64>(zeros<f16>(2) + 1e-10);
  });
  EXPECT_THAT(kernel.ir(), testing::AllOf(testing::HasSubstr("dense<9007199254740993>"),
                                          testing::HasSubstr("dense<-9223372036854775808>"),
                                          testing::HasSubstr("dense<2> : tensor<2xi64>"),
                                          testing::HasSubstr("dense<-128> : tensor<2xi8>"),
                                          testing::HasSubstr("dense<6.550400e+04>"),
                                          testing::HasSubstr("dense<true>")));
}

TEST(Messages, memory) {
  EXPECT_MESSAGE("store: the tile is of f16 but the view is of f32: cast it", y.tiled(2, 2)(0, 0) = zeros<f16>(2, 2));
  EXPECT_MESSAGE("store: the tile is [2, 3] but the view is [2, 2]: broadcast() repeats elements", y.tiled(2, 2)(0, 0) = zeros<f32>(2, 3));
  EXPECT_MESSAGE("store: the tile is [1, 2] but the view is [2, 2]: broadcast() repeats elements", y.tiled(2, 2)(0, 0) = max(zeros<f32>(2, 2), 0));
  EXPECT_MESSAGE("!: the tile is of f32, expected truth values, as comparisons give", !zeros<f32>(2));
  EXPECT_MESSAGE("gather: rows are to be i32 in one dimension", x.gather(zeros<i64>(4), 0, 8));
  EXPECT_MESSAGE("scatter: rows are to be i32 in one dimension", y.scatter(zeros<i32>(4, 1), 0, zeros<f32>(4, 8)));
  EXPECT_MESSAGE("scatter: needs a tile of 2 dimensions with 4 rows", y.scatter(iota(4), 0, zeros<f32>(3, 8)));
  EXPECT_MESSAGE("slice of dimension 2 of a view of 2 dimensions", x.slice(2, 0, 1));
  EXPECT_MESSAGE("dimension 2 of a view of 2 dimensions", x.dim(2));
  EXPECT_MESSAGE("split of dimension 2 of a view of 2 dimensions", x.split(2, 3));
  EXPECT_MESSAGE("split of dimension -1 of a view of 2 dimensions", x.split(-1, 3));
}

TEST(Messages, control) {
  EXPECT_MESSAGE("range: step is 0, expected 1 or more", range(0, 4, 0));
  EXPECT_MESSAGE("the variable holds f32 but is given f16: cast it", Var v = zeros<f32>(2); v = zeros<f16>(2));
  EXPECT_MESSAGE("the variable holds a scalar but is given a tile", Var v = x.read({0, 0}); v = zeros<f32>(2));
  EXPECT_MESSAGE("broadcast: shapes [3] and [2] do not broadcast: extents 3 and 2", Var v = zeros<f32>(2); v = zeros<f32>(3));
  EXPECT_MESSAGE("a native break or return leaves this loop, whose body is traced once: use when(condition, ...) inside of the body", for ([[maybe_unused]] auto i : range(4)) break);
  EXPECT_MESSAGE("a native break or return leaves this loop, whose body is traced once: use when(condition, ...) inside of the body", for ([[maybe_unused]] auto [i, j] : y.tiled(2, 2).tiles()) return);
  const std::string isLeft = "a native break or return leaves this loop, whose body is traced once: use when(condition, ...) inside of the body";
  EXPECT_MESSAGE(isLeft, try { for ([[maybe_unused]] auto i : range(4)) throw 1; } catch (int) {});
  EXPECT_MESSAGE("a loop over this range stands inside of another one over it: make a range for each", auto again = range(4); for ([[maybe_unused]] auto i : again) for ([[maybe_unused]] auto j : again) {});
  EXPECT_MESSAGE("tiles: order 'spiral' with parameter 1: known orders are row-major, grouped, own-shard-first, next-rank-first, others-ahead, the parameter is 1 or more", for ([[maybe_unused]] auto [i, j] : y.tiled(2, 2).tiles(Order{"spiral"})) {});
  EXPECT_MESSAGE("tiles: 1 rows and 1 columns of tiles together, shared by 0: needs 1 or more", for ([[maybe_unused]] auto [i, j] : y.tiled(2, 2).tiles(order::rowMajor.sharedBy(0))) {});
}

TEST(Messages, values) {
  auto behindALoop = [](auto x) {
    std::vector<Tile> kept;
    for (auto i : range(4))
      kept.push_back(x.tiled(2, 2)(i, 0) + 1);
    return kept.front() + 1;
  };
  EXPECT_THAT(errorOf([&](const In<f32> &x, const Out<f32> &, const Out<i32, 1> &) { behindALoop(x); }),
              testing::MatchesRegex("MessagesTest.cpp:[0-9]+: a value that was made inside of a loop or branch, at "
                                    "MessagesTest.cpp:[0-9]+, is used behind it: declare a Var in front, and assign to it "
                                    "inside"));
  std::optional<Tile> ofFirst;
  Kernel first("first(x[M,N], n) -> y[M,N], z[K]",
               [&](In<f32>, Index, Out<f32>, Out<i32, 1>) { ofFirst.emplace(zeros<f32>(2, 2) + 1); });
  const std::string hasEnded = "a value of a kernel whose lambda has ended is used: run-time values exist only while it is traced";
  EXPECT_MESSAGE(hasEnded, *ofFirst + 1);
  EXPECT_MESSAGE(hasEnded, Tile kept = *ofFirst; zeros<f32>(2) + kept);
  EXPECT_MESSAGE("a value of another kernel is used", Tile outer = zeros<f32>(2, 2); Kernel("inner() -> w[M,N]", [&](Out<f32> w) { w.tiled(2, 2)(0, 0) = outer; }));
}

TEST(Messages, parts) {
  EXPECT_MESSAGE("at: dimension 2 of a view of 2 dimensions", x.at(2, 0));
  EXPECT_MESSAGE("tiles: order 'grouped' with parameter 0: known orders are " + device::orderNames() + ", the parameter is 1 or more", for ([[maybe_unused]] auto at : grid({x.rows()}, order::grouped(0))) {});
}

TEST(Messages, ranks) {
  EXPECT_MESSAGE("put: the destination is not a peer's: name it by on(peer)", put(x.tiled(2, 2)(0, 0), y.tiled(2, 2)(0, 0)));
  EXPECT_MESSAGE("get: the source is not a peer's: name it by on(peer)", get(x.tiled(2, 2)(0, 0), y.tiled(2, 2)(0, 0)));
  EXPECT_MESSAGE("put: the source is a peer's, expected memory of this rank", auto far = symmetric<f32>({4, 4}, "far"); put(far.on(1), far.on(0)));
  EXPECT_MESSAGE("get: the destination is a peer's, expected memory of this rank", auto far = symmetric<f32>({4, 4}, "far"); get(far.on(1), far.on(0)));
  EXPECT_MESSAGE("put: the source is of f32 but the destination of f16", auto far = symmetric<f16>({4, 4}, "far"); put(x.tiled(2, 2)(0, 0), far.on(0).tiled(2, 2)(0, 0)));
  EXPECT_MESSAGE("put: the source has 2 dimensions but the destination has 1", auto far = symmetric<f32>({4}, "far"); put(x.tiled(2, 2)(0, 0), far.on(0).tiled(2)(0)));
  EXPECT_MESSAGE("send: the tile is of f32 but the slot is of f16: cast it", auto box = inbox<f16>({4}, {2, 2}, "box"); send(x.tiled(2, 2)(0, 0), box.on(0)(1)));
  EXPECT_MESSAGE("inbox: a tile of 2 x 0, expected extents of 1 or more", inbox<f16>({4}, {2, 0}, "box"));
  EXPECT_MESSAGE("inbox stands in a loop, a branch or a role: every rank allocates it before the launch, so it stands at the top of the kernel", when(x.rows() > 1, [&] { inbox<f16>({4}, {2, 2}, "late"); }));
  EXPECT_MESSAGE("splitCores: a part of 0 cores, expected 1 or more", splitCores(0));
  const std::function<void()> none;
  EXPECT_MESSAGE("when: the body is an empty std::function", when(x.rows() > 1, none));
  EXPECT_MESSAGE("when: the body is an empty std::function", when(x.rows() > 1, [] {}, none));
  EXPECT_MESSAGE("role: the body is an empty std::function", splitCores(1)[0].run("gather", none));
  EXPECT_MESSAGE("waive: the body is an empty std::function", waive("early", "on purpose", none));
  EXPECT_MESSAGE("symmetric stands in a loop, a branch or a role: every rank allocates it before the launch, so it stands at the top of the kernel", for ([[maybe_unused]] auto i : range(2)) symmetric<f32>({4, 4}, "late"));
  EXPECT_MESSAGE("signals stands in a loop, a branch or a role: every rank allocates it before the launch, so it stands at the top of the kernel", when(x.rows() > 1, [&] { signals(4, "late"); }));
}

// clang-format on

/// What a kernel's lambda leaves behind is refused, and not looked at: the kernel may be gone.
TEST(Messages, valuesThatOutliveTheirKernel) {
  std::optional<Tile> tile;
  std::optional<Index> index;
  std::optional<Bool> condition;
  std::optional<In<f32>> view;
  Kernel("gone(x[M,N], n) -> y[M,N]", [&](In<f32> x, Index n, Out<f32>) {
    tile.emplace(x.tiled(2, 2)(0, 0)), index.emplace(n), condition.emplace(n == 1), view.emplace(x);
  });
  auto expectRefused = [](const char *what, const Body &body) {
    EXPECT_THAT(errorOf(body),
                testing::HasSubstr("a value of a kernel whose lambda has ended is used"))
        << what;
  };
  expectRefused("tile", [&](auto, const Out<f32> &y, auto) { y.tiled(2, 2)(0, 0) = *tile; });
  expectRefused("type", [&](auto...) { (void)tile->dtype(); });
  expectRefused("shape", [&](auto...) { (void)tile->shape(); });
  expectRefused("index", [&](auto, const Out<f32> &y, auto) { y.tiled(2, 2)(*index, 0) = 1; });
  expectRefused("condition", [&](auto...) { when(*condition, [] {}); });
  expectRefused("view", [&](auto...) { (void)view->rows(); });
  EXPECT_THROW((void)tile->shape(), CompileError);
}

TEST(Messages, outsideOfAKernel) {
  int line = __LINE__ + 2;
  try {
    zeros<f32>(2);
    FAIL() << "no error";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.what(), "MessagesTest.cpp:" + std::to_string(line) +
                                ": used outside of a kernel: run-time values exist only while a "
                                "kernel's lambda is traced");
  }
}

/// The message of a kernel with this signature and lambda, less the line.
template <class F> std::string signatureError(const char *signature, const F &body) {
  try {
    Kernel kernel(signature, body);
  } catch (const CompileError &error) {
    std::string text = error.what();
    EXPECT_THAT(text, testing::StartsWith("MessagesTest.cpp:"));
    return text.substr(text.find(": ") + 2);
  }
  return "no error";
}

TEST(Messages, signatures) {
  auto body = [](In<f32>, Out<f32>) {};
  EXPECT_EQ(signatureError("k(x[M,N], w[N]) -> y[M,N]", body),
            "k(x[M,N], w[N]) -> y[M,N]: the signature has 3 arguments but the lambda takes 2");
  EXPECT_EQ(signatureError("k(x[M]) -> y[M,N]", body),
            "k(x[M]) -> y[M,N]: x has 1 dimensions but 2 in the lambda");
  EXPECT_EQ(signatureError("k(x) -> y[M,N]", body),
            "k(x) -> y[M,N]: x has no dimensions but is a view in the lambda");
  EXPECT_EQ(signatureError("k(x[M,N]) -> y[M,N]", [](Scalar<f32>, Out<f32>) {}),
            "k(x[M,N]) -> y[M,N]: x has dimensions but is a scalar in the lambda");
  EXPECT_EQ(signatureError("k(x[M,N]) -> y[M,N]", [](In<f32>, In<f32>) {}),
            "k(x[M,N]) -> y[M,N]: y is an output but In in the lambda");
  EXPECT_EQ(signatureError("k(x[M,N]) -> y[M,N]", [](Out<f32>, Out<f32>) {}),
            "k(x[M,N]) -> y[M,N]: x is an input but Out in the lambda");
  EXPECT_THAT(signatureError("k(x[M,N) -> y[M,N]", body),
              testing::StartsWith("signature \"k(x[M,N) -> y[M,N]\": expected "));
  EXPECT_EQ(signatureError("k(-) -> y[M,N]", body),
            "k() -> y[M,N]: argument 1 is absent but the lambda's parameter is no std::optional");
  EXPECT_EQ(
      signatureError("k(x[M,N], -, n) -> y[M,N]", [](In<f32>, std::optional<In<f32>>, Out<f32>) {}),
      "k(x[M,N], n) -> y[M,N]: the signature has 4 arguments but the lambda takes 3");
  EXPECT_EQ(
      signatureError("k(x[M,N], w[N]) -> y[M,N]", [](In<f32>, std::optional<In<f32>>, Out<f32>) {}),
      "k(x[M,N], w[N]) -> y[M,N]: w has 1 dimensions but 2 in the lambda");
  EXPECT_THAT(signatureError("k(x[M+0,N]) -> y[M,N]", body),
              testing::HasSubstr("expected a positive integer at column 7"));
  EXPECT_EQ(signatureError("k(x[M,N]) -> x[M,N]", body),
            "signature \"k(x[M,N]) -> x[M,N]\": two arguments are called x");
  for (const char *dimension : {"0", "M/0", "ceil(M/0)", "99999999999999999999", "4M"})
    EXPECT_THAT(signatureError(fmt::format("k(x[M,N]) -> y[{},N]", dimension).c_str(), body),
                testing::HasSubstr("expected a dimension, which is a name or a positive integer,"));
  EXPECT_THAT(signatureError("k(x[M,N]) -> y[M-1,N]", body),
              testing::HasSubstr("expected ']' at column 17"));
  EXPECT_THAT(signatureError("k(x[M+N,N]) -> y[M,N]", body),
              testing::HasSubstr("expected a positive integer at column 7"));
  EXPECT_THAT(signatureError("k(x[M,N]) -> y", body),
              testing::HasSubstr("the output y has no dimensions"));
}

// What the types forbid, checked by the C++ compiler.
static_assert(!std::is_constructible_v<bool, Bool>);
static_assert(!std::is_assignable_v<Tile &, Tile>);
static_assert(!std::is_assignable_v<decltype(std::declval<In<f16>>().tiled(1, 1)(0, 0)), Tile>);
static_assert(std::is_assignable_v<decltype(std::declval<Out<f16>>().tiled(1, 1)(0, 0)), Tile>);
static_assert(!std::is_copy_constructible_v<Var<Tile>>);

} // namespace
