// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of the shape of an argument, or of a view of a table, when a kernel is compiled.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace ditron::core {

/// Its extents, kUnknownExtent where they differ between launches (i64 array attribute).
inline constexpr llvm::StringLiteral kKnownExtentsAttr = "tile.known_extents";
inline constexpr int64_t kUnknownExtent = -1;
/// Its elements lie one behind the other, in row-major order (unit attribute).
inline constexpr llvm::StringLiteral kDenseAttr = "tile.dense";

} // namespace ditron::core
