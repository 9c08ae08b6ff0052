// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Trace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ditron {
using namespace detail;

/// An integer operation: folded if both sides are constant, else an op.
template <class Op, class Fold> static Index binary(IndexOperand x, IndexOperand y, Fold fold) {
  if (x.value.isConstant() && y.value.isConstant())
    return Index(static_cast<int64_t>(fold(x.value.constant(), y.value.constant())));
  Trace &trace = Trace::current(x.where);
  Value left = trace.value(x.value, x.where), right = trace.value(y.value, x.where);
  return trace.index(trace.create<Op>(x.where, left, right));
}

/// Of constants; 0 where there is none.
static int64_t quotient(int64_t a, int64_t b) {
  if (b == -1)
    return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return b == 0 ? 0 : a / b;
}

Index operator+(IndexOperand x, IndexOperand y) {
  return binary<arith::AddIOp>(x, y, std::plus<int64_t>());
}
Index operator-(IndexOperand x, IndexOperand y) {
  return binary<arith::SubIOp>(x, y, std::minus<int64_t>());
}
Index operator*(IndexOperand x, IndexOperand y) {
  return binary<arith::MulIOp>(x, y, std::multiplies<int64_t>());
}
Index operator/(IndexOperand x, IndexOperand y) { return binary<arith::DivSIOp>(x, y, quotient); }
Index operator%(IndexOperand x, IndexOperand y) {
  return binary<arith::RemSIOp>(x, y,
                                [](int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; });
}
Index ceilDiv(IndexOperand x, IndexOperand y) {
  return binary<arith::CeilDivSIOp>(x, y, [](int64_t a, int64_t b) {
    bool isUp = b != 0 && b != -1 && a % b != 0 && (a < 0) == (b < 0);
    return quotient(a, b) + isUp;
  });
}
Index min(IndexOperand x, IndexOperand y) {
  return binary<arith::MinSIOp>(x, y, [](int64_t a, int64_t b) { return std::min(a, b); });
}
Index max(IndexOperand x, IndexOperand y) {
  return binary<arith::MaxSIOp>(x, y, [](int64_t a, int64_t b) { return std::max(a, b); });
}

static Bool compare(arith::CmpIPredicate predicate, IndexOperand x, IndexOperand y) {
  Trace &trace = Trace::current(x.where);
  Value left = trace.value(x.value, x.where), right = trace.value(y.value, x.where);
  return Bool(wrap(trace.create<arith::CmpIOp>(x.where, predicate, left, right)));
}

Bool operator==(IndexOperand x, IndexOperand y) { return compare(arith::CmpIPredicate::eq, x, y); }
Bool operator!=(IndexOperand x, IndexOperand y) { return compare(arith::CmpIPredicate::ne, x, y); }
Bool operator<(IndexOperand x, IndexOperand y) { return compare(arith::CmpIPredicate::slt, x, y); }
Bool operator<=(IndexOperand x, IndexOperand y) { return compare(arith::CmpIPredicate::sle, x, y); }
Bool operator>(IndexOperand x, IndexOperand y) { return compare(arith::CmpIPredicate::sgt, x, y); }
Bool operator>=(IndexOperand x, IndexOperand y) { return compare(arith::CmpIPredicate::sge, x, y); }

template <class Op> static Bool combine(BoolOperand x, BoolOperand y) {
  return Bool(wrap(Trace::current(x.where).create<Op>(x.where, unwrap(x.value.handle()),
                                                      unwrap(y.value.handle()))));
}

Bool operator&&(BoolOperand x, BoolOperand y) { return combine<arith::AndIOp>(x, y); }
Bool operator||(BoolOperand x, BoolOperand y) { return combine<arith::OrIOp>(x, y); }
Bool operator!(BoolOperand x) {
  Trace &trace = Trace::current(x.where);
  Bool yes(wrap(trace.create<arith::ConstantIntOp>(x.where, 1, 1)));
  return combine<arith::XOrIOp>(x, {yes, x.where});
}

Index select(BoolOperand condition, IndexOperand x, IndexOperand y) {
  Trace &trace = Trace::current(condition.where);
  Value left = trace.value(x.value, x.where), right = trace.value(y.value, x.where);
  return trace.index(trace.create<arith::SelectOp>(condition.where,
                                                   unwrap(condition.value.handle()), left, right));
}

} // namespace ditron
