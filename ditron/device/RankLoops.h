// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over ranks.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace ditron::device {

/// On an scf.for (unit attribute): an iteration for each rank, of all or of a line of the mesh, known when the
/// kernel is compiled or not. dist-resolve-mesh tells these loops, as long as their bound is dist.num_ranks.
inline constexpr llvm::StringLiteral kOverRanksAttr = "dist.over_ranks";

} // namespace ditron::device
