// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the lowering to GPUs: see Passes.td. Attributes of the function that are named as
// fields of abi/KernelInfo.h are these fields of its description (lower/DescribeKernel.h).
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace ditron::gpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ditron/targets/gpu/transforms/Passes.h.inc"

/// The warps that compute a kernel's tiles (i64 attribute of the function).
inline constexpr llvm::StringLiteral kWarpsAttr = "simt.warps";
/// CTAs per SM: those that an SM is to have registers for (i64 attribute of the function).
inline constexpr llvm::StringLiteral kCtasPerSmAttr = "simt.ctas_per_sm";
/// The CTAs per SM, as far as that is decided: 1 before.
inline int64_t ctasPerSmOf(mlir::func::FuncOp function) {
  auto ctas = function->getAttrOfType<mlir::IntegerAttr>(kCtasPerSmAttr);
  return ctas ? ctas.getInt() : 1;
}
/// The tile is read part by part, each right in front of its first use (unit attribute of a
/// tile.load; DeferLoads.cpp).
inline constexpr llvm::StringLiteral kDeferredAttr = "simt.deferred";
/// The producer warps, behind these (i64 attribute of the function; absent: no roles, see Roles.h).
inline constexpr llvm::StringLiteral kProducerWarpsAttr = "simt.producer_warps";
/// Bytes of shared memory that a target's own passes have taken for what lives as long as the kernel (i64
/// attribute of the function; absent: none).
inline constexpr llvm::StringLiteral kTakenSharedAttr = "simt.taken_shared";
/// The CTAs of a cluster, which tiles may be dealt to together (i64 attribute of the function;
/// absent: 1).
inline constexpr llvm::StringLiteral kClusterAttr = "simt.cluster";
/// The CTAs that a launch has at least, so that each role has one or a cluster of them (i64
/// attribute of the function; absent: 1).
inline constexpr llvm::StringLiteral kLeastCoresAttr = "simt.least_cores";
/// Programmatic dependent launch: a launch may begin while the one before it runs (unit attribute
/// of the function).
inline constexpr llvm::StringLiteral kDependentLaunchAttr = "simt.dependent_launch";
/// What a tensor map describes (attribute of the argument of the function that points to it): a
/// dictionary {argument, box, tf32, fitted}, the number of the argument whose memory it is, the
/// extents of what is copied at a time, outermost first, and, if they are there, that elements of
/// f32 are rounded to tf32 on the way, and the dimension along which a box is no longer than the argument,
/// rounded up to abi::TensorMap::kFittedRows.
inline constexpr llvm::StringLiteral kTensorMapAttr = "simt.tensor_map";
/// Marks arguments that are read before the launches in front of a kernel have ended (unit attribute).
inline constexpr llvm::StringLiteral kReadAheadAttr = "simt.read_ahead";
/// The bytes of shared memory that a lowered kernel needs (i64 attribute of the function).
inline constexpr llvm::StringLiteral kSharedAttr = "simt.shared_bytes";

/// The symbol of a CTA's shared memory, whose size the launch gives.
inline constexpr llvm::StringLiteral kSharedSymbol = "ditron_shared";
/// The messages of the tile.require ops of a kernel, in the order of their numbers: an array of
/// dictionaries {message, file, line} (attribute of the function).
inline constexpr llvm::StringLiteral kRequirementsAttr = "simt.requirements";

/// Where a launch has a CTA for each tile, how many that are, in the text of abi/Extent.h: the
/// largest of them counts (array of strings, attribute of the function).
inline constexpr llvm::StringLiteral kTilesAttr = "simt.tiles";
/// Which word of the launch an argument is (i64 attribute of the argument, abi::LaunchWord).
inline constexpr llvm::StringLiteral kLaunchWordAttr = "simt.launch_word";
/// The site of a load that waits for elements (i64 attribute of tile.load, see kSitesAttr).
inline constexpr llvm::StringLiteral kSiteAttr = "simt.site";
/// The kernel takes all words of abi/LaunchWords.h (unit attribute of the function).
inline constexpr llvm::StringLiteral kDistributedAttr = "simt.distributed";
/// The waits that reports name, by their numbers: an array of dictionaries {role, file, line, what}
/// (attribute of the function).
inline constexpr llvm::StringLiteral kSitesAttr = "simt.sites";
/// Of a kernel that chooses among its arguments: the numbers of those whose words a table has, in
/// its order, and of those that are no arguments of the function any more (i64 arrays, attributes of
/// the function; SelectViews.cpp).
inline constexpr llvm::StringLiteral kViewTableAttr = "simt.view_table";
inline constexpr llvm::StringLiteral kTabledAttr = "simt.tabled";
/// How many barriers a kernel has, each of which takes two counters behind its signals (i64
/// attribute of the function).
inline constexpr llvm::StringLiteral kBarriersAttr = "simt.barriers";

} // namespace ditron::gpu
