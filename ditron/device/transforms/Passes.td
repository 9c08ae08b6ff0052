// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the Device level. Each stands in the file of its name.
#ifndef DITRON_DEVICE_PASSES
#define DITRON_DEVICE_PASSES

include "mlir/Pass/PassBase.td"

def CheckEffects : Pass<"dist-check-effects", "::mlir::func::FuncOp"> {
  let summary = "Refuses kernels that write inputs, wait in vain or allocate unevenly";
}

def CheckCopyRoles : Pass<"dist-check-copy-roles", "::mlir::func::FuncOp"> {
  let summary = "Refuses roles that copy engines cannot execute";
}

def FusePutNotify : Pass<"dist-fuse-put-notify", "::mlir::func::FuncOp"> {
  let summary = "Joins a put and the notify behind it";
}

def PutTiles : Pass<"dist-put-tiles", "::mlir::func::FuncOp"> {
  let summary = "Puts tiles from where they are computed, not from memory that they are stored to";
}

def PlaceArguments : Pass<"dist-place-arguments", "::mlir::func::FuncOp"> {
  let summary = "Writes the verbs that gather arguments, and waits where loops use them";
  let dependentDialects = ["::ditron::device::DistDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def PlaceExchanges : Pass<"dist-place-exchanges", "::mlir::func::FuncOp"> {
  let summary = "Writes the verbs that send rows to other ranks by counts";
  let dependentDialects = ["::ditron::device::DistDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def PlaceResults : Pass<"dist-place-results", "::mlir::func::FuncOp"> {
  let summary = "Writes the verbs that sum results over the ranks";
  let dependentDialects = ["::ditron::device::DistDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def PackTiles : Pass<"dist-pack-tiles", "::mlir::func::FuncOp"> {
  let summary = "Finds symmetric buffers whose tiles may lie in any order of elements";
}

def ExpandInboxes : Pass<"dist-expand-inboxes", "::mlir::func::FuncOp"> {
  let summary = "Turns inboxes into symmetric buffers and signals";
  let dependentDialects = ["::ditron::core::TileDialect", "::mlir::arith::ArithDialect"];
}

def FormTeam : Pass<"dist-form-team", "::mlir::func::FuncOp"> {
  let summary = "Makes a kernel of all ranks one of the ranks along an axis of the mesh";
  let options = [Option<"axis", "axis", "std::string", "\"local\"", "the axis">];
}

def ResolveMesh : Pass<"dist-resolve-mesh", "::mlir::func::FuncOp"> {
  let summary = "Computes places along the axes of a mesh from the number of the rank";
  let options = [Option<"mesh", "mesh", "std::string", "\"\"", "extents of axes: row=2,col=2">,
                 Option<"ranks", "ranks", "int64_t", "0", "how many there are; 0: any number">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MarkTiles : Pass<"dist-mark-tiles", "::mlir::func::FuncOp"> {
  let summary = "Notes in the timeline which tile each core works on";
}

def PrintTileAccess : Pass<"dist-print-tile-access", "::mlir::func::FuncOp"> {
  let summary = "Remarks at each access which part of which buffer it is";
  let description = [{
    What device/TileAccess.h tells of a kernel, for people and tests.
  }];
}

def DealTiles : Pass<"dist-deal-tiles", "::mlir::func::FuncOp"> {
  let summary = "Turns loops over tiles into loops over the tiles of this core";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif
