// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-switch-types: what a task is, is asked in one place.
//
//   scf.if %isProduct { ... } {dist.alternative = 0}   // %type == 0
//   scf.if %isNorm { ... } {dist.alternative = 1}      // %type == 1
// becomes
//   scf.index_switch %type
//   case 0 { ... }
//   case 1 { ... }
//   default { }
//
// At most one of the branches is taken. Threads would go from one condition to the next, past code that they do not
// execute, and behind the branch through all that are left: each time to a line that the cache of instructions may
// not have. test/targets/gpu/switch-types.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_SWITCHTYPES
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Branches of a block of which each is taken for one value of the same number.
class Types {
public:
  /// Finds those of a block; false where they are not of this kind, or something that has an effect stands between
  /// them.
  bool find(Block &block) {
    for (auto branch : block.getOps<scf::IfOp>())
      if (branch->hasAttr(device::kAlternativeAttr) && !add(branch))
        return false;
    return branches_.size() > 1 && areTogether();
  }

  /// In place of the last branch.
  void join() {
    ImplicitLocOpBuilder b(branches_.back().getLoc(), branches_.back());
    Value index = b.createOrFold<arith::IndexCastOp>(b.getIndexType(), number_);
    auto one = b.create<scf::IndexSwitchOp>(TypeRange(), index, values_, branches_.size());
    for (auto [branch, region] : llvm::zip_equal(branches_, one.getCaseRegions())) {
      region.takeBody(branch.getThenRegion());
      branch.erase();
    }
    b.createBlock(&one.getDefaultRegion());
    b.create<scf::YieldOp>();
  }

private:
  bool add(scf::IfOp branch) {
    auto is = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    std::optional<int64_t> value = is ? getConstantIntValue(is.getRhs()) : std::nullopt;
    if (!value || is.getPredicate() != arith::CmpIPredicate::eq || branch.elseBlock() ||
        branch.getNumResults() > 0 || (number_ && is.getLhs() != number_) ||
        llvm::is_contained(values_, *value))
      return false;
    number_ = is.getLhs();
    branches_.push_back(branch);
    values_.push_back(*value);
    return true;
  }

  /// Whether all that stands between them may be done before.
  bool areTogether() {
    for (Operation *op = branches_.front(); op != branches_.back(); op = op->getNextNode())
      if (!op->hasAttr(device::kAlternativeAttr) && !isMemoryEffectFree(op))
        return false;
    return true;
  }

  SmallVector<scf::IfOp> branches_;
  SmallVector<int64_t> values_;
  Value number_;
};

class SwitchTypes : public impl::SwitchTypesBase<SwitchTypes> {
  void runOnOperation() override {
    llvm::SetVector<Block *> blocks;
    getOperation().walk([&](scf::IfOp branch) {
      if (branch->hasAttr(device::kAlternativeAttr))
        blocks.insert(branch->getBlock());
    });
    for (Block *block : blocks)
      if (Types types; types.find(*block))
        types.join();
  }
};

} // namespace
} // namespace ditron::gpu
