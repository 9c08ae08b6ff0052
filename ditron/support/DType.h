// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types, on the host. The narrow floats are storage: they convert from and to float with
// round-to-nearest-even, and compute in float.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ditron {

/// Element types of tiles and tensors.
enum class DType : uint8_t { f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, i1 };

/// IEEE binary16.
struct f16 {
  uint16_t bits = 0;
  f16() = default;
  explicit f16(float value);
  operator float() const;
};

/// The upper half of a binary32.
struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float value);
  operator float() const;
};

/// OCP FP8 E4M3: no infinities, largest finite value 448; larger values and infinities become NaN.
struct f8e4m3 {
  uint8_t bits = 0;
  f8e4m3() = default;
  explicit f8e4m3(float value);
  operator float() const;
};

/// OCP FP8 E5M2: infinities and NaN as in IEEE, largest finite value 57344.
struct f8e5m2 {
  uint8_t bits = 0;
  f8e5m2() = default;
  explicit f8e5m2(float value);
  operator float() const;
};

using f32 = float;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using i1 = bool;

template <class T> struct DTypeOf;
template <> struct DTypeOf<f32> {
  static constexpr DType value = DType::f32;
};
template <> struct DTypeOf<f16> {
  static constexpr DType value = DType::f16;
};
template <> struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <> struct DTypeOf<f8e4m3> {
  static constexpr DType value = DType::f8e4m3;
};
template <> struct DTypeOf<f8e5m2> {
  static constexpr DType value = DType::f8e5m2;
};
template <> struct DTypeOf<i8> {
  static constexpr DType value = DType::i8;
};
template <> struct DTypeOf<i16> {
  static constexpr DType value = DType::i16;
};
template <> struct DTypeOf<i32> {
  static constexpr DType value = DType::i32;
};
template <> struct DTypeOf<i64> {
  static constexpr DType value = DType::i64;
};
template <> struct DTypeOf<i1> {
  static constexpr DType value = DType::i1;
};

/// The DType of a host element type: `kDType<bf16> == DType::bf16`.
template <class T> inline constexpr DType kDType = DTypeOf<T>::value;

/// Bytes of one element in memory (i1 takes one byte).
size_t byteSize(DType type);
/// "bf16", "f8e4m3", ...
std::string_view name(DType type);
/// The DType of a name; UsageError listing the known names otherwise.
DType parseDType(std::string_view name);
bool isFloat(DType type);

/// One element read as a double (integers beyond 2^53 lose precision).
double loadElement(DType type, const void *element);
/// One element written from a double: floats round once, to nearest even; integers truncate towards
/// zero and saturate, and NaN becomes 0; an i1 is `value != 0`.
void storeElement(DType type, void *element, double value);

/// Calls `fn.template operator()<T>()` with the host type of `type`.
template <class Fn> decltype(auto) dispatch(DType type, Fn &&fn) {
  switch (type) {
  case DType::f16:
    return fn.template operator()<f16>();
  case DType::bf16:
    return fn.template operator()<bf16>();
  case DType::f8e4m3:
    return fn.template operator()<f8e4m3>();
  case DType::f8e5m2:
    return fn.template operator()<f8e5m2>();
  case DType::i8:
    return fn.template operator()<i8>();
  case DType::i16:
    return fn.template operator()<i16>();
  case DType::i32:
    return fn.template operator()<i32>();
  case DType::i64:
    return fn.template operator()<i64>();
  case DType::i1:
    return fn.template operator()<i1>();
  case DType::f32:
    break;
  }
  return fn.template operator()<f32>();
}

} // namespace ditron
