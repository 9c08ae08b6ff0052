// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every elementwise operation on every element type, on delicate values and random ones.
#include "Differential.h"
#include <gtest/gtest.h>

namespace ditron::differential {
namespace {

using Function = std::function<Tile(const Tile &, const Tile &, const Tile &)>;

struct Named {
  const char *name;
  Function apply;
};

/// Operations that are exact: rounded once, or integers.
std::vector<Named> exactFloats() {
  std::vector<Named> ops;
#define DITRON_OP(name, ...)                                                                       \
  ops.push_back({#name, [](const Tile &x, const Tile &y, const Tile &z) { return __VA_ARGS__; }});
  DITRON_OP(add, add(x, y))
  DITRON_OP(sub, sub(x, y))
  DITRON_OP(mul, mul(x, y))
  DITRON_OP(rem, rem(x, y))
  DITRON_OP(sqrt, sqrt(x))
  DITRON_OP(floor, floor(x))
  DITRON_OP(ceil, ceil(x))
  DITRON_OP(neg, neg(x))
  DITRON_OP(abs, abs(x))
  DITRON_OP(select, select(less(x, y), x, z))
  DITRON_OP(chain, x * y + z)
  return ops;
}

std::vector<Named> quotients() {
  std::vector<Named> ops;
  DITRON_OP(div, div(x, y))
  DITRON_OP(reciprocal, 1 / x)
  return ops;
}

std::vector<Named> extrema() {
  std::vector<Named> ops;
  DITRON_OP(minimum, minimum(x, y))
  DITRON_OP(maximum, maximum(x, y))
  return ops;
}

std::vector<Named> integers(DType type) {
  std::vector<Named> ops = extrema();
  DITRON_OP(add, add(x, y))
  DITRON_OP(sub, sub(x, y))
  DITRON_OP(mul, mul(x, y))
  DITRON_OP(div, div(x, y))
  DITRON_OP(rem, rem(x, y))
  DITRON_OP(abs, abs(x))
  DITRON_OP(bitAnd, bitAnd(x, y))
  DITRON_OP(bitOr, bitOr(x, y))
  DITRON_OP(bitXor, bitXor(x, y))
  DITRON_OP(shiftLeft, shiftLeft(x, y))
  DITRON_OP(shiftRight, shiftRight(x, y))
  DITRON_OP(select, select(less(x, y), x, z))
  DITRON_OP(chain, (x * y + z) / y)
  DITRON_OP(shiftByConstant, (x << 1) ^ (x >> 1))
  if (type != DType::i1) // has no 3
    DITRON_OP(divideByThree, x / 3)
  return ops;
}

std::vector<Named> comparisons() {
  std::vector<Named> ops;
  DITRON_OP(equal, equal(x, y))
  DITRON_OP(notEqual, notEqual(x, y))
  DITRON_OP(less, less(x, y))
  DITRON_OP(lessEqual, lessEqual(x, y))
  DITRON_OP(greater, greater(x, y))
  DITRON_OP(greaterEqual, greaterEqual(x, y))
  DITRON_OP(both, bitAnd(less(x, y), notEqual(y, z)))
  return ops;
}

constexpr int kWidth = 77; // no multiple of a vector

/// o[p] = ops[p](x, y, z), each operation reading its operands anew.
template <class T, class R> Kernel elementwise(const std::vector<Named> &ops) {
  return {"elementwise(x[N], y[N], z[N]) -> o[P,N]",
          [&](In<T, 1> x, In<T, 1> y, In<T, 1> z, Out<R, 2> o) {
            auto xs = x.tiled(kWidth), ys = y.tiled(kWidth), zs = z.tiled(kWidth);
            auto os = o.tiled(kWidth);
            for (auto [j] : xs.tiles())
              for (size_t p = 0; p < ops.size(); ++p)
                os(Index(p), j) = ops[p].apply(xs(j), ys(j), zs(j));
          }};
}

/// All pairs of delicate values, then random ones.
template <class T> std::vector<Argument> operands(size_t ops, DType result) {
  constexpr DType type = kDType<T>;
  std::vector<Argument> arguments;
  auto fill = [&](const auto &values, auto &&set) {
    auto count = static_cast<int64_t>(values.size());
    int64_t n = count * count + 300;
    for (int operand = 0; operand < 3; ++operand) {
      Block block(type, {n});
      block.fillRandom(5 + operand);
      std::vector<int64_t> step{1, count, 3};
      set(
          block, [&, operand](int64_t i) { return values[i / step[operand] % count]; },
          count * count);
      arguments.emplace_back(block);
    }
    arguments.emplace_back(Block(result, {static_cast<int64_t>(ops), n}));
  };
  if (isFloat(type))
    fill(delicateFloats(type), [](Block &block, auto value, int64_t end) {
      for (int64_t i = 0; i < end; ++i)
        storeElement(block.type(), block.element(i), value(i));
    });
  else
    fill(delicateIntegers(type), [](Block &block, auto value, int64_t end) {
      for (int64_t i = 0; i < end; ++i) {
        int64_t integer = value(i);
        std::memcpy(block.element(i), &integer, byteSize(block.type()));
      }
    });
  return arguments;
}

template <class T> void check(const std::vector<Named> &ops, const Tolerance &tolerance = {}) {
  SCOPED_TRACE(name(kDType<T>));
  std::string names;
  for (const Named &op : ops)
    names += std::string(" ") + op.name;
  SCOPED_TRACE(names);
  expectSame(elementwise<T, T>(ops), operands<T>(ops.size(), kDType<T>), tolerance);
}

template <class T> void checkComparisons() {
  SCOPED_TRACE(name(kDType<T>));
  std::vector<Named> ops = comparisons();
  expectSame(elementwise<T, i1>(ops), operands<T>(ops.size(), DType::i1));
}

template <class T> class Floats : public testing::Test {};
using FloatTypes = testing::Types<f32, f16, bf16, f8e4m3, f8e5m2>;
TYPED_TEST_SUITE(Floats, FloatTypes);

TYPED_TEST(Floats, exact) { check<TypeParam>(exactFloats()); }
// On CPUs they are rounded once.
TYPED_TEST(Floats, quotients) { check<TypeParam>(quotients(), {.ulps = isOnCpu() ? 0.0 : 2.0}); }
// The sign of a zero between zeros is left open.
TYPED_TEST(Floats, extrema) { check<TypeParam>(extrema(), {.absolute = 1e-300}); }
TYPED_TEST(Floats, comparisons) { checkComparisons<TypeParam>(); }
// Narrow floats round twice: in f32, then to their type.
TYPED_TEST(Floats, fma) {
  std::vector<Named> ops;
  DITRON_OP(fma, fma(x, y, z))
  check<TypeParam>(ops, {.ulps = 1});
}

template <class T> class Integers : public testing::Test {};
using IntegerTypes = testing::Types<i8, i16, i32, i64, i1>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

TYPED_TEST(Integers, arithmetic) { check<TypeParam>(integers(kDType<TypeParam>)); }
TYPED_TEST(Integers, comparisons) { checkComparisons<TypeParam>(); }

} // namespace
} // namespace ditron::differential
