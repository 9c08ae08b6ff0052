// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect `dist`: see DistOps.td.
#pragma once
#include "ditron/core/TileOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ditron/device/DistOpsDialect.h.inc"
#include "ditron/device/DistOpsEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ditron/device/DistOpsAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/device/DistOpsTypes.h.inc"
#define GET_OP_CLASSES
#include "ditron/device/DistOps.h.inc"

namespace ditron::device {

/// Names of axes of the mesh that are always there; others are named by a run (support/MeshAxes.h).
struct MeshAxis {
  static constexpr llvm::StringLiteral world = "world", node = "node", local = "local";
};

/// The most dimensions of a grid of tiles.
inline constexpr size_t kMostTileDims = 4;

/// On an op, an array of dictionaries with `name` and `reason`: findings of `ditron check` that it
/// takes part in are waived. The language writes it by waive().
inline constexpr llvm::StringLiteral kWaiveAttr = "ditron.waive";

/// On dist.tiles, three integers: so many rows and columns of tiles may go to cores that work side by
/// side, and so many of these may take each tile, sharing the terms of its sums. A hint: what is computed
/// does not depend on it, but for the order in which terms are added.
inline constexpr llvm::StringLiteral kTogetherAttr = "dist.together";

/// On tile.load, tile.store and dist.put_tile of symmetric memory, two integers, a number and a count: the tile may
/// be packed, its elements in any order of the target's in one run of memory, a row of tiles in that
/// of its rows. So many accesses of the kernel have this number, and share the order
/// (PackTiles.cpp).
inline constexpr llvm::StringLiteral kPackedAttr = "dist.packed";

/// On tile.store: nothing else stores there in a launch, so what is stored may be read until its end.
inline constexpr llvm::StringLiteral kStoredOnceAttr = "dist.once";

/// On dist.tiles, an integer: so many cores with consecutive numbers execute each tile, all of them.
/// Their number divides that of the cores of the role.
inline constexpr llvm::StringLiteral kSharersAttr = "dist.sharers";
/// On a kernel's function, the axis of the mesh whose ranks run it together; and, where the mesh is
/// known, their stride and number.
inline constexpr llvm::StringLiteral kTeamAxisAttr = "dist.team_axis", kTeamAttr = "dist.team";
/// On a kernel's function: its launches have exactly this number of cores, which are there together. The
/// kernel of a graph, whose queues are made for them (an array of one text of abi/Extent.h).
inline constexpr llvm::StringLiteral kExactCoresAttr = "dist.exact_cores";
/// On an scf.if without results, a number: of the branches of a block that have one, a core executes
/// at most one before its next dist.notify. The types of tasks in the kernel of a graph.
inline constexpr llvm::StringLiteral kAlternativeAttr = "dist.alternative";
/// On a send or a receive: it hands over its tile alone. No core relies on what another one has written
/// before (unit attribute). On a notify: it counts, and nobody waits for it.
inline constexpr llvm::StringLiteral kUnorderedAttr = "dist.unordered";
/// On an argument of a kernel's function, a PlacementAttr.
inline constexpr llvm::StringLiteral kPlacementAttr = "dist.placement";

/// Where argument `argument` of a kernel is placed; null where it is this rank's alone.
PlacementAttr placementOf(mlir::func::FuncOp kernel, unsigned argument);
/// Whether an argument of the kernel is placed: dist-place-arguments and dist-place-results write
/// the verbs.
bool isPlaced(mlir::func::FuncOp kernel);

/// How an op changes a signal; nothing of ops that notify nobody.
std::optional<NotifyMode> notifyModeOf(mlir::Operation *op);

/// Where a memref lives: in symmetric memory, or (nullopt) in plain memory.
std::optional<SpaceKind> spaceOf(mlir::Type memref);

/// The type of a view with unknown extents and strides.
using core::viewType;
mlir::MemRefType viewType(int64_t rank, mlir::Type element, std::optional<SpaceKind> space);

/// The roles of a kernel that copy engines execute; they stand at the top of it.
llvm::SmallVector<RoleOp> copyRoles(mlir::Operation *kernel);

/// How many instances of a kernel run on a rank with so many cores: one a core, and one for the
/// copy engines where it has roles of theirs.
int64_t instances(mlir::Operation *kernel, int64_t cores);

/// Whether a kernel has verbs or asks for ranks.
bool hasVerbs(mlir::Operation *kernel);
/// Whether a kernel knows of ranks, so that all of them launch it together; each launches another
/// one by itself. One with placed arguments does.
bool isOfRanks(mlir::Operation *kernel);

} // namespace ditron::device
