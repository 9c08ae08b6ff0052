// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which memories a view may be part of, and which views are one where their memories are. Arguments of a
// launch are apart, but for those that work in place makes the very same elements.
#pragma once
#include "mlir/IR/Value.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <utility>

namespace ditron::core {

/// Arguments that have this number in common may be the very same elements, though a kernel writes one of them
/// (i64 attribute of the argument, and of a view of a table).
inline constexpr llvm::StringLiteral kInPlaceAttr = "tile.in_place";

/// Notes that two arguments of a function may be the very same elements. Numbers follow from what is noted, and in
/// which order.
void setInPlace(mlir::FunctionOpInterface function, unsigned output, unsigned input);

/// The number of what a view is of as a whole, an argument or a view of a table; -1: it has none.
int64_t inPlaceNumber(mlir::Value whole);

/// Memory that is apart from memory with another name: what a view is part of, or, if that has one, the number of
/// work in place.
using Memory = std::pair<mlir::Value, int64_t>;

/// The memories that a view may be part of: several where it is chosen among views.
llvm::SmallVector<Memory, 2> memoriesOf(mlir::Value view);

/// Whether two views may be of the same memory.
bool mayMeet(mlir::Value a, mlir::Value b);

/// Whether two views are the same elements wherever they are of the same memory: they are made alike of two
/// arguments, which are either the same elements or apart.
bool areAlike(mlir::Value a, mlir::Value b);

} // namespace ditron::core
