// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PromoteVars: variables become values.
//
// The language declares what changes; the IR is better off with values. A variable that is written
// in a loop becomes one more value that the loop carries, one that is written in a branch one more
// result of the branch. test/core/promote-vars.mlir shows it:
//
//     %v = tile.var %zero : tensor<8x8xf32>
//     scf.for %k = %c0 to %n step %c1 {                %r = scf.for %k = %c0 to %n step %c1
//       %0 = tile.get %v : tensor<8x8xf32>                   iter_args(%0 = %zero) {
//       %1 = arith.addf %0, %x              ->           %1 = arith.addf %0, %x
//       tile.set %v, %1 : tensor<8x8xf32>                scf.yield %1
//     }                                                }
//     %2 = tile.get %v : tensor<8x8xf32>               use(%r)
//     use(%2)
//
// Only scf.for and scf.if carry values out of their bodies. Bodies of roles and of loops over tiles
// run on different cores: they may read a variable from outside but not write it. All errors are
// found before anything is rewritten.
//
#include "ditron/core/TileOps.h"
#include "ditron/core/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace ditron::core {
#define GEN_PASS_DEF_PROMOTEVARS
#include "ditron/core/transforms/Passes.h.inc"
} // namespace ditron::core

using namespace mlir;
using namespace ditron::core;

namespace {

/// The value that each variable has at the current place of the program.
using Values = llvm::DenseMap<Value, Value>;

//===-- Errors --------------------------------------------------------------------------------===//

/// `variable` is declared by a tile.var, in the structured part of the program that `user` stands
/// in.
LogicalResult checkDeclared(Operation *user, Value variable) {
  if (!variable.getDefiningOp<VarOp>())
    return user->emitOpError("uses a variable that is no result of tile.var");
  for (Region *region = user->getParentRegion();; region = region->getParentRegion()) {
    if (!region->hasOneBlock())
      return user->emitOpError("stands among branches between blocks, expected scf.for and scf.if");
    if (region == variable.getParentRegion())
      return success();
  }
}

/// Between `set` and the declaration there are only ops that carry values out of their bodies.
LogicalResult checkCarried(SetOp set) {
  Region *home = set.getVar().getParentRegion();
  for (Operation *op = set->getParentOp();
       home->isProperAncestor(op->getParentRegion()) || home == op->getParentRegion();
       op = op->getParentOp()) {
    if (isa<scf::ForOp, scf::IfOp>(op))
      continue;
    InFlightDiagnostic error = set.emitError() << "a variable declared outside of " << op->getName()
                                               << " cannot change inside: ";
    if (isa<scf::SCFDialect>(op->getDialect()))
      error << "only scf.for and scf.if carry variables";
    else
      error << "its body runs on different cores";
    error.attachNote(set.getVar().getLoc()) << "declared here";
    error.attachNote(op->getLoc()) << op->getName() << " starts here";
    return error;
  }
  return success();
}

LogicalResult check(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) -> WalkResult {
    if (auto variable = dyn_cast<VarOp>(op)) {
      for (OpOperand &use : variable.getVar().getUses())
        if (!isa<GetOp, SetOp>(use.getOwner()))
          return use.getOwner()->emitOpError("uses a variable, expected tile.get or tile.set");
    } else if (auto get = dyn_cast<GetOp>(op)) {
      return checkDeclared(op, get.getVar());
    } else if (auto set = dyn_cast<SetOp>(op)) {
      return failed(checkDeclared(op, set.getVar())) ? failure() : checkCarried(set);
    }
    return success();
  });
  return failure(result.wasInterrupted());
}

//===-- Rewriting -----------------------------------------------------------------------------===//

/// The variables of `values` that are written somewhere in `op`, in program order.
llvm::SmallSetVector<Value, 4> writtenIn(Operation *op, const Values &values) {
  llvm::SmallSetVector<Value, 4> written;
  op->walk([&](SetOp set) {
    if (values.contains(set.getVar()))
      written.insert(set.getVar());
  });
  return written;
}

