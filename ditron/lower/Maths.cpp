// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// log, log2, sin, cos, the remainder, minimum and maximum of f32, in vectors, for all arguments.
//
// log, log2, sin and cos are computed in double, where textbook series and a plain reduction of the
// argument are exact enough for a correctly rounded f32 but in rare cases:
//
//   log(2^e m) = e ln 2 + 2 atanh(s),  s = (m - 1) / (m + 1),  sqrt(1/2) <= m < sqrt(2)
//   sin(x), cos(x) = +-sin(r) or +-cos(r),  r = x - n pi/2,  n = round(2x / pi)
//
// For |x| > 2^48 n would not fit a double. There x = M 2^k with integral M, and only 2^k 2/pi
// modulo 4 counts: 128 bits of 2/pi taken from a table, after Payne and Hanek ("Radian Reduction
// for Trigonometric Functions", SIGNUM Newsletter, 1983). test/targets/cpu/maths.mlir shows that no
// library is called.
#include "ditron/lower/Arithmetic.h"
#include "ditron/lower/Doubles.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace ditron::lower {

using FP = arith::CmpFPredicate;
using Int = arith::CmpIPredicate;

Value Doubles::any(Value condition) {
  if (!isa<VectorType>(condition.getType()))
    return condition;
  return b.create<vector::ReductionOp>(vector::CombiningKind::OR, condition);
}

namespace {

/// A pattern for an op of f32 or of vectors of it.
template <class Op> struct Float32Pattern : OpRewritePattern<Op> {
  explicit Float32Pattern(MLIRContext *context) : OpRewritePattern<Op>(context, /*benefit=*/10) {}

  virtual Value lower(Doubles &d, Op op) const = 0;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    auto vector = dyn_cast<VectorType>(type);
    if (!getElementTypeOrSelf(type).isF32() || (vector && vector.getRank() != 1))
      return rewriter.notifyMatchFailure(op, "neither f32 nor a vector of it");
    Doubles d{ImplicitLocOpBuilder(op.getLoc(), rewriter), type};
    rewriter.replaceOp(op, lower(d, op));
    return success();
  }
};

//===-- Logarithms ----------------------------------------------------------------------------===//

/// e and 2 atanh(s) of a positive f32.
std::pair<Value, Value> splitLogarithm(Doubles &d, Value x) {
  Value bits = d.bits(d.widen(x)); // as a double no f32 is subnormal
  uint64_t sqrtHalf = 0x3fe6a09e667f3bcd;
  Value exponent = d.op<arith::ShRSIOp>(d.sub(bits, d.i(sqrtHalf)), d.i(52));
  Value m = d.fromBits(d.sub(bits, d.left(exponent, d.i(52))));
  Value s = d.divf(d.subf(m, d.f(1)), d.addf(m, d.f(1)));
  Value series =
      d.polynomial(d.mulf(s, s), {2., 2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13, 2. / 15});
  return {d.toDouble(exponent), d.mulf(s, series)};
}

/// Minus infinity for 0, NaN below, infinity and NaN as they are.
Value withSpecials(Doubles &d, Value x, Value logarithm) {
  float infinity = std::numeric_limits<float>::infinity();
  Value zero = d.f32(0);
  Value special = d.select(d.is(x, FP::OLT, zero), d.f32(NAN), x);
  special = d.select(d.is(x, FP::OEQ, zero), d.f32(-infinity), special);
  Value isPlain = d.both(d.is(x, FP::OGT, zero), d.is(x, FP::OLT, d.f32(infinity)));
  return d.select(isPlain, logarithm, special);
}

struct LogPattern : Float32Pattern<math::LogOp> {
  using Float32Pattern::Float32Pattern;
  Value lower(Doubles &d, math::LogOp op) const override {
    auto [exponent, logarithm] = splitLogarithm(d, op.getOperand());
    Value sum = d.fma(exponent, d.f(std::numbers::ln2), logarithm);
    return withSpecials(d, op.getOperand(), d.narrow(sum));
  }
};

struct Log2Pattern : Float32Pattern<math::Log2Op> {
  using Float32Pattern::Float32Pattern;
  Value lower(Doubles &d, math::Log2Op op) const override {
    auto [exponent, logarithm] = splitLogarithm(d, op.getOperand());
    Value sum = d.fma(logarithm, d.f(std::numbers::log2e), exponent);
    return withSpecials(d, op.getOperand(), d.narrow(sum));
  }
};

//===-- Sine and cosine -----------------------------------------------------------------------===//

/// x = quadrant * pi/2 + r; the quadrant is an i64 of which two bits count.
struct Reduced {
  Value quadrant, r;
};

/// |x| <= 2^48; pi/2 in two parts of 107 bits together.
Reduced reducePlainly(Doubles &d, Value wide) {
  Value n = d.b.create<math::RoundEvenOp>(d.mulf(wide, d.f(2 / std::numbers::pi)));
  Value minus = d.b.create<arith::NegFOp>(n);
  Value r = d.fma(minus, d.f(0x1.921fb54442d18p+0), wide);
  return {d.toLong(n), d.fma(minus, d.f(0x1.1a62633145c07p-54), r)};
}

