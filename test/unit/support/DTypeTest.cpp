// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle writes every value of a format down by its definition (ldexp of its fields) and rounds
// by comparing distances in double, where all of them are exact. A monotonic step function is
// right everywhere if it is right at every step: each value, each midpoint of two neighbours, and
// the floats on both sides of either are tried.
#include "ditron/support/DType.h"
#include "ditron/support/Error.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace ditron;

namespace {

template <class T> struct Fields;
template <> struct Fields<f16> {
  static constexpr int exponent = 5, mantissa = 10, bias = 15;
};
template <> struct Fields<bf16> {
  static constexpr int exponent = 8, mantissa = 7, bias = 127;
};
template <> struct Fields<f8e4m3> {
  static constexpr int exponent = 4, mantissa = 3, bias = 7;
};
template <> struct Fields<f8e5m2> {
  static constexpr int exponent = 5, mantissa = 2, bias = 15;
};

template <class T> constexpr bool kHasInfinity = !std::is_same_v<T, f8e4m3>;
template <class T> constexpr int kBits = Fields<T>::exponent + Fields<T>::mantissa; // but the sign

template <class T> T fromBits(uint32_t bits) {
  T value;
  value.bits = static_cast<decltype(value.bits)>(bits);
  return value;
}

/// The finite values >= 0, in order: the index is the code.
template <class T> const std::vector<double> &finiteValues() {
  static const std::vector<double> values = [] {
    using F = Fields<T>;
    std::vector<double> result;
    int codes = kHasInfinity<T> ? ((1 << F::exponent) - 1) << F::mantissa : (1 << kBits<T>)-1;
    for (int code = 0; code < codes; ++code) {
      int exponent = code >> F::mantissa, mantissa = code & ((1 << F::mantissa) - 1);
      result.push_back(exponent == 0 ? std::ldexp(mantissa, 1 - F::bias - F::mantissa)
                                     : std::ldexp((1 << F::mantissa) + mantissa,
                                                  exponent - F::bias - F::mantissa));
    }
    return result;
  }();
  return values;
}

/// Code of the value nearest to `x`, not NaN, by distances; beyond the last step is one more code.
template <class T> uint32_t nearest(double x) {
  const auto &values = finiteValues<T>();
  uint32_t sign = std::signbit(x) ? 1u << kBits<T> : 0, last = uint32_t(values.size()) - 1;
  x = std::fabs(x);
  double beyond = 2 * values[last] - values[last - 1]; // where the next value would be
  if (x >= beyond)
    return sign | (last + 1);
  uint32_t above = uint32_t(std::upper_bound(values.begin(), values.end(), x) - values.begin());
  uint32_t below = above - 1;
  double up = above <= last ? values[above] : beyond;
  double toUp = up - x, toDown = x - values[below];
  if (toUp == toDown)
    return sign | (below % 2 == 0 ? below : above);
  return sign | (toUp < toDown ? above : below);
}

template <class T> class Narrow : public testing::Test {};
using Formats = testing::Types<f16, bf16, f8e4m3, f8e5m2>;
TYPED_TEST_SUITE(Narrow, Formats);

TYPED_TEST(Narrow, EveryCodeHasTheValueOfItsFields) {
  const auto &values = finiteValues<TypeParam>();
  for (uint32_t code = 0; code < 2u << kBits<TypeParam>; ++code) {
    bool negative = code >> kBits<TypeParam>;
    uint32_t magnitude = code & ((1u << kBits<TypeParam>)-1);
    float value = float(fromBits<TypeParam>(code));
    ASSERT_EQ(std::signbit(value), negative) << code;
    if (magnitude < values.size())
      ASSERT_EQ(std::fabs(value), values[magnitude]) << code;
    else if (kHasInfinity<TypeParam> && magnitude == values.size())
      ASSERT_TRUE(std::isinf(value)) << code;
    else
      ASSERT_TRUE(std::isnan(value)) << code;
  }
}

TYPED_TEST(Narrow, EveryCodeRoundTrips) {
  for (uint32_t code = 0; code < 2u << kBits<TypeParam>; ++code) {
    float value = float(fromBits<TypeParam>(code));
    uint32_t back = TypeParam(value).bits;
    double wide = loadElement(kDType<TypeParam>, &code);
    TypeParam stored;
    storeElement(kDType<TypeParam>, &stored, wide);
    if (std::isnan(value)) { // a NaN stays a NaN with its sign, and becomes quiet
      uint32_t quiet = kHasInfinity<TypeParam> ? 1u << (Fields<TypeParam>::mantissa - 1) : 0;
      ASSERT_EQ(back, code | quiet);
      ASSERT_EQ(stored.bits, code | quiet);
    } else {
      ASSERT_EQ(back, code);
      ASSERT_EQ(stored.bits, code);
      ASSERT_EQ(wide, double(value));
    }
  }
}

TYPED_TEST(Narrow, RoundsToNearestEvenAtEveryStep) {
  const auto &values = finiteValues<TypeParam>();
  auto check = [](float x) {
    for (float y : {x, -x})
      ASSERT_EQ(TypeParam(y).bits, nearest<TypeParam>(y)) << std::hexfloat << y;
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < values.size(); ++i) {
    double next = i + 1 < values.size() ? values[i + 1] : 2 * values[i] - values[i - 1];
    for (double point : {values[i], (values[i] + next) / 2, next}) {
      float x = float(point);
      if (double(x) != point) // 2^128, where bf16 ends, is no float: the floats around it are
        continue;
      check(x);
      check(std::nextafter(x, 0.f));
      check(std::nextafter(x, infinity));
    }
  }
  check(std::numeric_limits<float>::max());
  check(std::numeric_limits<float>::denorm_min());
  check(infinity);
}

TYPED_TEST(Narrow, RandomFloatsRoundToNearestEven) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    float x = std::bit_cast<float>(uint32_t(random()));
    if (std::isnan(x))
      ASSERT_TRUE(std::isnan(float(TypeParam(x))));
    else
      ASSERT_EQ(TypeParam(x).bits, nearest<TypeParam>(x)) << std::hexfloat << x;
  }
}

