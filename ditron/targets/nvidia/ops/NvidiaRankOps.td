// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of kernels of several ranks, a part of NvidiaOps.td, which includes this file.
// `launch` is what a kernel of several ranks knows of its launch: the last arguments of the function,
// in the order of support/GpuLaunch.h.
#ifndef DITRON_NVIDIA_NVIDIARANKOPS
#define DITRON_NVIDIA_NVIDIARANKOPS

def Nvidia_EpochOp : Nvidia_Op<"epoch", [Pure]> {
  let summary = "The number of the running launch of this workspace: 1, 2, 3, ...";
  let description = [{
    Example:
    ```mlir
    %e = nvidia.epoch %head
    ```
  }];
  let arguments = (ins Index:$head);
  let results = (outs Index:$number);
  let assemblyFormat = "$head attr-dict";
}

def Nvidia_ShiftOp : Nvidia_Op<"shift", [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "The same view so many bytes further: another page of it, or a peer's";
  let description = [{
    `page` says which one, where that is what it is of an argument.

    Example:
    ```mlir
    %theirs = nvidia.shift %full by %bytes
        : memref<?xf16, strided<[?], offset: ?>> -> memref<?xf16, strided<[?], offset: ?>>
    %second = nvidia.shift %full by %bytes page %one
        : memref<?xf16, strided<[?], offset: ?>> -> memref<?xf16, strided<[?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_View:$source, Index:$bytes, Optional<Index>:$page);
  let results = (outs Tile_View:$result);
  let assemblyFormat = "$source `by` $bytes (`page` $page^)? attr-dict `:` type($source) `->` type($result)";
}

def Nvidia_BeginOp : Nvidia_Op<"begin", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Begins a launch: the one before the last is over on every rank; its signals are zero again";
  let description = [{
    All warps of the core execute it.

    Example:
    ```mlir
    nvidia.begin(%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$launch);
  let assemblyFormat = "`(` $launch `)` attr-dict `:` type($launch)";
}

def Nvidia_EndOp : Nvidia_Op<"end", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Ends a launch: the last core of the rank to come says so to every rank";
  let description = [{
    Example:
    ```mlir
    nvidia.end(%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$launch);
  let assemblyFormat = "`(` $launch `)` attr-dict `:` type($launch)";
}

def Nvidia_AbortOp : Nvidia_Op<"abort", [MemoryEffects<[MemWrite]>]> {
  let summary = "This thread tells every rank that the launch has failed";
  let description = [{
    Example:
    ```mlir
    nvidia.abort(%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$launch);
  let assemblyFormat = "`(` $launch `)` attr-dict `:` type($launch)";
}

def Nvidia_WaitOp : Nvidia_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until a counter of this rank is so high: acquire";
  let description = [{
    Bounded: a wait that outlives its bound is noted, ends the launch on every rank and returns, as
    every wait does from then on. `site` is its number among the waits that reports name, `scope`
    how far away the notifies that it acquires are.

    Example:
    ```mlir
    nvidia.wait %cell for %n site 0 scope "sys" in (%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Index:$cell, Index:$value, I64Attr:$site, StrAttr:$scope, Variadic<AnyType>:$launch);
  let assemblyFormat = "$cell `for` $value `site` $site `scope` $scope `in` `(` $launch `)` attr-dict `:` type($launch)";
  let hasVerifier = 1;
}

def Nvidia_NotifyOp : Nvidia_Op<"notify", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Raises a counter, which may be a peer's: release of all that the core did before";
  let description = [{
    `mode` is what is done to the counter: "add" or "max".

    Example:
    ```mlir
    nvidia.notify %cell "add" %n scope "sys"
    ```
  }];
  let arguments = (ins Index:$cell, StrAttr:$mode, Index:$value, StrAttr:$scope);
  let assemblyFormat = "$cell $mode $value `scope` $scope attr-dict";
  let hasVerifier = 1;
}

def Nvidia_MoveOp : Nvidia_Op<"move", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies a chunk by the threads of the core";
  let description = [{
    Reads what the core wrote before. With `complete`, what follows may read the destination.

    Example:
    ```mlir
    nvidia.move %from to %to complete
        : memref<?xf16, strided<[?], offset: ?>>, memref<?xf16, strided<[?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_View:$source, Tile_View:$destination, UnitAttr:$complete);
  let assemblyFormat = "$source `to` $destination (`complete` $complete^)? attr-dict `:` type($source) `,` type($destination)";
}

def Nvidia_MeetOp : Nvidia_Op<"meet", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "So many cores of this rank meet, and with them, if so asked, those of every rank";
  let description = [{
    `cells` is the address of two counters that nothing else uses. Release before, acquire after.

    Example:
    ```mlir
    nvidia.meet %cells of %count ranks site 1 in (%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Index:$cells, Index:$count, UnitAttr:$ranks, I64Attr:$site, Variadic<AnyType>:$launch);
  let assemblyFormat = "$cells `of` $count (`ranks` $ranks^)? `site` $site `in` `(` $launch `)` attr-dict `:` type($launch)";
}

def Nvidia_SyncOp : Nvidia_Op<"sync", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "All that the core wrote is seen by its own threads, or everywhere";
  let description = [{
    `scope` is "cta" for the core's threads, which then meet; "gpu" or "sys" for those of the rank or
    of every rank too.

    Example:
    ```mlir
    nvidia.sync "sys"
    ```
  }];
  let arguments = (ins StrAttr:$scope);
  let assemblyFormat = "$scope attr-dict";
  let hasVerifier = 1;
}

#endif
