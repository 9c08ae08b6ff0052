// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index values and views of a kernel as affine expressions: what TileAccess stands on.
#pragma once
#include "ditron/device/TileAccess.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseMap.h"

namespace ditron::device {

/// An affine expression, or the reason why there is none.
struct Affine {
  Affine(mlir::AffineExpr expr) : expr(expr) {}
  Affine(std::string reason, mlir::Location where) : reason(std::move(reason)), where(where) {}

  explicit operator bool() const { return static_cast<bool>(expr); }

  mlir::AffineExpr expr;
  std::string reason;
  std::optional<mlir::Location> where;
};

/// What the signature calls an extent of a kernel's argument; null if it does not say.
mlir::StringAttr extentName(mlir::BlockArgument argument, int64_t dim);

/// Values that are the same for all points of a launch on one rank, by number.
class Symbols {
public:
  explicit Symbols(llvm::SmallVectorImpl<TileAccess::Symbol> &list) : list_(list) {}

  /// Whether a value is computed from arguments, their extents, what inputs hold, the rank and the
  /// number of ranks alone.
  bool isFixed(mlir::Value value);
  mlir::AffineExpr of(mlir::Value fixed);
  /// Extents that the signature gives one name are one symbol.
  mlir::AffineExpr extentOf(mlir::BlockArgument argument, int64_t dim);
  bool isNegative(unsigned symbol) const { return list_[symbol].isNegative; }

private:
  bool computeFixed(mlir::Value value);

  llvm::SmallVectorImpl<TileAccess::Symbol> &list_;
  llvm::DenseMap<mlir::Value, unsigned> numbers_;
  llvm::DenseMap<std::pair<mlir::Attribute, int64_t>, unsigned> extents_;
  llvm::DenseMap<mlir::Value, bool> fixed_;
};

/// One coordinate of a buffer as a view has it.
struct ViewSlot {
  int64_t dim;                ///< of the buffer
  Affine begin, extent;       ///< the window
  Affine all;                 ///< the extent where nothing is cut off
  bool isWhole = true;        ///< nothing is cut off
  std::optional<Affine> at{}; ///< the element where a dimension was dropped, in the window
};

/// A view: the coordinates of its buffer, and which of them each of its dimensions is.
struct ViewWindow {
  mlir::Value buffer;
  llvm::SmallVector<ViewSlot> slots;
  llvm::SmallVector<unsigned> dims;

  ViewSlot &slotOf(int64_t dim) { return slots[dims[dim]]; }
};

/// The variables at one place of a kernel: the coordinates of the point, then the loops around it.
class AccessSpace {
public:
  AccessSpace(Symbols &symbols, mlir::Operation *place);

  TilesOp tiles() const { return tiles_; }
  llvm::ArrayRef<mlir::scf::ForOp> loops() const { return loops_; }
  /// The number of the first loop's variable.
  unsigned firstLoop() const { return tiles_ ? TilesOp(tiles_).getExtents().size() : 0; }

  Affine express(mlir::Value index);
  Affine express(mlir::OpFoldResult index);
  ViewWindow windowOf(mlir::Value view);

private:
  Affine constant(int64_t value) const;
  Affine expressArgument(mlir::BlockArgument argument);
  Affine expressOp(mlir::Operation *op, mlir::Value index);
  Affine combine(mlir::Operation *op);
  Affine refuse(mlir::Operation *op);
  bool isNeverNegative(mlir::AffineExpr expr) const;

  ViewWindow bufferWindow(mlir::Value buffer);
  ViewWindow slice(ViewWindow window, mlir::memref::SubViewOp op);
  ViewWindow split(const ViewWindow &window, mlir::memref::ExpandShapeOp op);
  ViewWindow cut(ViewWindow window, core::ChunkOp op);

  Symbols &symbols_;
  mlir::MLIRContext *context_;
  TilesOp tiles_;
  llvm::SmallVector<mlir::scf::ForOp> loops_;
};

} // namespace ditron::device
