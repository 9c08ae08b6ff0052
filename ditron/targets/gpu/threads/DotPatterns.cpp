// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that no instruction of a chip is for: each thread multiplies for the elements of the accumulator that it
// holds, term by term. The operands are in shared memory, the accumulator in registers.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

/// One element of an operand at a place, in the type of the sum.
Value element(ThreadBuilder &t, Value base, const Layout &memory, Value place, Type element) {
  Value bytes = t.mul(swizzled(t, memory, place), t.i32(storageBytes(element)));
  Value stored = t.b.create<LLVM::LoadOp>(t.loc, VectorType::get({1}, lower::storageType(element)),
                                          t.offset(base, bytes));
  Value value = lower::fromStorage(t.b, t.loc, stored, element);
  value = t.b.create<vector::ExtractOp>(t.loc, value, int64_t(0));
  if (element.isInteger(8))
    value = t.b.create<arith::ExtSIOp>(t.loc, t.b.getI32Type(), value);
  return value;
}

/// The elements of one operand that a thread's registers meet, by their coordinate.
std::map<int64_t, Value> line(ThreadBuilder &t, Value base, RankedTensorType tile, size_t outer,
                              const Distribution &acc, Value depth) {
  Layout memory = core::layoutOf(tile);
  Shape strides = stridesOf(memory, shapeOf(tile));
  Value thread = t.add(t.mul(t.coordinate(acc, outer), t.i32(strides[outer])),
                       t.mul(depth, t.i32(strides[1 - outer])));
  std::map<int64_t, Value> values;
  for (int64_t reg = 0; reg < acc.registers(); ++reg) {
    int64_t at = acc.element(reg)[outer];
    if (!values.contains(at))
      values[at] = element(t, base, memory, t.add(thread, t.i32(at * strides[outer])),
                           tile.getElementType());
  }
  return values;
}

struct DotPattern : TilePattern<core::DotOp> {
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(core::DotOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    RankedTensorType lhs = tileOf(op.getLhs()), rhs = tileOf(op.getRhs()),
                     acc = tileOf(op.getAcc());
    Distribution places = *Distribution::of(core::layoutOf(acc), shapeOf(acc));
    auto loop = b.create<scf::ForOp>(t.loc, t.i32(0), t.i32(lhs.getDimSize(1)), t.i32(1),
                                     ValueRange(adaptor.getAcc()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value depth = loop.getInductionVar();
    auto rows = line(t, adaptor.getLhs(), lhs, 0, places, depth);
    auto columns = line(t, adaptor.getRhs(), rhs, 1, places, depth);
    SmallVector<Value> sums = t.split(loop.getRegionIterArg(0));
    for (auto [reg, sum] : llvm::enumerate(sums)) {
      const Shape &at = places.element(static_cast<int64_t>(reg));
      Value x = rows[at[0]], y = columns[at[1]];
      sum = isa<FloatType>(sum.getType()) ? Value(b.create<math::FmaOp>(t.loc, x, y, sum))
                                          : t.add(t.mul(x, y), sum);
    }
    b.create<scf::YieldOp>(t.loc, t.join(sums));
    b.replaceOp(op, loop.getResult(0));
    return success();
  }
};

} // namespace

void addDotPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                    const ThreadContext &context) {
  patterns.add<DotPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
