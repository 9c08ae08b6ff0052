// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions that take fewer steps than the instructions for them, of which an SM does 16 to 64 a cycle.
#include "ditron/targets/nvidia/emit/PtxInstructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ditron::nvidia {

/// An i8 and 128 are 0 to 255, whose bits alone are a bf16, below or above the least normal one: that number times 2^-133. Two
/// fma of two at a time make the i8 of it. What moves bits, of which an SM does half as many, is one instruction for four
/// i8 and one for each two.
llvm::SmallVector<mlir::Value> Instructions::bf16OfBytes(llvm::ArrayRef<mlir::Value> words) {
  constexpr uint32_t kSigns = 0x80808080;
  constexpr uint32_t kLargest = 0x7f007f00, kNegativeZero = 0x80008000; // pairs: 2^127, -0
  constexpr uint32_t k64 = 0x42804280, kNegative128 = 0xc300c300;
  auto word = [&](uint32_t bits) -> Value {
    return b_.create<arith::ConstantIntOp>(loc_, static_cast<int32_t>(bits), 32);
  };
  auto one = [&](llvm::StringRef text, llvm::StringRef constraints, ValueRange operands) -> Value {
    return assemble(text, constraints, llvm::to_vector(operands), b_.getI32Type(),
                    /*hasEffects=*/false)[0];
  };
  auto fma = [&](Value pair, uint32_t factor, uint32_t summand) {
    return one("fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", {pair, word(factor), word(summand)});
  };
  llvm::SmallVector<Value> pairs;
  for (Value bytes : words) {
    Value positive = b_.create<arith::XOrIOp>(loc_, bytes, word(kSigns));
    for (llvm::StringRef selector : {"0x4140", "0x4342"}) { // bytes 0 and 1, 2 and 3, with zeros
      Value pair = one(("prmt.b32 $0, $1, 0, " + selector + ";").str(), "=r,r", positive);
      pairs.push_back(fma(fma(pair, kLargest, kNegativeZero), k64, kNegative128));
    }
  }
  return pairs;
}

} // namespace ditron::nvidia
