// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types that kernels are made for, and those that follow from them.
#pragma once
#include "ditron/lang/Kernel.h"
#include "ditron/support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace ditron::kernels {

/// The element types a kernel is made for.
template <class... T> struct Types {
  static std::vector<DType> list() { return {kDType<T>...}; }

  /// fn.template operator()<T>() for the host type of `type`; CompileError if it is none of these.
  template <class Fn> static Kernel dispatch(DType type, const char *kernel, const Fn &fn) {
    std::optional<Kernel> result;
    ((kDType<T> == type ? void(result.emplace(fn.template operator()<T>())) : void()), ...);
    if (result)
      return *result;
    std::string known;
    ((known += (known.empty() ? "" : ", ") + std::string(name(kDType<T>))), ...);
    throw CompileError(std::string(kernel) + ": no variant for " + std::string(name(type)) +
                       ", expected one of " + known);
  }
};
using Floats = Types<f32, f16, bf16>;
using Numbers = Types<f32, f16, bf16, i32, i64>;
using Any = Types<f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64>;
using Sums = Types<f32, f16, bf16, i32>;
using DotTypes = Types<f32, f16, bf16, f8e4m3, f8e5m2, i8>;

/// What sums and products are accumulated in: f32 for floats; i32 for narrow integers.
template <class T> struct AccumulatorOf {
  using type = f32;
};
template <> struct AccumulatorOf<i8> {
  using type = i32;
};
template <> struct AccumulatorOf<i16> {
  using type = i32;
};
template <> struct AccumulatorOf<i32> {
  using type = i32;
};
template <> struct AccumulatorOf<i64> {
  using type = i64;
};
template <class T> using Accumulator = typename AccumulatorOf<T>::type;

/// The element type of a product of T: T itself, i32 of i8, and bf16 of the 8-bit floats.
template <class T> struct ProductOf {
  using type = T;
};
template <> struct ProductOf<i8> {
  using type = i32;
};
template <> struct ProductOf<f8e4m3> {
  using type = bf16;
};
template <> struct ProductOf<f8e5m2> {
  using type = bf16;
};
template <class T> using Product = typename ProductOf<T>::type;

/// `columns` elements of T, and as many more as fill the last 16 bytes.
template <class T> Index packedColumns(const Index &columns) {
  const int elements = 16 / static_cast<int>(byteSize(kDType<T>));
  return ceilDiv(columns, elements) * elements;
}

} // namespace ditron::kernels