/// 128 bits of 2/pi from bit k - 1 on (the first one behind the point is bit 1), k = 25 ... 104.
std::pair<Value, Value> bitsOfTwoOverPi(Doubles &d, Value k) {
  static constexpr uint64_t words[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                       0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  Value skipped = d.sub(k, d.i(2)), word = d.right(skipped, d.i(5));
  Value shift = d.both(skipped, d.i(31)), back = d.sub(d.i(63), shift);
  auto pair = [&](size_t from) { // words `word + from` and the next one, as 64 bits
    auto at = [&](size_t w) {
      return d.i(words[w + from] << 32 | (w + from + 1 < 8 ? words[w + from + 1] : 0));
    };
    Value result = at(3);
    for (size_t w : {0, 1, 2})
      result = d.select(d.is(word, Int::eq, d.i(w)), at(w), result);
    return result;
  };
  Value first = pair(0), second = pair(2), third = pair(4);
  auto joined = [&](Value high, Value low) {
    return d.either(d.left(high, shift), d.right(d.right(low, d.i(1)), back));
  };
  return {joined(first, second), joined(second, third)};
}

/// 2^48 < |x| < infinity.
Reduced reduceHuge(Doubles &d, Value x) {
  auto ints = d.like(d.b.getI32Type());
  Value bits =
      d.b.create<arith::ExtUIOp>(d.longs(), d.b.create<arith::BitcastOp>(ints, x).getResult());
  Value biased = d.both(d.right(bits, d.i(23)), d.i(0xff));
  Value mantissa = d.either(d.both(bits, d.i(0x7fffff)), d.i(0x800000));
  auto [high, low] = bitsOfTwoOverPi(d, d.sub(biased, d.i(127 + 23)));
  // |x| 2/pi modulo 4, with 62 bits behind the point.
  Value fixed =
      d.add(d.mul(mantissa, high), d.right(d.mul(mantissa, d.right(low, d.i(32))), d.i(32)));
  Value n = d.right(d.add(fixed, d.i(uint64_t(1) << 61)), d.i(62));
  Value fraction = d.toDouble(d.sub(fixed, d.left(n, d.i(62))));
  Value r = d.mulf(fraction, d.f(std::ldexp(std::numbers::pi / 2, -62)));
  Value isNegative = d.is(x, FP::OLT, d.f32(0));
  return {d.select(isNegative, d.sub(d.i(0), n), n),
          d.select(isNegative, d.b.create<arith::NegFOp>(r), r)};
}

Reduced reduceAngle(Doubles &d, Value x) {
  Reduced plain = reducePlainly(d, d.widen(x));
  Value isHuge = d.is(d.abs(x), FP::OGT, d.f32(0x1p48f));
  auto branch = d.b.create<scf::IfOp>(TypeRange{d.longs(), d.doubles()}, d.any(isHuge),
                                      /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(d.b);
  d.b.setInsertionPointToStart(branch.thenBlock());
  Reduced huge = reduceHuge(d, x);
  d.b.create<scf::YieldOp>(ValueRange{d.select(isHuge, huge.quadrant, plain.quadrant),
                                      d.select(isHuge, huge.r, plain.r)});
  d.b.setInsertionPointToStart(branch.elseBlock());
  d.b.create<scf::YieldOp>(ValueRange{plain.quadrant, plain.r});
  return {branch.getResult(0), branch.getResult(1)};
}

/// sin(x + quarters * pi/2).
Value sine(Doubles &d, Value x, uint64_t quarters) {
  auto [quadrant, r] = reduceAngle(d, x);
  quadrant = d.add(quadrant, d.i(quarters));
  Value square = d.mulf(r, r);
  Value sin = d.mulf(r, d.polynomial(square, {1., -1. / 6, 1. / 120, -1. / 5040, 1. / 362880,
                                              -1. / 39916800, 1. / 6227020800}));
  Value cos = d.polynomial(square, {1., -1. / 2, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800,
                                    1. / 479001600, -1. / 87178291200});
  auto has = [&](uint64_t bit) { return d.is(d.both(quadrant, d.i(bit)), Int::ne, d.i(0)); };
  Value wave = d.select(has(1), cos, sin);
  wave = d.select(has(2), d.b.create<arith::NegFOp>(wave), wave);
  Value isFinite = d.is(d.abs(x), FP::OLT, d.f32(std::numeric_limits<float>::infinity()));
  return d.select(isFinite, d.narrow(wave), d.f32(NAN));
}

struct SinPattern : Float32Pattern<math::SinOp> {
  using Float32Pattern::Float32Pattern;
  Value lower(Doubles &d, math::SinOp op) const override { // -0 stays -0
    Value x = op.getOperand();
    return d.select(d.is(x, FP::OEQ, d.f32(0)), x, sine(d, x, 0));
  }
};

struct CosPattern : Float32Pattern<math::CosOp> {
  using Float32Pattern::Float32Pattern;
  Value lower(Doubles &d, math::CosOp op) const override { return sine(d, op.getOperand(), 1); }
};

//===-- The remainder -------------------------------------------------------------------------===//

/// a less the largest multiple of b that a quotient of 29 bits reaches: exact in double.
Value subtractMultiple(Doubles &d, Value a, Value b) {
  auto exponent = [&](Value x) { return d.right(d.bits(x), d.i(52)); };
  Value by = d.op<arith::MaxSIOp>(d.sub(d.sub(exponent(a), exponent(b)), d.i(28)), d.i(0));
  Value scaled = d.fromBits(d.add(d.bits(b), d.left(by, d.i(52))));
  Value quotient = d.b.create<math::TruncOp>(d.divf(a, scaled));
  Value rest = d.fma(d.b.create<arith::NegFOp>(quotient), scaled, a);
  // The quotient may have been rounded up.
  return d.select(d.is(rest, FP::OLT, d.f(0)), d.addf(rest, scaled), rest);
}

struct RemPattern : Float32Pattern<arith::RemFOp> {
  using Float32Pattern::Float32Pattern;
  Value lower(Doubles &d, arith::RemFOp op) const override {
    Value x = op.getLhs(), y = op.getRhs();
    Value infinity = d.f(std::numeric_limits<double>::infinity());
    Value a = d.abs(d.widen(x)), b = d.abs(d.widen(y));
    Value isDefined = d.both(d.is(a, FP::OLT, infinity), d.is(b, FP::OGT, d.f(0)));
    auto loop = d.b.create<scf::WhileOp>(TypeRange{d.doubles()}, ValueRange{a});
    OpBuilder::InsertionGuard guard(d.b);
    Block *before = d.b.createBlock(&loop.getBefore(), {}, d.doubles(), loop.getLoc());
    auto isLarge = [&](Value rest) { return d.both(isDefined, d.is(rest, FP::OGE, b)); };
    d.b.create<scf::ConditionOp>(d.any(isLarge(before->getArgument(0))), before->getArguments());
    Block *after = d.b.createBlock(&loop.getAfter(), {}, d.doubles(), loop.getLoc());
    Value rest = after->getArgument(0);
    d.b.create<scf::YieldOp>(
        ValueRange{d.select(isLarge(rest), subtractMultiple(d, rest, b), rest)});
    d.b.setInsertionPointAfter(loop);
    Value signedRest = d.b.create<math::CopySignOp>(d.narrow(loop.getResult(0)), x);
    return d.select(isDefined, signedRest, d.f32(NAN));
  }
};

//===-- Minimum and maximum -------------------------------------------------------------------===//

/// NaN if one is; of two zeros either, which spares the instructions that tell them apart.
template <class Op> struct ExtremumPattern : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto flags = op.getFastmath() | arith::FastMathFlags::nsz;
    if (flags == op.getFastmath() || !getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "either zero may come, or no f32");
    rewriter.replaceOpWithNewOp<Op>(op, op.getLhs(), op.getRhs(), flags);
    return success();
  }
};

