// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/threads/MemoryAccess.h"
#include "ditron/lower/Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::gpu {

APInt paddingBits(std::optional<TypedAttr> padding, Type element) {
  unsigned bits = static_cast<unsigned>(8 * storageBytes(element));
  if (!padding)
    return APInt(bits, 0);
  if (auto number = dyn_cast<FloatAttr>(*padding))
    return number.getValue().bitcastToAPInt();
  return cast<IntegerAttr>(*padding).getValue().zextOrTrunc(bits);
}

Value MemoryAccess::load(const APInt &padding) {
  if (run_ == 1)
    return loadRuns(1, padding);
  // Words come out of the branch: what they are made into need not wait for them in it.
  auto one = [&](int64_t run) -> Value {
    return t_.b.create<vector::BitCastOp>(t_.loc, wordsType(), loadRuns(run, padding));
  };
  auto branch =
      t_.b.create<scf::IfOp>(t_.loc, TypeRange(wordsType()), memory_.isWide(t_, run_), true);
  OpBuilder::InsertionGuard guard(t_.b);
  t_.b.setInsertionPointToStart(branch.thenBlock());
  t_.b.create<scf::YieldOp>(t_.loc, one(run_));
  t_.b.setInsertionPointToStart(branch.elseBlock());
  t_.b.create<scf::YieldOp>(t_.loc, one(1));
  t_.b.setInsertionPointAfter(branch);
  return t_.b.create<vector::BitCastOp>(t_.loc, resultType(), branch.getResult(0));
}

void MemoryAccess::store(Value vector, Value isOwner) {
  if (run_ == 1)
    return storeRuns(vector, 1, isOwner);
  auto branch = t_.b.create<scf::IfOp>(t_.loc, memory_.isWide(t_, run_), true);
  OpBuilder::InsertionGuard guard(t_.b);
  t_.b.setInsertionPointToStart(branch.thenBlock());
  storeRuns(vector, run_, isOwner);
  t_.b.setInsertionPointToStart(branch.elseBlock());
  storeRuns(vector, 1, isOwner);
}

VectorType MemoryAccess::resultType() { return VectorType::get({tile_.registers()}, stored()); }

VectorType MemoryAccess::wordsType() {
  int64_t bits = 8 * memory_.bytes * tile_.registers();
  Type word = carrier(run_);
  return VectorType::get({bits / word.getIntOrFloatBitWidth()}, word);
}

Type MemoryAccess::stored() { return lower::storageType(memory_.element); }

/// What carries a run in an instruction: words, or one small integer.
Type MemoryAccess::carrier(int64_t run) {
  return t_.b.getIntegerType(static_cast<unsigned>(std::min<int64_t>(32, 8 * run * memory_.bytes)));
}

Value MemoryAccess::loadRuns(int64_t run, const APInt &padding) {
  unsigned bits = carrier(run).getIntOrFloatBitWidth();
  APInt word = padding.getBitWidth() < bits ? APInt::getSplat(bits, padding) : padding;
  size_t count = static_cast<size_t>(run * memory_.bytes * 8) / bits;
  SmallVector<Value> otherwise;
  for (size_t n = 0; n < count; ++n)
    otherwise.push_back(t_.b.create<arith::ConstantOp>(
        t_.loc,
        t_.b.getIntegerAttr(carrier(run), word.extractBits(bits, n * bits % word.getBitWidth()))));
  SmallVector<Value> words;
  for (int64_t reg = 0; reg < tile_.registers(); reg += run) {
    auto [address, mask] = memory_.at(t_, reg);
    int64_t bytes = run * memory_.bytes;
    words.append(isStrong_ ? t_.instructions->loadStrong(address, bytes, mask, otherwise)
                           : t_.instructions->loadGlobal(address, bytes, mask, otherwise, place_));
  }
  return t_.b.create<vector::BitCastOp>(t_.loc, resultType(), t_.join(words));
}

void MemoryAccess::storeRuns(Value vector, int64_t run, Value isOwner) {
  int64_t words = 8 * memory_.bytes * tile_.registers() / carrier(run).getIntOrFloatBitWidth();
  Value carried =
      t_.b.create<vector::BitCastOp>(t_.loc, VectorType::get({words}, carrier(run)), vector);
  int64_t count = words * run / tile_.registers();
  SmallVector<Value> all = t_.split(carried);
  for (int64_t reg = 0; reg < tile_.registers(); reg += run) {
    auto [address, mask] = memory_.at(t_, reg);
    if (isOwner)
      mask = t_.b.create<arith::AndIOp>(t_.loc, mask, isOwner);
    ArrayRef<Value> some =
        ArrayRef(all).slice(static_cast<size_t>(reg / run * count), static_cast<size_t>(count));
    isStrong_ ? t_.instructions->storeStrong(address, some, mask)
              : t_.instructions->storeGlobal(address, some, mask);
  }
}

} // namespace ditron::gpu
