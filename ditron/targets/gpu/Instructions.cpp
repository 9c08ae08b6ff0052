// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/Instructions.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::gpu {

namespace {

/// A value of 32 or 64 bits after each of its words (i32) has been exchanged.
Value exchangeWords(OpBuilder &b, Location loc, Value value, function_ref<Value(Value)> exchange) {
  Type type = value.getType();
  if (type.getIntOrFloatBitWidth() == 32)
    return exchange(value);
  auto one = VectorType::get({1}, type), two = VectorType::get({2}, b.getI32Type());
  Value halves = b.create<vector::FromElementsOp>(loc, one, value);
  halves = b.create<vector::BitCastOp>(loc, two, halves);
  Value low = exchange(b.create<vector::ExtractOp>(loc, halves, 0));
  Value high = exchange(b.create<vector::ExtractOp>(loc, halves, 1));
  halves = b.create<vector::FromElementsOp>(loc, two, ValueRange{low, high});
  return b.create<vector::ExtractOp>(loc, b.create<vector::BitCastOp>(loc, one, halves), 0);
}

} // namespace

Value Instructions::fromLane(Value value, int64_t lane) {
  return exchangeWords(b_, loc_, value, [&](Value word) { return wordFromLane(word, lane); });
}

Value Instructions::shuffleXor(Value value, int64_t mask) {
  return exchangeWords(b_, loc_, value, [&](Value word) { return shuffleWord(word, mask); });
}

} // namespace ditron::gpu
