// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/Memories.h"
#include "ditron/core/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace ditron::core {

/// The view that an op's result is a part of, all of it perhaps; null where it is none.
static Value sourceOf(Operation *op) {
  if (isa<memref::TransposeOp, ChunkOp>(op))
    return op->getOperand(0);
  auto part = dyn_cast<ViewLikeOpInterface>(op);
  return part ? part.getViewSource() : Value();
}

static Value wholeOf(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    Value source = sourceOf(op);
    if (!source)
      break;
    view = source;
  }
  return view;
}

/// The function that a value is an argument of; null where it is none.
static FunctionOpInterface functionOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp())
                  : FunctionOpInterface();
}

int64_t inPlaceNumber(Value whole) {
  IntegerAttr number;
  if (FunctionOpInterface function = functionOf(whole))
    number = function.getArgAttrOfType<IntegerAttr>(cast<BlockArgument>(whole).getArgNumber(),
                                                    kInPlaceAttr);
  else if (Operation *op = whole.getDefiningOp())
    number = op->getAttrOfType<IntegerAttr>(kInPlaceAttr);
  return number ? number.getInt() : -1;
}

void setInPlace(FunctionOpInterface function, unsigned output, unsigned input) {
  int64_t number = inPlaceNumber(function.getArgument(output)),
          other = inPlaceNumber(function.getArgument(input));
  if (number < 0)
    number = other < 0 ? static_cast<int64_t>(output) : other;
  Attribute attribute = Builder(function.getContext()).getI64IntegerAttr(number);
  for (BlockArgument argument : function.getArguments())
    if (other >= 0 && inPlaceNumber(argument) == other)
      function.setArgAttr(argument.getArgNumber(), kInPlaceAttr, attribute);
  function.setArgAttr(output, kInPlaceAttr, attribute);
  function.setArgAttr(input, kInPlaceAttr, attribute);
}

static void addMemories(Value view, SmallVector<Memory, 2> &memories) {
  Value whole = wholeOf(view);
  ValueRange choices;
  if (auto choice = whole.getDefiningOp<arith::SelectOp>())
    choices = choice->getOperands().drop_front();
  else if (auto choice = whole.getDefiningOp<SelectViewOp>())
    choices = choice.getViews();
  for (Value one : choices)
    addMemories(one, memories);
  if (!choices.empty())
    return;
  int64_t number = inPlaceNumber(whole);
  Memory memory{number < 0 ? whole : Value(), number};
  if (!llvm::is_contained(memories, memory))
    memories.push_back(memory);
}

SmallVector<Memory, 2> memoriesOf(Value view) {
  SmallVector<Memory, 2> memories;
  addMemories(view, memories);
  return memories;
}

bool mayMeet(Value a, Value b) {
  SmallVector<Memory, 2> others = memoriesOf(b);
  return llvm::any_of(memoriesOf(a),
                      [&](const Memory &memory) { return llvm::is_contained(others, memory); });
}

namespace {

/// Whether values are equal where two views are.
class Equality {
public:
  Equality(Value first, Value second) : first_(first), second_(second) {}

  bool holds(Value a, Value b) const {
    if (a == b || (a == first_ && b == second_))
      return true;
    auto one = dyn_cast<OpResult>(a), other = dyn_cast<OpResult>(b);
    if (!one || !other || one.getResultNumber() != other.getResultNumber() ||
        !isMemoryEffectFree(one.getOwner()) || one.getOwner()->getNumRegions())
      return false;
    auto isEqual = [&](Value x, Value y) { return success(holds(x, y)); };
    return OperationEquivalence::isEquivalentTo(one.getOwner(), other.getOwner(), isEqual, nullptr,
                                                OperationEquivalence::IgnoreLocations);
  }

private:
  Value first_, second_;
};

} // namespace

/// Whether a view is all of an argument, or of one that is chosen among arguments.
static bool isOfLaunch(Value whole) {
  return functionOf(whole) || whole.getDefiningOp<SelectViewOp>() || inPlaceNumber(whole) >= 0;
}

bool areAlike(Value a, Value b) {
  if (a == b)
    return true;
  Value first = wholeOf(a), second = wholeOf(b);
  return isOfLaunch(first) && isOfLaunch(second) && first.getType() == second.getType() &&
         Equality(first, second).holds(a, b);
}

} // namespace ditron::core
