// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect `tile`: see TileOps.td.
#pragma once
#include "ditron/core/Layout.h"
#include "ditron/core/Observation.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
}

namespace ditron::core {

/// What tile.require changes: whether the launch goes on.
struct LaunchResource : mlir::SideEffects::Resource::Base<LaunchResource> {
  llvm::StringRef getName() final { return "launch"; }
};

} // namespace ditron::core

#include "ditron/core/ObservableOpInterface.h.inc"
#include "ditron/core/TileOpsDialect.h.inc"
#include "ditron/core/TileOpsEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ditron/core/TileOpsAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/core/TileOpsTypes.h.inc"
#define GET_OP_CLASSES
#include "ditron/core/TileOps.h.inc"

namespace ditron::core {

/// Marks the function of a kernel (unit attribute).
inline constexpr llvm::StringLiteral kKernelAttr = "tile.kernel";
/// On a kernel, the extents of its arguments as its signature names them (array of a string array
/// an argument): where two texts are equal, so are the extents, which the launcher checks.
inline constexpr llvm::StringLiteral kExtentsAttr = "tile.extents";
/// The name of an argument in the kernel's signature (string attribute of the argument).
inline constexpr llvm::StringLiteral kNameAttr = "tile.name";
/// The places that an op names exist: the numbers are the compiler's own (unit attribute). What reads
/// programs' texts takes it off.
inline constexpr llvm::StringLiteral kWithinAttr = "tile.within";
/// The argument is an input: nothing may write it (unit attribute of the argument).
inline constexpr llvm::StringLiteral kReadOnlyAttr = "tile.readonly";

/// The argument is an input or a constant of the graph that launches the kernel: none of its launches writes it
/// (unit attribute of the argument). What wrote it may still be under way when a launch begins early.
inline constexpr llvm::StringLiteral kConstantAttr = "tile.constant";

/// The argument is a tensor that the graph was made with, such as a cache, and its tasks write parts of it:
/// most of what they read was there before the launch (unit attribute of the argument).
inline constexpr llvm::StringLiteral kLastingAttr = "tile.lasting";

/// What a tile reads of such an argument was there before the launch, or is what the tile itself wrote: one node of the
/// graph has it, and no tile of a node depends on another (unit attribute of the argument).
inline constexpr llvm::StringLiteral kPriorAttr = "tile.prior";

/// Memory whose elements say that they are there: a launch begins when all bits of all of them are set, which is
/// a NaN that no result is stored as. Who reads an element waits until it is another one, and nobody tells that it is
/// there (unit attribute of the argument, of floats of 16 or 32 bits).
inline constexpr llvm::StringLiteral kSelfSignalingAttr = "tile.self_signaling";

/// The elements of the argument's last dimension are neighbours (unit attribute of the argument).
inline constexpr llvm::StringLiteral kUnitStrideAttr = "tile.unit_stride";
/// Of an argument of kUnitStrideAttr whose extents are below 2^31: the bytes, a power of two of up
/// to 16 and no less than an element has, that its address, its other strides and half of its last
/// extent, as kernels take rows in halves, are multiples of. Of one element no half is asked for.
/// (i64 attribute of the argument.)
inline constexpr llvm::StringLiteral kAlignmentAttr = "tile.alignment";

/// Bytes of one element in memory; i1 takes one.
int64_t elementBytes(mlir::Type element);

/// The most values in the message of a tile.require.
inline constexpr size_t kMaxMessageValues = 20;

/// The most elements of a tile: what a core holds, and what is unrolled, has an end.
inline constexpr int64_t kMostTileElements = int64_t(1) << 20;
/// The elements of a tile of these extents; nothing where one is below 1, or where they are more
/// than a tile has.
std::optional<int64_t> tileElements(llvm::ArrayRef<int64_t> extents);
/// Whether a tensor can be a tile: 1 to 4 static dimensions, every extent 1 or more, and no more
/// than kMostTileElements.
bool isTile(mlir::RankedTensorType type);

/// The layout of a tile's type; InternalError if it has none.
Layout layoutOf(mlir::RankedTensorType type);
/// The same tile with another layout.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, const Layout &layout);

/// The type of a view with unknown extents and strides.
mlir::MemRefType viewType(int64_t rank, mlir::Type element, mlir::Attribute memorySpace = {});

} // namespace ditron::core