SmallVector<Value> lookup(ValueRange variables, const Values &values) {
  return llvm::map_to_vector(variables, [&](Value variable) { return values.at(variable); });
}

void promote(Block &block, Values &values);

/// Promotes the body of a loop or branch and lets it yield the last value of `written` too.
void promoteBody(Block &body, Values values, ValueRange written) {
  promote(body, values);
  auto yield = cast<scf::YieldOp>(body.getTerminator());
  yield.getResultsMutable().append(lookup(written, values));
}

/// Replaces the results of `op` by the first ones of `carrier`, and lets the others be the values.
void finish(Operation *op, Operation *carrier, ValueRange written, Values &values) {
  carrier->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  unsigned kept = op->getNumResults();
  op->replaceAllUsesWith(carrier->getResults().take_front(kept));
  for (auto [variable, result] : llvm::zip(written, carrier->getResults().drop_front(kept)))
    values[variable] = result;
  op->erase();
}

void promoteFor(scf::ForOp loop, Values &values) {
  auto written = writtenIn(loop, values).takeVector();
  if (written.empty()) {
    Values inside = values;
    return promote(*loop.getBody(), inside);
  }
  OpBuilder builder(loop);
  SmallVector<Value> initial(loop.getInitArgs());
  llvm::append_range(initial, lookup(written, values));
  auto carrier = builder.create<scf::ForOp>(loop.getLoc(), loop.getLowerBound(),
                                            loop.getUpperBound(), loop.getStep(), initial);
  Block *from = loop.getBody(), *to = carrier.getBody();
  to->getOperations().splice(to->end(), from->getOperations());
  for (auto [before, after] : llvm::zip(from->getArguments(), to->getArguments()))
    before.replaceAllUsesWith(after);
  Values inside = values;
  for (auto [variable, argument] :
       llvm::zip(written, to->getArguments().drop_front(from->getNumArguments())))
    inside[variable] = argument;
  promoteBody(*to, inside, written);
  finish(loop, carrier, written, values);
}

void promoteIf(scf::IfOp branch, Values &values) {
  auto written = writtenIn(branch, values).takeVector();
  SmallVector<Type> types(branch.getResultTypes());
  for (Value variable : written)
    types.push_back(values[variable].getType());
  OpBuilder builder(branch);
  bool withElse = branch.elseBlock() || !written.empty();
  auto carrier = builder.create<scf::IfOp>(branch.getLoc(), types, branch.getCondition(),
                                           /*addThenBlock=*/false, /*addElseBlock=*/false);
  carrier.getThenRegion().takeBody(branch.getThenRegion());
  carrier.getElseRegion().takeBody(branch.getElseRegion());
  if (withElse && carrier.getElseRegion().empty()) {
    builder.createBlock(&carrier.getElseRegion());
    builder.create<scf::YieldOp>(branch.getLoc());
  }
  for (Region *region : carrier.getRegions())
    for (Block &body : *region)
      promoteBody(body, values, written);
  finish(branch, carrier, written, values);
}

/// Removes the variables of one block; afterwards `values` holds what they are at its end.
void promote(Block &block, Values &values) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto variable = dyn_cast<VarOp>(op)) {
      values[variable.getVar()] = variable.getInitial();
    } else if (auto get = dyn_cast<GetOp>(op)) {
      get.getValue().replaceAllUsesWith(values.at(get.getVar()));
      get.erase();
    } else if (auto set = dyn_cast<SetOp>(op)) {
      values[set.getVar()] = set.getValue();
      set.erase();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      promoteFor(loop, values);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      promoteIf(branch, values);
    } else {
      for (Region &region : op.getRegions())
        for (Block &body : region) {
          Values inside = values;
          promote(body, inside);
        }
    }
  }
}

struct PromoteVars : ditron::core::impl::PromoteVarsBase<PromoteVars> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (failed(check(function)))
      return signalPassFailure();
    for (Block &block : function.getBody()) {
      Values values;
      promote(block, values);
    }
    function.walk([](VarOp variable) { variable.erase(); });
  }
};

} // namespace
