// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a kernel's course depends on what it reads: the values read are followed through the
// kernel to where an address, a count, a peer or a branch is decided.
#include "ditron/checker/Dependence.h"
#include "ditron/core/Memories.h"
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace ditron::checker {
namespace {

class Follower {
public:
  explicit Follower(llvm::ArrayRef<BlockArgument> fixed) : fixed_(fixed) {}

  Operation *findDecision(func::FuncOp kernel) {
    auto module = kernel->getParentOfType<ModuleOp>();
    Operation *all = module ? module.getOperation() : kernel.getOperation();
    all->walk([&](Operation *op) {
      if (auto call = dyn_cast<func::CallOp>(op))
        if (func::FuncOp callee = calleeOf(call))
          callsOf_[callee].push_back(call);
      if (llvm::any_of(core::observationsOf(op),
                       [&](const auto &seen) { return seen.reads() && !isFixed(seen.object); }))
        for (Value result : op->getResults())
          follow(result);
    });
    while (!work_.empty() && !decision_) {
      Value value = work_.pop_back_val();
      for (OpOperand &use : value.getUses())
        visit(use);
    }
    return decision_;
  }

private:
  /// Whether all that a view may be part of is known.
  bool isFixed(Value view) const {
    return llvm::all_of(core::memoriesOf(view), [&](const core::Memory &memory) {
      return memory.first && llvm::is_contained(fixed_, memory.first);
    });
  }

  void follow(Value value) {
    if (seen_.insert(value).second)
      work_.push_back(value);
  }
  void follow(ValueRange values) {
    for (Value value : values)
      follow(value);
  }

  /// Whether values of a type stand for what is touched or notified.
  static bool isPlace(Type type) {
    return isa<BaseMemRefType>(type) || type.getDialect().getNamespace() == "dist";
  }

  /// Whether the value decides what the op does, and not just what it stores or computes.
  static bool isDecision(OpOperand &use) {
    Operation *op = use.getOwner();
    Type type = use.get().getType();
    if (isa<scf::IfOp, core::RequireOp>(op))
      return true;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return use.getOperandNumber() < loop.getNumControlOperands();
    if (isa<core::VarOp, core::SetOp, func::CallOp>(op))
      return false;
    if (!isPlace(type) && llvm::any_of(op->getResultTypes(), isPlace))
      return true; // which memory, which signals
    if (isa<core::GatherOp, core::ScatterOp>(op) && isa<RankedTensorType>(type))
      return use.getOperandNumber() == (isa<core::GatherOp>(op) ? 1 : 2); // the rows
    return type.isIndex() && (isa<core::ChunkOp>(op) ||
                              isa<device::DistDialect, memref::MemRefDialect>(op->getDialect()) ||
                              !isMemoryEffectFree(op));
  }

  void visit(OpOperand &use) {
    Operation *op = use.getOwner();
    if (isDecision(use) && !decision_)
      decision_ = op;
    follow(op->getResults());
    if (auto set = dyn_cast<core::SetOp>(op))
      follow(set.getVar());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      follow(loop.getRegionIterArgs());
    if (isa<scf::YieldOp>(op)) {
      follow(op->getParentOp()->getResults());
      if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
        follow(loop.getRegionIterArgs());
    }
    if (auto call = dyn_cast<func::CallOp>(op))
      if (func::FuncOp callee = calleeOf(call))
        follow(callee.getArguments());
    if (isa<func::ReturnOp>(op))
      for (func::CallOp call : callsOf_.lookup(op->getParentOfType<func::FuncOp>()))
        follow(call.getResults());
  }

  func::FuncOp calleeOf(func::CallOp call) {
    return symbols_.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  }

  llvm::ArrayRef<BlockArgument> fixed_;
  SymbolTableCollection symbols_;
  llvm::DenseMap<Operation *, llvm::SmallVector<func::CallOp, 1>> callsOf_; ///< by function
  llvm::DenseSet<Value> seen_;
  llvm::SmallVector<Value> work_;
  Operation *decision_ = nullptr;
};

} // namespace

Operation *findDecisionOnMemory(func::FuncOp kernel, llvm::ArrayRef<BlockArgument> fixed) {
  return Follower(fixed).findDecision(kernel);
}

} // namespace ditron::checker