TYPED_TEST(Narrow, DoublesRoundOnce) {
  // Just above a midpoint, by less than a float can tell: rounding through float would tie to even.
  const auto &values = finiteValues<TypeParam>();
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    double middle = (values[i] + values[i + 1]) / 2;
    TypeParam above, below;
    storeElement(kDType<TypeParam>, &above, std::nextafter(middle, 1e300));
    storeElement(kDType<TypeParam>, &below, std::nextafter(middle, 0.0));
    ASSERT_EQ(above.bits, i + 1);
    ASSERT_EQ(below.bits, i);
  }
}

TEST(DType, KnownValues) {
  EXPECT_EQ(f16(1.f).bits, 0x3c00);
  EXPECT_EQ(f16(65504.f).bits, 0x7bff);
  EXPECT_EQ(f16(65520.f).bits, 0x7c00);
  EXPECT_EQ(bf16(1.f).bits, 0x3f80);
  EXPECT_EQ(f8e4m3(448.f).bits, 0x7e);
  EXPECT_EQ(f8e4m3(464.f).bits, 0x7e);
  EXPECT_EQ(f8e4m3(464.1f).bits, 0x7f);
  EXPECT_EQ(f8e4m3(-std::numeric_limits<float>::infinity()).bits, 0xff);
  EXPECT_EQ(f8e5m2(57344.f).bits, 0x7b);
  EXPECT_EQ(f8e5m2(61440.f).bits, 0x7c);
  EXPECT_EQ(std::signbit(float(f8e4m3(-0.f))), true);
}

template <class T> T stored(double value) {
  T result;
  storeElement(kDType<T>, &result, value);
  return result;
}

TEST(DType, IntegersTruncateAndSaturate) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double x = -200; x <= 200; x += 0.25)
    ASSERT_EQ(stored<i8>(x), std::clamp(std::trunc(x), -128.0, 127.0)) << x;
  EXPECT_EQ(stored<i16>(40000), 32767);
  EXPECT_EQ(stored<i16>(-32768.9), -32768);
  EXPECT_EQ(stored<i32>(2147483647.0), 2147483647);
  EXPECT_EQ(stored<i32>(2147483648.0), 2147483647);
  EXPECT_EQ(stored<i64>(infinity), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(stored<i64>(0x1p63), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(stored<i64>(std::nextafter(0x1p63, 0)), 0x7ffffffffffffc00);
  EXPECT_EQ(stored<i64>(-infinity), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(stored<i64>(std::nan("")), 0);
  EXPECT_EQ(stored<i1>(0), false);
  EXPECT_EQ(stored<i1>(0.5), true);
  unsigned char odd = 2;
  EXPECT_EQ(loadElement(DType::i1, &odd), 1);
}

TEST(DType, NamesAndSizes) {
  size_t bytes[] = {4, 2, 2, 1, 1, 1, 2, 4, 8, 1};
  for (int i = 0; i < 10; ++i) {
    DType type = DType(i);
    EXPECT_EQ(parseDType(name(type)), type);
    EXPECT_EQ(byteSize(type), bytes[i]);
    EXPECT_EQ(isFloat(type), i < 5);
  }
  try {
    parseDType("fp16");
    FAIL();
  } catch (const UsageError &error) {
    EXPECT_STREQ(error.what(), "unknown element type 'fp16': expected one of f32, f16, bf16, "
                               "f8e4m3, f8e5m2, i8, i16, i32, i64, i1");
  }
}

} // namespace
