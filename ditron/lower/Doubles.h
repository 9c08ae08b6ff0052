// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on doubles and 64-bit integers, scalars or vectors of one dimension, without the
// ceremony: what functions of f32 are computed in where f32 is not enough.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <initializer_list>

namespace ditron::lower {

struct Doubles {
  using Value = mlir::Value;
  mlir::ImplicitLocOpBuilder b;
  mlir::Type type; ///< f32 or a vector of it

  mlir::Type like(mlir::Type element) const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    return vector ? mlir::Type(vector.clone(element)) : element;
  }
  mlir::Type doubles() { return like(b.getF64Type()); }
  mlir::Type longs() { return like(b.getI64Type()); }

  Value constant(mlir::TypedAttr number) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(like(number.getType())))
      return b.create<mlir::arith::ConstantOp>(
          mlir::DenseElementsAttr::get(vector, mlir::Attribute(number)));
    return b.create<mlir::arith::ConstantOp>(number);
  }
  Value f32(float value) { return constant(b.getF32FloatAttr(value)); }
  Value f(double value) { return constant(b.getF64FloatAttr(value)); }
  Value i(uint64_t value) { return constant(b.getI64IntegerAttr(static_cast<int64_t>(value))); }

  Value widen(Value x) { return b.create<mlir::arith::ExtFOp>(doubles(), x); }
  Value narrow(Value x) { return b.create<mlir::arith::TruncFOp>(type, x); }
  Value bits(Value x) { return b.create<mlir::arith::BitcastOp>(longs(), x); }
  Value fromBits(Value x) { return b.create<mlir::arith::BitcastOp>(doubles(), x); }
  Value toDouble(Value x) { return b.create<mlir::arith::SIToFPOp>(doubles(), x); }
  Value toLong(Value x) { return b.create<mlir::arith::FPToSIOp>(longs(), x); }

  template <class Op> Value op(Value x, Value y) { return b.create<Op>(x, y); }
  Value addf(Value x, Value y) { return op<mlir::arith::AddFOp>(x, y); }
  Value subf(Value x, Value y) { return op<mlir::arith::SubFOp>(x, y); }
  Value mulf(Value x, Value y) { return op<mlir::arith::MulFOp>(x, y); }
  Value divf(Value x, Value y) { return op<mlir::arith::DivFOp>(x, y); }
  Value fma(Value x, Value y, Value z) { return b.create<mlir::math::FmaOp>(x, y, z); }
  Value abs(Value x) { return b.create<mlir::math::AbsFOp>(x); }
  Value add(Value x, Value y) { return op<mlir::arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return op<mlir::arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) { return op<mlir::arith::MulIOp>(x, y); }
  Value both(Value x, Value y) { return op<mlir::arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return op<mlir::arith::OrIOp>(x, y); }
  Value left(Value x, Value by) { return op<mlir::arith::ShLIOp>(x, by); }
  Value right(Value x, Value by) { return op<mlir::arith::ShRUIOp>(x, by); }

  Value select(Value condition, Value x, Value y) {
    return b.create<mlir::arith::SelectOp>(condition, x, y);
  }
  Value is(Value x, mlir::arith::CmpFPredicate predicate, Value y) {
    return b.create<mlir::arith::CmpFOp>(predicate, x, y);
  }
  Value is(Value x, mlir::arith::CmpIPredicate predicate, Value y) {
    return b.create<mlir::arith::CmpIOp>(predicate, x, y);
  }

  /// c[0] + c[1] x + c[2] x^2 + ...
  Value polynomial(Value x, std::initializer_list<double> coefficients) {
    const double *c = coefficients.end() - 1;
    Value sum = f(*c);
    while (c != coefficients.begin())
      sum = fma(sum, x, f(*--c));
    return sum;
  }

  /// Whether a condition holds for any lane.
  Value any(Value condition);
};

} // namespace ditron::lower
