// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Casts between all pairs of element types, bit for bit: exhaustive from types of 16 bits and
// less, else delicate and random values and those next to the values of narrower types.
#include "Differential.h"
#include <cmath>
#include <gtest/gtest.h>

namespace ditron::differential {
namespace {

struct Way {
  Rounding rounding;
  Overflow overflow;
};

/// The ways to cast that the verifier allows.
std::vector<Way> waysOf(DType from, DType to) {
  std::vector<Way> ways{{Rounding::nearestEven, Overflow::wrap},
                        {Rounding::nearestEven, Overflow::saturate}};
  if (!isFloat(from))
    return ways;
  ways.push_back({Rounding::towardZero, Overflow::wrap});
  ways.push_back({Rounding::towardZero, Overflow::saturate});
  if (!isFloat(to)) {
    ways.push_back({Rounding::down, Overflow::wrap});
    ways.push_back({Rounding::up, Overflow::wrap});
  }
  return ways;
}

constexpr int kWidth = 101;

template <class From, class To> Kernel castKernel() {
  return {"cast(x[N]) -> o[P,N]", [](In<From, 1> x, Out<To, 2> o) {
            auto xs = x.tiled(kWidth);
            auto os = o.tiled(kWidth);
            std::vector<Way> ways = waysOf(kDType<From>, kDType<To>);
            for (auto [j] : xs.tiles())
              for (size_t p = 0; p < ways.size(); ++p)
                os(Index(p), j) = cast<To>(xs(j), ways[p].rounding, ways[p].overflow);
          }};
}

/// Floats next to each value of the narrow types and to the middle between two of them.
std::vector<float> nearNarrowValues() {
  std::vector<float> values;
  auto around = [&](float x) {
    values.insert(values.end(), {x, std::nextafter(x, INFINITY), std::nextafter(x, -INFINITY)});
  };
  for (DType type : {DType::f8e4m3, DType::f8e5m2})
    for (int code = 0; code < 256; ++code) {
      auto byte = static_cast<uint8_t>(code);
      auto next = static_cast<uint8_t>(code + 1);
      double x = loadElement(type, &byte);
      around(static_cast<float>(x));
      around(static_cast<float>((x + loadElement(type, &next)) / 2));
    }
  for (DType type : {DType::f16, DType::bf16})
    for (int code = 0; code < 65536; code += 37) {
      auto bits = static_cast<uint16_t>(code), next = static_cast<uint16_t>(code + 1);
      double x = loadElement(type, &bits);
      around(static_cast<float>((x + loadElement(type, &next)) / 2));
    }
  for (int bit : {7, 8, 15, 16, 31, 32, 63, 64})
    for (double sign : {1., -1.})
      around(static_cast<float>(sign * std::ldexp(1.0, bit)));
  for (float x : {448.f, 464.f, 465.f, 480.f, 57344.f, 61440.f, 65504.f, 65519.f, 65520.f, 127.5f})
    around(x), around(-x);
  return values;
}

/// Integers next to what narrow floats hold and to the middle between two such numbers.
std::vector<int64_t> nearFloats() {
  std::vector<int64_t> values = delicateIntegers(DType::i64);
  for (int digits : {3, 4, 8, 11, 24})
    for (int exponent = digits; exponent < 62; ++exponent)
      for (int64_t lead : {1, 3, 5}) {
        int64_t half = lead << (exponent - digits > 1 ? exponent - digits - 1 : 0);
        int64_t base = (int64_t(1) << exponent) + half;
        for (int64_t by : {-1, 0, 1})
          values.insert(values.end(), {base + by, -(base + by)});
      }
  return values;
}

template <class From> Block values() {
  constexpr DType type = kDType<From>;
  size_t bytes = byteSize(type);
  if (type == DType::i1)
    return Block(type, {kWidth + 2}).fillBits(1);
  if (bytes <= 2) {
    Block all(type, {int64_t(1) << (8 * bytes)});
    for (int64_t n = 0; n < all.elements(); ++n)
      std::memcpy(all.element(n), &n, bytes);
    return all;
  }
  if (type == DType::f32) {
    std::vector<float> near = nearNarrowValues();
    Block block(type, {static_cast<int64_t>(near.size()) + 20000});
    block.fillBits(3);
    std::memcpy(block.element(0), near.data(), near.size() * sizeof(float));
    return block;
  }
  std::vector<int64_t> near = nearFloats();
  Block block(type, {static_cast<int64_t>(near.size()) + 5000});
  block.fillRandom(4);
  for (size_t n = 0; n < near.size(); ++n)
    std::memcpy(block.element(static_cast<int64_t>(n)), &near[n], bytes);
  return block;
}

template <class From, class To> void checkPair(const Block &x) {
  SCOPED_TRACE(std::string(name(kDType<From>)) + " to " + std::string(name(kDType<To>)));
  auto ways = static_cast<int64_t>(waysOf(kDType<From>, kDType<To>).size());
  expectSame(castKernel<From, To>(), {x, Block(kDType<To>, {ways, x.elements()})});
}

template <class From> class Casts : public testing::Test {};
using AllTypes = testing::Types<f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, i1>;
TYPED_TEST_SUITE(Casts, AllTypes);

TYPED_TEST(Casts, toEveryType) {
  Block x = values<TypeParam>();
  checkPair<TypeParam, f32>(x);
  checkPair<TypeParam, f16>(x);
  checkPair<TypeParam, bf16>(x);
  checkPair<TypeParam, f8e4m3>(x);
  checkPair<TypeParam, f8e5m2>(x);
  checkPair<TypeParam, i8>(x);
  checkPair<TypeParam, i16>(x);
  checkPair<TypeParam, i32>(x);
  checkPair<TypeParam, i64>(x);
  checkPair<TypeParam, i1>(x);
}

/// A cast to a narrow type and back is no cast of nothing: it rounds.
TEST(Casts, roundTripsRound) {
  Kernel kernel("trip(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto xs = x.tiled(kWidth);
    auto ys = y.tiled(kWidth);
    for (auto [j] : ys.tiles())
      ys(j) =
          cast<f32>(cast<bf16>(cast<f32>(cast<f16>(xs(j))) * 3)) - cast<f32>(cast<f8e4m3>(xs(j)));
  });
  expectSame(kernel, {Block(DType::f32, {500}).fillRandom(8), Block(DType::f32, {500})});
}

} // namespace
} // namespace ditron::differential
