// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-turn-products: products of few rows by many columns are computed transposed, where that
// makes them products of warpgroups, which have 64 rows at least and 8 columns.
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
// All products of a kernel are turned that need it, or none: if they are not what a kernel with
// roles multiplies (Roles.h), they stay. test/targets/nvidia/turn-products.mlir shows it.
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_TURNPRODUCTS
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

constexpr int64_t kRows = 64; ///< of one product of a warpgroup

/// The number of what a loop carries that a product adds to and nothing else touches.
std::optional<unsigned> carriedBy(core::DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto sum = dyn_cast<BlockArgument>(dot.getAcc());
  if (!loop || !sum || sum.getOwner() != loop.getBody() || sum.getArgNumber() == 0 ||
      !sum.hasOneUse() || !dot.getResult().hasOneUse())
    return std::nullopt;
  unsigned number = sum.getArgNumber() - 1;
  OpOperand &use = *dot.getResult().use_begin();
  if (use.getOwner() != loop.getBody()->getTerminator() || use.getOperandNumber() != number)
    return std::nullopt;
  Value initial = loop.getInitArgs()[number];
  bool isZero = matchPattern(initial, m_AnyZeroFloat()) || matchPattern(initial, m_Zero());
  return isZero ? std::optional(number) : std::nullopt;
}

bool isToTurn(core::DotOp dot) {
  RankedTensorType acc = tileOf(dot.getAcc());
  return acc.getRank() == 2 && acc.getDimSize(0) % kRows != 0 && acc.getDimSize(0) % 8 == 0 &&
         acc.getDimSize(1) % kRows == 0 && carriedBy(dot);
}

RankedTensorType turned(RankedTensorType tile) {
  return RankedTensorType::get({tile.getDimSize(1), tile.getDimSize(0)}, tile.getElementType());
}

void turn(core::DotOp dot) {
  unsigned number = *carriedBy(dot);
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  ImplicitLocOpBuilder b(dot.getLoc(), loop);
  auto transposed = [&](Value tile) {
    return b.create<core::TransposeOp>(turned(tileOf(tile)), tile, ArrayRef<int64_t>{1, 0});
  };
  RankedTensorType type = turned(tileOf(dot.getAcc()));
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

void turnAll(func::FuncOp function) {
  SmallVector<core::DotOp> dots;
  function.walk([&](core::DotOp dot) {
    if (isToTurn(dot))
      dots.push_back(dot);
  });
  for (core::DotOp dot : dots)
    turn(dot);
}

class TurnProducts : public impl::TurnProductsBase<TurnProducts> {
public:
  using TurnProductsBase::TurnProductsBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const Chip *chip = chipNamed(chipName, function);
    if (!chip)
      return signalPassFailure();
    bool hasSome = false;
    function.walk([&](core::DotOp dot) { hasSome |= isToTurn(dot); });
    if (!hasSome)
      return;
    OwningOpRef<func::FuncOp> trial(function.clone());
    turnAll(*trial);
    if (planRoles(*trial, chip->share(resident), warps))
      turnAll(function);
  }
};

} // namespace
} // namespace ditron::nvidia
