// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which elements of which buffer a point of `dist.tiles` reads and writes.
//
//     dist.tiles (%i, %j) of (...) {
//       %c = scf.for %k = 0 to ceildiv(K, 64) iter_args(%acc) {
//         %a = tile.load %A[%i, %k] -> tensor<128x64xf16>      'A'[point 128 * i : 128, sweep 64 *
//         k : 64]
//         ...                                                  (the loop carries a sum)
//       }
//       tile.store %c, %C[%i, %j]                              'C'[point 128 * i : 128, point 64 *
//       j : 64]
//     }
//
// An access is a box: in each coordinate of the buffer it starts at `first` and has `size`
// elements. Both are affine in the coordinates of the point, in the loops around the access and in
// symbols: values that are the same for all points. What a box tells:
//
//   point    the point alone says where the access is: points may be taken in any order, and who
//            needs a part of the buffer knows which points have it
//   sweep    a loop walks over the whole window. It may start elsewhere, or follow data as it
//            arrives, if what it carries is a sum, or is marked as reorderable
//   unknown  anything else, with the reason: to be taken for the whole window
//
// Slices, splits, transposed views and dropped dimensions are looked through. A dimension of the
// buffer that `split` has cut has one coordinate for each of its parts, the outer one first: of
// `C.split(R)`, the shard and the row within it. The window of a coordinate is what a slice has
// left of it; what of an access lies outside is cut off.
//
#pragma once
#include "ditron/device/DistOps.h"
#include "ditron/device/LoopCarry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"

namespace ditron::device {

/// One coordinate of an access. Expressions are over the variables of the access and the symbols
/// of the analysis; null where they are not affine.
struct Coordinate {
  enum class Kind { point, sweep, unknown };

  int64_t dim = 0; ///< of the buffer: several coordinates share one that is split
  Kind kind = Kind::unknown;
  mlir::AffineExpr first = {}, size = {};   ///< elements
  mlir::AffineExpr begin = {}, extent = {}; ///< the window: elements begin to begin + extent
  mlir::AffineExpr all = {};                ///< the extent where nothing is cut off
  mlir::scf::ForOp loop = {};               ///< of a sweep
  Carry carry = Carry::none;                ///< of that loop
  std::string reason = {};                  ///< why it is unknown, and where that is seen
  std::optional<mlir::Location> where = {};
};

/// One access to memory, by a load, a store, or one side of a put or get.
struct Access {
  mlir::Operation *op = nullptr;
  bool reads = false, writes = false;
  /// The kernel's argument, the symmetric buffer, or a view that the analysis cannot look through:
  /// then the coordinates are that view's.
  mlir::Value buffer = {};
  mlir::Value peer = {}; ///< whose instance of a symmetric buffer; null: this rank's own
  TilesOp tiles = {};    ///< null outside of any
  /// The loops around the access, the outermost first.
  llvm::SmallVector<mlir::scf::ForOp> loops = {};
  bool isConditional = false; ///< under an scf.if: it may not happen
  llvm::SmallVector<Coordinate> coordinates = {};

  /// Variables of the expressions: the coordinates of the point, then the loops.
  unsigned numVariables() const;
  /// Whether no coordinate is unknown.
  bool isKnown() const;
};

class TileAccess {
public:
  /// Takes a kernel whose variables are values (tile-promote-vars).
  explicit TileAccess(mlir::func::FuncOp kernel);

  /// In program order.
  llvm::ArrayRef<Access> accesses() const { return accesses_; }
  /// The values behind symbols s0, s1, ... of the expressions. An extent of a kernel's argument or
  /// symmetric buffer may have no value where the kernel does not ask for it.
  struct Symbol {
    mlir::Value value;
    mlir::Value buffer = {}; ///< of an extent
    int64_t dim = 0;
    mlir::StringAttr name = {}; ///< what the signature calls it
    bool isNegative = true;     ///< may be below 0
  };
  llvm::ArrayRef<Symbol> symbols() const { return symbols_; }

  /// As in "reads 'A'[t0 * 128 : 128, sweep l0 * 64 : 64, reduction]": t0 is the first coordinate
  /// of the point, l0 the outermost loop, M an extent.
  std::string describe(const Access &access) const;

private:
  llvm::SmallVector<Symbol> symbols_;
  llvm::SmallVector<Access> accesses_;
};

} // namespace ditron::device
