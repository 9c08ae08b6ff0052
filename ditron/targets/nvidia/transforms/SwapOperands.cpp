// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-swap-operands: swap-AB. Products of few rows by many columns are computed transposed, with
// their operands swapped, if wgmma can then compute them: it takes 64 rows at least and 8 columns.
//
//   %r = scf.for ... iter_args(%acc = %zero) -> (tensor<8x64xf32>) {
//     %d = tile.dot %a, %b, %acc : tensor<8x128xbf16>, tensor<128x64xbf16> -> tensor<8x64xf32>
//     scf.yield %d
//   }
// becomes
//   %t = scf.for ... iter_args(%acc = %zero) -> (tensor<64x8xf32>) {
//     %x = tile.transpose %b [1, 0];  %y = tile.transpose %a [1, 0]
//     %d = tile.dot %x, %y, %acc : tensor<64x128xbf16>, tensor<128x8xbf16> -> tensor<64x8xf32>
//     scf.yield %d
//   }
//   %r = tile.transpose %t [1, 0]
//
// What few rows are multiplied with is read once, as a rule: its loads are marked, and L2 gives it up
// before all else.
//
// The operands of all products of a kernel that need it are swapped, or of none: products that a
// warp-specialised kernel does not compute (Roles.h) stay. test/targets/nvidia/swap-operands.mlir
// shows it.
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_SWAPOPERANDS
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

constexpr int64_t kRows = 64; ///< of one product of a warpgroup

bool isToSwap(core::DotOp dot) {
  RankedTensorType acc = tileOf(dot.getAcc());
  return acc.getRank() == 2 && acc.getDimSize(0) % kRows != 0 && acc.getDimSize(0) % 8 == 0 &&
         acc.getDimSize(1) % kRows == 0 && carriedBy(dot);
}

RankedTensorType swapped(RankedTensorType tile) {
  return RankedTensorType::get({tile.getDimSize(1), tile.getDimSize(0)}, tile.getElementType());
}

void swapOperands(core::DotOp dot) {
  unsigned number = *carriedBy(dot);
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  ImplicitLocOpBuilder b(dot.getLoc(), loop);
  auto transposed = [&](Value tile) {
    return b.create<core::TransposeOp>(swapped(tileOf(tile)), tile, ArrayRef<int64_t>{1, 0});
  };
  RankedTensorType type = swapped(tileOf(dot.getAcc()));
  Value zero = b.create<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(type)));
  loop.getInitArgsMutable()[number].set(zero);
  loop.getRegionIterArg(number).setType(type);
  b.setInsertionPoint(dot);
  Value lhs = transposed(dot.getRhs()), rhs = transposed(dot.getLhs());
  Value product = b.create<core::DotOp>(lhs, rhs, dot.getAcc(), dot.getPrecision());
  dot.getResult().replaceAllUsesWith(product);
  dot.erase();
  Value result = loop.getResult(number);
  result.setType(type);
  b.setInsertionPointAfter(loop);
  auto back = transposed(result);
  result.replaceAllUsesExcept(back, back);
}

void swapAll(func::FuncOp function) {
  SmallVector<core::DotOp> dots;
  function.walk([&](core::DotOp dot) {
    if (isToSwap(dot))
      dots.push_back(dot);
  });
  for (core::DotOp dot : dots)
    swapOperands(dot);
}

/// Marks the load of what few rows are multiplied with, step by step.
void markStreams(core::DotOp dot) {
  auto load = untransposed(dot.getRhs()).getDefiningOp<core::LoadOp>();
  if (tileOf(dot.getAcc()).getDimSize(0) <= kRows && load && carriedBy(dot) &&
      load->getParentOp() == dot->getParentOp())
    load->setAttr(kEvictFirstAttr, UnitAttr::get(dot.getContext()));
}

class SwapOperands : public impl::SwapOperandsBase<SwapOperands> {
public:
  using SwapOperandsBase::SwapOperandsBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const Chip *chip = chipNamed(chipName, function);
    if (!chip)
      return signalPassFailure();
    function.walk(markStreams);
    bool hasSome = false;
    function.walk([&](core::DotOp dot) { hasSome |= isToSwap(dot); });
    if (!hasSome)
      return;
    OwningOpRef<func::FuncOp> trial(function.clone());
    swapAll(*trial);
    if (planRoles(*trial, chip->share(ctasPerSm), warps))
      swapAll(function);
  }
};

} // namespace
} // namespace ditron::nvidia
