// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types as vectors hold them. To compute, narrow floats are f32 holding values of the
// narrow type; to store, bf16 is i16, fp8 and i1 are i8. The conversions between the two, and
// between types, are exact on every machine. All vectors have one dimension. `hasBf16`: the machine
// has an instruction that rounds f32 to bf16.
#pragma once
#include "ditron/core/TileOps.h"
#include "mlir/IR/Builders.h"

namespace ditron::lower {

/// The type in which vectors hold elements of a type, and the one in which memory does.
mlir::Type computeType(mlir::Type element);
mlir::Type storageType(mlir::Type element);

/// A vector of storage elements of `element` in its compute type, and back.
mlir::Value fromStorage(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector,
                        mlir::Type element);
mlir::Value toStorage(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector,
                      mlir::Type element, bool hasBf16 = false);

/// A vector of f32 rounded to the values of a narrower float.
mlir::Value roundTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector, mlir::Type element,
                    core::Rounding rounding, bool saturate, bool hasBf16 = false);

/// tile.cast between compute types.
mlir::Value convert(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector, mlir::Type from,
                    mlir::Type to, core::Rounding rounding, bool saturate, bool hasBf16 = false);

} // namespace ditron::lower
