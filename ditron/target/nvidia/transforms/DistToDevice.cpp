// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-dist-to-device: a core is a block of threads, and a launch has one rank.
//
//   %c = dist.core                 ->  %c = arith.index_cast (nvvm.read.ptx.sreg.ctaid.x)
//   %r = dist.rank                 ->  %r = arith.constant 0 : index
//   tile.require %ok, "..."(%n)    ->  scf.if (not %ok) { the first to fail notes it; exit }
//
// What is not fulfilled is noted in the status of the launch: a word that says so, the number of
// the requirement, its values. All threads of a block find the same and end; the launcher raises
// the error (ditron/runtime/nvidia/Launch.h). test/target/nvidia/dist-to-device.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/target/nvidia/transforms/Instructions.h"
#include "ditron/target/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_DISTTODEVICE
#include "ditron/target/nvidia/transforms/Passes.h.inc"

namespace {

class DistToDevice : public impl::DistToDeviceBase<DistToDevice> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    SmallVector<core::RequireOp> requirements;
    SmallVector<Operation *> places;
    function.walk([&](Operation *op) {
      if (auto require = dyn_cast<core::RequireOp>(op))
        requirements.push_back(require);
      else if (isa<device::CoreOp, device::NumCoresOp, device::RankOp, device::NumRanksOp,
                   device::MarkTileOp>(op))
        places.push_back(op);
    });
    for (Operation *op : places)
      lowerPlace(op);
    lowerRequirements(function, requirements);
  }

  static void lowerPlace(Operation *op) {
    OpBuilder b(op);
    mlir::Location loc = op->getLoc();
    Value value;
    if (isa<device::RankOp>(op))
      value = b.create<arith::ConstantIndexOp>(loc, 0);
    else if (isa<device::NumRanksOp>(op))
      value = b.create<arith::ConstantIndexOp>(loc, 1);
    else if (isa<device::CoreOp>(op))
      value = b.create<NVVM::BlockIdXOp>(loc, b.getI32Type());
    else if (isa<device::NumCoresOp>(op))
      value = b.create<NVVM::GridDimXOp>(loc, b.getI32Type());
    if (value && !value.getType().isIndex())
      value = b.create<arith::IndexCastUIOp>(loc, b.getIndexType(), value);
    if (value)
      op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  /// The status comes as a last argument of the kernel.
  static void lowerRequirements(func::FuncOp function, ArrayRef<core::RequireOp> requirements) {
    Builder attributes(function);
    unsigned n = function.getNumArguments();
    function.insertArgument(n, LLVM::LLVMPointerType::get(function.getContext()),
                            attributes.getDictionaryAttr({}), function.getLoc());
    Value status = function.getArgument(n);
    SmallVector<Attribute> described;
    for (core::RequireOp op : requirements) {
      described.push_back(describe(op));
      lowerRequirement(op, status, static_cast<int64_t>(described.size()) - 1);
    }
    function->setAttr(kRequirementsAttr, attributes.getArrayAttr(described));
  }

  static Attribute describe(core::RequireOp op) {
    Builder b(op);
    StringRef file = "";
    int64_t line = 0;
    op.getLoc()->walk([&](mlir::Location where) {
      auto place = dyn_cast<FileLineColLoc>(where);
      if (!place)
        return WalkResult::advance();
      file = place.getFilename().getValue();
      line = place.getLine();
      return WalkResult::interrupt();
    });
    return b.getDictionaryAttr(
        {b.getNamedAttr("message", op.getMessageAttr()),
         b.getNamedAttr("file", b.getStringAttr(file.substr(file.find_last_of('/') + 1))),
         b.getNamedAttr("line", b.getI64IntegerAttr(line))});
  }

  static void lowerRequirement(core::RequireOp op, Value status, int64_t number) {
    OpBuilder b(op);
    mlir::Location loc = op.getLoc();
    Value yes = b.create<arith::ConstantIntOp>(loc, 1, 1);
    auto failed = b.create<scf::IfOp>(loc, b.create<arith::XOrIOp>(loc, op.getCondition(), yes));
    b.setInsertionPointToStart(failed.thenBlock());
    auto word = [&](int64_t value) { return b.create<arith::ConstantIntOp>(loc, value, 64); };
    Value before = b.create<LLVM::AtomicCmpXchgOp>(loc, status, word(0), word(1),
                                                   LLVM::AtomicOrdering::monotonic,
                                                   LLVM::AtomicOrdering::monotonic);
    before = b.create<LLVM::ExtractValueOp>(loc, before, 0);
    Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, before, word(0));
    auto first = b.create<scf::IfOp>(loc, isFirst);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(first.thenBlock());
      SmallVector<Value> values{word(number)};
      for (Value value : op.getValues())
        values.push_back(b.create<arith::IndexCastOp>(loc, b.getI64Type(), value));
      for (auto [n, value] : llvm::enumerate(values)) {
        Value place = b.create<LLVM::GEPOp>(loc, status.getType(), b.getI64Type(), status,
                                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(n) + 1});
        b.create<LLVM::StoreOp>(loc, value, place);
      }
    }
    Instructions(b, loc).exit();
    op.erase();
  }
};

} // namespace
} // namespace ditron::nvidia
