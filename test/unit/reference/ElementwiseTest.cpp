// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every line of core/Elementwise.def, on tiles and on scalars of every element type, against the
// line's own expression.
#include "Interpret.h"
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace ditron::reference {
namespace {

using namespace mlir;

template <class T> std::string typeName() {
  switch (kDType<T>) {
  case DType::f8e4m3:
    return "f8E4M3FN";
  case DType::f8e5m2:
    return "f8E5M2";
  default:
    return std::string(name(kDType<T>));
  }
}

/// All pairs of these are tried.
template <class T> std::vector<T> samples() {
  if constexpr (std::is_integral_v<T>)
    return {0,
            1,
            T(-1),
            2,
            3,
            T(-3),
            7,
            100,
            std::numeric_limits<T>::min(),
            std::numeric_limits<T>::max()};
  else
    return {T(0.f),  T(-0.f),  T(1.f),      T(-1.f),      T(0.3f), T(-2.5f), T(3.f),
            T(17.f), T(440.f), T(INFINITY), T(-INFINITY), T(NAN),  T(0.01f)};
}

/// `op` applied to x, y, z: once as tiles, and once as scalars of each element; `extra` comes
/// between the name and the operands, `result` is the element type of the result.
std::string program(const std::string &op, int operands, const std::string &type, int64_t n,
                    const std::string &extra, const std::string &result, bool comparison) {
  std::string in = fmt::format("memref<{}x{}>", n, type),
              out = fmt::format("memref<{}x{}>", n, result);
  std::string names[] = {"x", "y", "z"};
  std::string text = "func.func @kernel(";
  for (int i = 0; i < operands; ++i)
    text += fmt::format("%{}m: {}, ", names[i], in);
  text += fmt::format("%rm: {0}, %sm: {0}) {{\n  %c0 = arith.constant 0 : index\n", out);
  text += fmt::format("  %c1 = arith.constant 1 : index\n  %n = arith.constant {} : index\n", n);
  auto apply = [&](const std::string &suffix, const std::string &operandType,
                   const std::string &resultType) {
    std::string line = fmt::format("  %r{} = \"{}\"(", suffix, op), types;
    for (int i = 0; i < operands; ++i) {
      line += fmt::format("{}%{}{}", i ? ", " : "", names[i], suffix);
      types += fmt::format("{}{}", i ? ", " : "", operandType);
    }
    text += fmt::format("{}) {} : ({}) -> {}\n", line,
                        comparison ? "{predicate = " + extra + "}" : "", types, resultType);
  };
  for (int i = 0; i < operands; ++i)
    text += fmt::format("  %{0} = tile.load %{0}m[%c0] : {1} -> tensor<{2}x{3}>\n", names[i], in, n,
                        type);
  apply("", fmt::format("tensor<{}x{}>", n, type), fmt::format("tensor<{}x{}>", n, result));
  text += fmt::format("  tile.store %r, %rm[%c0] : tensor<{}x{}>, {}\n", n, result, out);
  text += "  scf.for %i = %c0 to %n step %c1 {\n";
  for (int i = 0; i < operands; ++i)
    text += fmt::format("  %{0}s = memref.load %{0}m[%i] : {1}\n", names[i], in);
  apply("s", type, result);
  return text + fmt::format("  memref.store %rs, %sm[%i] : {}\n  }}\n  return\n}}", out);
}

/// What a line's expression is computed in.
template <class T> using Wide = std::conditional_t<std::is_integral_v<T>, __int128, double>;

template <class T> std::array<std::byte, sizeof(T)> bytesOf(T value) {
  return std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
}
/// Bit for bit, but for the sign of a NaN: IEEE leaves it open.
template <class T> bool same(T a, T b) {
  return bytesOf(a) == bytesOf(b) || (std::isnan(float(a)) && std::isnan(float(b)));
}

template <class R, class T, class Fn>
void check(const std::string &op, int operands, Fn fn, const std::string &predicate = "") {
  std::vector<T> x, y, z;
  for (T a : samples<T>())
    for (T b : samples<T>()) {
      x.push_back(a);
      y.push_back(b);
      z.push_back(samples<T>()[x.size() % samples<T>().size()]);
    }
  auto n = static_cast<int64_t>(x.size());
  Array<T> ax({n}, x), ay({n}, y), az({n}, z);
  // An array of bool has no address.
  using Stored = std::conditional_t<std::is_same_v<R, bool>, i8, R>;
  Array<Stored> tiles({n}), scalars({n});
  auto out = [](Array<Stored> &array) {
    ArgumentValue value = array;
    std::get<ArgumentMemory>(value).type = kDType<R>;
    return value;
  };
  std::vector<ArgumentValue> arguments{ax, ay, az};
  arguments.resize(operands);
  arguments.push_back(out(tiles));
  arguments.push_back(out(scalars));
  Program(program(op, operands, typeName<T>(), n, predicate, typeName<R>(), !predicate.empty()))
      .run({arguments});
  for (int64_t i = 0; i < n; ++i) {
    auto wide = [](T value) {
      if constexpr (std::is_integral_v<T>)
        return Wide<T>(value);
      else
        return Wide<T>(float(value));
    };
    auto exact = fn(wide(x[i]), wide(y[i]), wide(z[i]));
    Stored expected;
    if constexpr (std::is_integral_v<T> || std::is_same_v<R, bool>)
      expected = static_cast<Stored>(exact);
    else
      storeElement(kDType<R>, &expected, exact);
    EXPECT_TRUE(same(tiles.elements[i], expected))
        << op << predicate << " of " << float(x[i]) << ", " << float(y[i]) << " is "
        << float(tiles.elements[i]) << ", expected " << float(expected);
    EXPECT_TRUE(same(scalars.elements[i], expected)) << op << " of scalars";
  }
}

template <class Op, class Fn> void checkFloats(int operands, Fn fn) {
  std::string op(Op::getOperationName());
  check<f32, f32>(op, operands, fn);
  check<f16, f16>(op, operands, fn);
  check<bf16, bf16>(op, operands, fn);
  check<f8e4m3, f8e4m3>(op, operands, fn);
  check<f8e5m2, f8e5m2>(op, operands, fn);
}
template <class Op, class Fn> void checkIntegers(int operands, Fn fn) {
  std::string op(Op::getOperationName());
  check<i8, i8>(op, operands, fn);
  check<i16, i16>(op, operands, fn);
  check<i32, i32>(op, operands, fn);
  check<i64, i64>(op, operands, fn);
}
template <class Predicate, class Integer, class Fn, class IntegerFn>
void checkComparison(Predicate predicate, Integer integer, Fn fn, IntegerFn integerFn) {
  auto text = [](auto value) { return fmt::format("{} : i64", int64_t(value)); };
  check<bool, f32>("arith.cmpf", 2, fn, text(predicate));
  check<bool, f8e4m3>("arith.cmpf", 2, fn, text(predicate));
  check<bool, i8>("arith.cmpi", 2, integerFn, text(integer));
  check<bool, i64>("arith.cmpi", 2, integerFn, text(integer));
}

#define FLOATS(expression) [](double x, double y, double z) -> double { return expression; }
#define INTEGERS(expression)                                                                       \
  [](__int128 x, __int128 y, __int128 z) -> __int128 { return expression; }

#define UNARY(name, Op, expression)                                                                \
  TEST(Elementwise, name) { checkFloats<Op>(1, FLOATS(expression)); }
#define UNARY_ANY(name, Op, IntegerOp, expression, integerExpression)                              \
  TEST(Elementwise, name) {                                                                        \
    checkFloats<Op>(1, FLOATS(expression));                                                        \
    checkIntegers<IntegerOp>(1, INTEGERS(integerExpression));                                      \
  }
#define BINARY(name, Op, IntegerOp, expression, integerExpression)                                 \
  TEST(Elementwise, name) {                                                                        \
    checkFloats<Op>(2, FLOATS(expression));                                                        \
    checkIntegers<IntegerOp>(2, INTEGERS(integerExpression));                                      \
  }
#define BINARY_INT(name, IntegerOp, expression)                                                    \
  TEST(Elementwise, name) { checkIntegers<IntegerOp>(2, INTEGERS(expression)); }
#define TERNARY(name, Op, expression)                                                              \
  TEST(Elementwise, name) { checkFloats<Op>(3, FLOATS(expression)); }
#define COMPARE(name, predicate, integerPredicate, expression)                                     \
  TEST(Elementwise, name) {                                                                        \
    checkComparison(                                                                               \
        arith::CmpFPredicate::predicate, arith::CmpIPredicate::integerPredicate,                   \
        [](double x, double y, double) -> bool { return expression; },                             \
        [](__int128 x, __int128 y, __int128) -> bool { return expression; });                      \
  }
#include "ditron/core/Elementwise.def"

/// The predicates that the language has no name for.
TEST(Elementwise, UnorderedComparisons) {
  using P = arith::CmpFPredicate;
  auto check2 = [](P predicate, auto fn) {
    check<bool, f32>("arith.cmpf", 2, fn, fmt::format("{} : i64", int64_t(predicate)));
  };
  auto unordered = [](double x, double y) { return std::isnan(x) || std::isnan(y); };
  check2(P::ORD, [=](double x, double y, double) { return !unordered(x, y); });
  check2(P::UNO, [=](double x, double y, double) { return unordered(x, y); });
  check2(P::ONE, [=](double x, double y, double) { return !unordered(x, y) && x != y; });
  check2(P::UEQ, [=](double x, double y, double) { return unordered(x, y) || x == y; });
  check2(P::ULT, [=](double x, double y, double) { return unordered(x, y) || x < y; });
  check2(P::ULE, [=](double x, double y, double) { return unordered(x, y) || x <= y; });
  check2(P::UGT, [=](double x, double y, double) { return unordered(x, y) || x > y; });
  check2(P::UGE, [=](double x, double y, double) { return unordered(x, y) || x >= y; });
  check2(P::AlwaysTrue, [](double, double, double) { return true; });
  check2(P::AlwaysFalse, [](double, double, double) { return false; });
}

} // namespace
} // namespace ditron::reference
