// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sweeps over a part of a dimension that is known at run time alone, as the keys of one of several
// packed sequences are.
//
//     %keys = memref.subview %k[%begin, 0] [%size, %d] [1, 1]
//     scf.for %j = 0 to ceildiv(min(%size, %seen), 64) {
//       load %keys[%j, 0] -> tensor<64x128xf16>
//       %position = iota + splat(%j * 64)               counts elements from %begin on
//       if %j >= %x / 64                                a tile that ends behind element %x
//     }
//
// Cut into shards (LoopCutter.h), the part of the window in a shard begins and ends anywhere, and
// tiles begin where it does. A tile at its end may be ragged, although the window goes on in the
// next shard. A kernel masks what is behind the window by its position. So the elements that a tile
// lacks count on from the end of the window, as they do in the last tile of the kernel of one
// device.
//
#pragma once
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ditron::device {

/// Elements of a dimension: `size` of them from `begin` on; null: all of them.
struct SweepWindow {
  mlir::OpFoldResult begin = {}, size = {};
  bool operator==(const SweepWindow &) const = default;
};

/// A loop that walks over a window of dimension `dim` of an argument, tile by tile from its begin.
struct WindowSweep {
  mlir::scf::ForOp loop;
  int64_t tile; ///< elements
  SweepWindow window;
};
/// The sweep behind an access to `view`, of which the window is known before the loop; none if it is
/// something else.
std::optional<WindowSweep> windowSweepOf(mlir::Operation *access, mlir::Value view,
                                         mlir::BlockArgument argument, int64_t dim);

/// What a loop over tiles computes with their number: the positions of their elements.
class TilePositions {
public:
  TilePositions(mlir::BlockArgument counter, int64_t tile) : counter_(counter), tile_(tile) {}

  /// Reads the uses of the counter but those by ops that `isKnown` names. Returns the one that is no
  /// position of an element, or null.
  mlir::Operation *read(llvm::function_ref<bool(mlir::OpOperand &)> isKnown);
  bool empty() const { return numbered_.empty() && guards_.empty(); }

  /// The tile of a step: it begins at element `first` of the window, lacks those from `end` on, and
  /// the window has `size` elements.
  struct Step {
    mlir::Value first, end, size;
  };
  /// Positions are those of `step` from here on, whose values are known where the loop's body begins.
  void renumber(mlir::ImplicitLocOpBuilder &builder, const Step &step);

private:
  mlir::Operation *readElements(mlir::Value first);
  bool isGuard(mlir::OpOperand &use) const;
  void renumberGuard(mlir::arith::CmpIOp guard, mlir::Value end) const;

  mlir::BlockArgument counter_;
  int64_t tile_;
  struct Numbered {
    mlir::arith::AddIOp sum; ///< of `within` and where the tile begins
    mlir::Value within;      ///< the elements' numbers in the tile
  };
  llvm::SmallVector<Numbered> numbered_;
  llvm::SmallVector<mlir::arith::MulIOp> firsts_;
  llvm::SmallVector<mlir::arith::CmpIOp> guards_;
};

} // namespace ditron::device
