// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of lists of parts whose sizes are known only at run time.
#pragma once
#include "ditron/lang/Kernel.h"
#include <functional>

namespace ditron::kernels {

/// Block `number` of a list of parts whose sizes (scalars of i32) are known only at run time, each
/// cut into blocks of `height` rows, the last ones ragged: which part it is, where that part
/// starts, and which of its blocks. part is parts, the number of them, where the list has fewer
/// blocks. A size below 0 ends the launch.
struct Block {
  Index part, first, inPart;
};
Block findBlock(Index number, Index parts, int height, const std::function<Tile(Index)> &sizeOf);

/// At least as many blocks as any list of so many parts has, of so many rows in all.
Index mostBlocks(Index rows, Index parts, int height);

} // namespace ditron::kernels
