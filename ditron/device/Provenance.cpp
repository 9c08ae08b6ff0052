// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/Provenance.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ditron::device {

/// What `part` is a part of; null if it is whole.
static Value wholeOf(Value part) {
  Operation *op = part.getDefiningOp();
  if (!op)
    return {};
  return TypeSwitch<Operation *, Value>(op)
      .Case([](core::ChunkOp chunk) { return chunk.getView(); })
      .Case([](ViewLikeOpInterface view) { return view.getViewSource(); })
      .Default([](Operation *) { return Value(); });
}

Value originOf(Value value) {
  while (Value whole = wholeOf(value))
    value = whole;
  return value;
}

std::string describe(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  if (auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()))
    if (auto name = function.getArgAttrOfType<StringAttr>(number, core::kNameAttr))
      return llvm::formatv("argument '{0}'", name.getValue());
  return llvm::formatv("argument {0}", number);
}

} // namespace ditron::device
