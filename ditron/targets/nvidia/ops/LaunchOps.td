// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel says beyond itself: to the launches in front of it and behind it, and notifies that it leaves to an
// idle warp.
#ifndef DITRON_NVIDIA_LAUNCHOPS
#define DITRON_NVIDIA_LAUNCHOPS

include "ditron/targets/nvidia/ops/NvidiaDialect.td"

//===-- Launches ------------------------------------------------------------------------------===//

def Nvidia_GridDependencyWaitOp : Nvidia_Op<"grid_dependency_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Programmatic dependent launch: waits for the launches before this one, and lets the next one begin";
  let description = [{
    What earlier launches wrote is seen from here on. The next launch of the stream may begin when all
    CTAs of this one have come here, if it waits here too; with `only`, not yet: see
    nvidia.grid_dependency_release.

    Example:
    ```mlir
    nvidia.grid_dependency_wait
    nvidia.grid_dependency_wait only
    ```
  }];
  let arguments = (ins UnitAttr:$only);
  let assemblyFormat = "(`only` $only^)? attr-dict";
}

def Nvidia_GridDependencyReleaseOp : Nvidia_Op<"grid_dependency_release", [MemoryEffects<[MemWrite]>]> {
  let summary = "Programmatic dependent launch: the next launch may begin when all CTAs have come here";
  let description = [{
    Example:
    ```mlir
    nvidia.grid_dependency_release
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===-- Deferred notifies ---------------------------------------------------------------------===//

def Nvidia_OutboxType : TypeDef<Nvidia_Dialect, "Outbox"> {
  let mnemonic = "outbox";
  let summary = "Notifies that the consumer hands to another thread";
}

def Nvidia_OutboxOp : Nvidia_Op<"outbox", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "Makes an outbox, for all warps of the CTA";
  let description = [{
    Example:
    ```mlir
    %outbox = nvidia.outbox : !nvidia.outbox
    ```
  }];
  let results = (outs Nvidia_OutboxType:$outbox);
  let assemblyFormat = "attr-dict `:` qualified(type($outbox))";
}

def Nvidia_PostOp : Nvidia_Op<"post", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "All consumer warps hand a notify to the notifier";
  let description = [{
    The notifier will add `value` to the counter at the address `cell`, behind all that the consumer
    has done before. The consumer goes on at once, unless the notifier is some posts behind.

    Example:
    ```mlir
    nvidia.post %outbox, %cell, %value
    ```
  }];
  let arguments = (ins Nvidia_OutboxType:$outbox, Index:$cell, Index:$value);
  let assemblyFormat = "$outbox `,` $cell `,` $value attr-dict";
}

def Nvidia_PostMoveOp : Nvidia_Op<"post_move", [AttrSizedOperandSegments,
                                                 MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "All consumer warps hand the copy of a packed tile to the notifier";
  let description = [{
    The consumer has stored the tile at the source. The notifier will copy it to the destination, before it makes what is
    posted later. `several`: how many posts in a row are of this tile, which is read once for them.

    Example:
    ```mlir
    nvidia.post_move %outbox, %staged[%s, %i, %j] to %theirs[%rank, %i, %j] of tensor<128x256xbf16>
        : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>>, memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins Nvidia_OutboxType:$outbox, Tile_View:$source, Variadic<Index>:$from,
      Tile_View:$destination, Variadic<Index>:$to, TypeAttrOf<AnyRankedTensor>:$tile,
      DefaultValuedAttr<I64Attr, "1">:$several);
  let assemblyFormat = [{
    $outbox `,` $source `[` $from `]` `to` $destination `[` $to `]` `of` $tile attr-dict
    `:` type($source) `,` type($destination)
  }];
}

def Nvidia_PostMarkOp : Nvidia_Op<"post_mark", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "All consumer warps post nothing: a later nvidia.flush waits until the notifier has come here";
  let description = [{
    Example:
    ```mlir
    nvidia.post_mark %outbox
    ```
  }];
  let arguments = (ins Nvidia_OutboxType:$outbox);
  let assemblyFormat = "$outbox attr-dict";
}

def Nvidia_FlushOp : Nvidia_Op<"flush", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The consumer waits until the notifier has made all that was posted";
  let description = [{
    Example:
    ```mlir
    nvidia.flush %outbox
    ```
  }];
  let arguments = (ins Nvidia_OutboxType:$outbox);
  let assemblyFormat = "$outbox attr-dict";
}

def Nvidia_CloseOp : Nvidia_Op<"close", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The consumer posts nothing more, and the notifier ends";
  let description = [{
    Example:
    ```mlir
    nvidia.close %outbox
    ```
  }];
  let arguments = (ins Nvidia_OutboxType:$outbox);
  let assemblyFormat = "$outbox attr-dict";
}

def Nvidia_WarpMoveOp : Nvidia_Op<"warp_move", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies a chunk by the lanes of this warp";
  let description = [{
    Example:
    ```mlir
    nvidia.warp_move %from to %to
        : memref<?xf16, strided<[?], offset: ?>>, memref<?xf16, strided<[?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_View:$source, Tile_View:$destination);
  let assemblyFormat = "$source `to` $destination attr-dict `:` type($source) `,` type($destination)";
}

def Nvidia_WarpNotifyOp : Nvidia_Op<"warp_notify", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Adds to a counter, which may be a peer's: release of all that this warp did before";
  let description = [{
    Example:
    ```mlir
    nvidia.warp_notify %cell add %n in "sys"
    ```
  }];
  let arguments = (ins Index:$cell, Index:$value, StrAttr:$scope);
  let assemblyFormat = "$cell `add` $value `in` $scope attr-dict";
}

def Nvidia_NotifyPostsOp : Nvidia_Op<"notify_posts", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The notifier makes what is posted, in order, until the outbox is closed";
  let description = [{
    Each notify is a release in `scope`. With `moves`, a warp does it, and copies tiles.

    Example:
    ```mlir
    nvidia.notify_posts %outbox in "sys"
    ```
  }];
  let arguments = (ins Nvidia_OutboxType:$outbox, StrAttr:$scope, UnitAttr:$moves);
  let assemblyFormat = "$outbox `in` $scope (`moves` $moves^)? attr-dict";
}

#endif