/// Across the lanes of a vector: halves combine, which overlap where the number of lanes is odd.
struct AcrossPattern : OpRewritePattern<vector::ReductionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::ReductionOp op, PatternRewriter &rewriter) const override {
    bool isMax = op.getKind() == vector::CombiningKind::MAXIMUMF;
    if ((!isMax && op.getKind() != vector::CombiningKind::MINIMUMF) || op.getAcc())
      return rewriter.notifyMatchFailure(op, "neither minimum nor maximum of floats");
    mlir::Location loc = op.getLoc();
    Value vector = op.getVector();
    for (int64_t lanes = op.getSourceVectorType().getNumElements(); lanes > 1;
         lanes = (lanes + 1) / 2) {
      int64_t half = (lanes + 1) / 2;
      auto part = [&](int64_t from) -> Value {
        return rewriter.create<vector::ExtractStridedSliceOp>(loc, vector, from, half, int64_t(1));
      };
      Value low = part(0), high = part(lanes - half);
      vector = isMax ? Value(rewriter.create<arith::MaximumFOp>(loc, low, high))
                     : Value(rewriter.create<arith::MinimumFOp>(loc, low, high));
    }
    rewriter.replaceOpWithNewOp<vector::ExtractOp>(op, vector, 0);
    return success();
  }
};

} // namespace

void populateMathsPatterns(RewritePatternSet &patterns) {
  patterns.add<LogPattern, Log2Pattern, SinPattern, CosPattern, RemPattern, AcrossPattern,
               ExtremumPattern<arith::MinimumFOp>, ExtremumPattern<arith::MaximumFOp>>(
      patterns.getContext());
}

} // namespace ditron::lower
