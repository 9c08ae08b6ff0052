// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/LaneProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

Value LaneProducts::add(Value x, Value y) {
  return isa<FloatType>(element_) ? v_.create<arith::AddFOp>(x, y).getResult()
                                  : v_.create<arith::AddIOp>(x, y).getResult();
}

static Value asBf16(VectorBuilder &v, Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  return v.create<LLVM::BitcastOp>(VectorType::get({lanes}, v.b.getBF16Type()), vector);
}

Value LaneProducts::multiplyAdd(Value x, Value y, Value sums) {
  if (inPairs_) {
    Value left = asBf16(v_, x), right = asBf16(v_, y);
    return v_
        .create<LLVM::CallIntrinsicOp>(sums.getType(),
                                       v_.b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                       ValueRange{sums, left, right})
        .getResult(0);
  }
  if (isa<FloatType>(element_))
    return v_.create<vector::FMAOp>(x, y, sums);
  return add(v_.create<arith::MulIOp>(x, y), sums);
}

Value LaneProducts::load(Value buffer, ValueRange at, int64_t lanes) {
  Type factor = cast<MemRefType>(buffer.getType()).getElementType();
  return v_.create<vector::LoadOp>(VectorType::get({lanes * factors()}, factor), buffer, at);
}

Value LaneProducts::repeat(Value buffer, ValueRange at, int64_t lanes) {
  if (!inPairs_)
    return v_.repeat(v_.create<memref::LoadOp>(buffer, at), lanes);
  auto word = VectorType::get({1}, v_.b.getI32Type());
  Value pair = v_.create<vector::BitCastOp>(word, load(buffer, at, 1));
  Value all = v_.repeat(v_.create<vector::ExtractOp>(pair, 0), lanes);
  return v_.create<vector::BitCastOp>(VectorType::get({2 * lanes}, v_.b.getI16Type()), all);
}

Value LaneProducts::pairsOf(Value x, Value y, int64_t first, int64_t lanes) {
  int64_t all = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t> pairs;
  for (int64_t lane = first; lane < first + lanes; ++lane)
    pairs.append({lane, all + lane});
  return v_.create<vector::ShuffleOp>(x, y, pairs);
}

} // namespace ditron::cpu
