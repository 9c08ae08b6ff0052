// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/Instructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ditron::gpu {

Value Instructions::shuffleXor(Value value, int64_t mask) {
  Type type = value.getType();
  if (type.getIntOrFloatBitWidth() == 32)
    return shuffleWord(value, mask);
  Type i32 = b_.getI32Type();
  Value low = b_.create<arith::TruncIOp>(loc_, i32, value);
  Value shift = b_.create<arith::ConstantIntOp>(loc_, 32, 64);
  Value high = b_.create<arith::TruncIOp>(loc_, i32, b_.create<arith::ShRUIOp>(loc_, value, shift));
  low = b_.create<arith::ExtUIOp>(loc_, type, shuffleWord(low, mask));
  high = b_.create<arith::ExtUIOp>(loc_, type, shuffleWord(high, mask));
  return b_.create<arith::OrIOp>(loc_, low, b_.create<arith::ShLIOp>(loc_, high, shift));
}

} // namespace ditron::gpu
