// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpu-look-up-nibbles: what is computed from four bits in every lane is looked up in a vector.
//
//   %n = arith.andi %bits, dense<15> : vector<16xi32>
//   %x = arith.sitofp %n : vector<16xi32> to vector<16xf32>
//   %w = math.fma %x, %scale, %minimum                 // the same in all lanes
// becomes
//   %table = math.fma dense<[0, 1, ..., 15]>, %scale, %minimum
//   %w = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%table, %bits)
//
// The values are the same. A permutation looks at four bits of a lane alone; so vectors of one block
// of weights need neither the mask nor a conversion, and share the table.
// test/targets/cpu/look-up-nibbles.mlir shows it.
#include "ditron/targets/cpu/transforms/Passes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace ditron::cpu {

#define GEN_PASS_DEF_LOOKUPNIBBLES
#include "ditron/targets/cpu/transforms/Passes.h.inc"

namespace {

constexpr int64_t kEntries = 16;

bool isSame(Value vector) {
  return isa_and_nonnull<vector::BroadcastOp, vector::SplatOp>(vector.getDefiningOp()) ||
         matchPattern(vector, m_Constant());
}

/// Integers whose low four bits are the value in each lane; null where it is none such.
Value nibblesOf(Value value) {
  auto convert = value.getDefiningOp<arith::SIToFPOp>();
  auto mask = convert ? convert.getIn().getDefiningOp<arith::AndIOp>() : arith::AndIOp();
  DenseIntElementsAttr kept;
  if (!mask || value.getType() != VectorType::get({kEntries}, Float32Type::get(mask.getContext())))
    return {};
  bool isLowBits = matchPattern(mask.getRhs(), m_Constant(&kept)) && kept.isSplat() &&
                   kept.getSplatValue<APInt>() == kEntries - 1;
  return isLowBits ? mask.getLhs() : Value();
}

class LookUpNibbles : public impl::LookUpNibblesBase<LookUpNibbles> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (!isa<math::FmaOp, arith::MulFOp>(op))
        return;
      Value bits = nibblesOf(op->getOperand(0));
      if (bits && llvm::all_of(op->getOperands().drop_front(), isSame))
        lookUp(op, bits);
    });
  }

  void lookUp(Operation *op, Value bits) {
    OpBuilder b(op);
    auto type = cast<VectorType>(op->getResult(0).getType());
    SmallVector<float> values;
    for (int64_t n = 0; n < kEntries; ++n)
      values.push_back(static_cast<float>(n));
    Value all = b.create<arith::ConstantOp>(op->getLoc(),
                                            DenseElementsAttr::get(type, ArrayRef<float>(values)));
    Operation *table = b.clone(*op);
    table->setOperand(0, all);
    auto found = b.create<LLVM::CallIntrinsicOp>(op->getLoc(), type,
                                                 b.getStringAttr("llvm.x86.avx512.permvar.sf.512"),
                                                 ValueRange{table->getResult(0), bits});
    op->getResult(0).replaceAllUsesWith(found.getResult(0));
    op->erase();
  }
};

} // namespace
} // namespace ditron::cpu
