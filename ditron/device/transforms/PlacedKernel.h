// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What dist-place-arguments and dist-place-results share: the ranks, names, roles and extents of a
// kernel that is being placed.
#pragma once
#include "ditron/device/DistOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ditron::device {

/// A placed argument.
struct PlacedArgument {
  mlir::BlockArgument value;
  PlacementAttr placement;
  std::string name;          ///< 'A', as messages have it
  mlir::StringAttr extent{}; ///< the name of the placed dimension; null without one
};

/// The arguments of these kinds, in order. Fails with an error at the kernel where the placed
/// dimension has no name of its own, or names cannot tell which other dimensions grow with it.
mlir::FailureOr<llvm::SmallVector<PlacedArgument>>
placedArguments(mlir::func::FuncOp kernel, llvm::ArrayRef<PlacementKind> kinds);

/// Has `place` write the verbs for these, if there are any.
mlir::LogicalResult
placeArguments(mlir::func::FuncOp kernel, llvm::ArrayRef<PlacementKind> kinds,
               llvm::function_ref<mlir::LogicalResult(llvm::ArrayRef<PlacedArgument>)> place);

/// Says that dimension `dim` of `argument` is `name` on each rank, R times that in all, or R_row
/// times where the ranks along axis `row` have the parts.
void setWhole(mlir::func::FuncOp kernel, mlir::BlockArgument argument, int64_t dim,
              llvm::StringRef axis);

/// What asks for extent `dim` of `argument` means `ranks` times as many elements.
void multiplyExtent(mlir::BlockArgument argument, int64_t dim, mlir::Value ranks);

/// Index arithmetic at the place of a builder.
class IndexMath {
public:
  explicit IndexMath(mlir::ImplicitLocOpBuilder &builder) : b_(builder) {}
  mlir::Value constant(int64_t value);
  mlir::Value dim(mlir::Value view, int64_t dim);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value subtract(mlir::Value x, mlir::Value y);
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value ceilDiv(mlir::Value x, mlir::Value y);
  mlir::Value divide(mlir::Value x, mlir::Value y);
  mlir::Value remainder(mlir::Value x, mlir::Value y);
  mlir::Value least(mlir::Value x, mlir::Value y);
  mlir::Value most(mlir::Value x, mlir::Value y);
  mlir::Value rank(llvm::StringRef axis = MeshAxis::world);
  mlir::Value numRanks(llvm::StringRef axis = MeshAxis::world);
  /// The number of the rank at `place` along an axis, at this rank's place along the other one.
  mlir::Value rankAt(llvm::StringRef axis, mlir::Value place);

private:
  mlir::ImplicitLocOpBuilder &b_;
};

/// The cores of a rank in two roles: `cores` that move data, and those that compute; both are all
/// cores where `cores` is 0, one role after the other.
struct RolePair {
  RoleOp move, compute;
};
RolePair makeRoles(mlir::ImplicitLocOpBuilder &builder, mlir::StringRef move,
                   mlir::StringRef compute, int64_t cores);

/// Which way round the ring of ranks.
enum class Ring { previous, next };

/// for (peer : ranks): this rank first where `withSelf`, then the one before or after it, and so on
/// round the ring, so that no two ranks serve the same peer at a time. Returns the peer's place along
/// the axis; the builder is in the body.
mlir::Value forEachPeer(mlir::ImplicitLocOpBuilder &builder, llvm::StringRef axis, bool withSelf,
                        Ring way = Ring::previous);

} // namespace ditron::device
