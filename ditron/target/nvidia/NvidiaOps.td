// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes of this backend say to one another: tiles of shared memory that are filled ahead of
// their use, by all threads (rings) or by a warp that does nothing else (pipes), and products that
// are under way while the program goes on. No program has these ops; they live between
// nvidia-pipeline-loads and nvidia-tiles-to-threads.
#ifndef DITRON_NVIDIA_NVIDIAOPS
#define DITRON_NVIDIA_NVIDIAOPS

include "ditron/core/TileTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Nvidia_Dialect : Dialect {
  let name = "nvidia";
  let summary = "Tiles under way to shared memory and products, between passes of the NVIDIA backend";
  let cppNamespace = "::ditron::nvidia";
  let useDefaultTypePrinterParser = 1;
}

def Nvidia_RingType : TypeDef<Nvidia_Dialect, "Ring"> {
  let mnemonic = "ring";
  let summary = "Slots of shared memory for tiles of one type";
  let parameters = (ins "int64_t":$slots, "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $slots `of` $tile `>`";
}

class Nvidia_Op<string opMnemonic, list<Trait> traits = []> : Op<Nvidia_Dialect, opMnemonic, traits>;

def Nvidia_RingOp : Nvidia_Op<"ring", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Allocates the slots of a ring";
  let description = [{
    Example:
    ```mlir
    %ring = nvidia.ring : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let results = (outs Nvidia_RingType:$ring);
  let assemblyFormat = "attr-dict `:` type($ring)";
}

def Nvidia_CopyOp : Nvidia_Op<"copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Begins to copy a tile of a view into a slot, if a condition holds";
  let description = [{
    Coordinates as in tile.load; beyond the view, zeros. Done after the nvidia.await that covers its
    group: what this thread begins until the next nvidia.commit.

    Example:
    ```mlir
    nvidia.copy %A[%i, %k] to %ring[%slot] if %more
        : memref<?x?xbf16, strided<[?, ?], offset: ?>>, <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, Nvidia_RingType:$ring, Index:$slot, I1:$condition);
  let assemblyFormat = "$view `[` $coords `]` `to` $ring `[` $slot `]` `if` $condition attr-dict `:` type($view) `,` type($ring)";
}

def Nvidia_CommitOp : Nvidia_Op<"commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "Ends a group of copies";
  let description = [{
    Example:
    ```mlir
    nvidia.commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Nvidia_AwaitOp : Nvidia_Op<"await", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until at most so many groups are under way, and for all threads of the core";
  let description = [{
    Afterwards every thread sees the tiles of the groups before, and has finished with what it read.

    Example:
    ```mlir
    nvidia.await 2
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Nvidia_SlotOp : Nvidia_Op<"slot", [MemoryEffects<[MemRead]>]> {
  let summary = "The tile in a slot";
  let description = [{
    Example:
    ```mlir
    %a = nvidia.slot %ring[%slot] : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
           -> tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>
    ```
  }];
  let arguments = (ins Nvidia_RingType:$ring, Index:$slot);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = "$ring `[` $slot `]` attr-dict `:` type($ring) `->` type($tile)";
}

//===-- Roles ---------------------------------------------------------------------------------===//

def Nvidia_PipeType : TypeDef<Nvidia_Dialect, "Pipe"> {
  let mnemonic = "pipe";
  let summary = "Slots of shared memory, one tile of each type in each, on their way from one role to another";
  let parameters = (ins "int64_t":$slots, ArrayRefParameter<"::mlir::RankedTensorType">:$tiles);
  let assemblyFormat = "`<` $slots `of` $tiles `>`";
}

def Nvidia_PipeOp : Nvidia_Op<"pipe", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "Allocates a pipe, for all warps of the core";
  let description = [{
    The slots go round in order. Each has two mbarriers: one completes when its tiles are there, one
    when every warp that computes has released it.

    Example:
    ```mlir
    %pipe = nvidia.pipe : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let results = (outs Nvidia_PipeType:$pipe);
  let assemblyFormat = "attr-dict `:` type($pipe)";
}

def Nvidia_RolesOp : Nvidia_Op<"roles", [RecursiveMemoryEffects, NoTerminator]> {
  let summary = "What one thread does that feeds the others, and what they do";
  let description = [{
    The first region is executed by one thread of warps that come behind those of the kernel, the
    second by the kernel's warps.

    Example:
    ```mlir
    nvidia.roles producer {
      nvidia.commit
    } consumer {
      nvidia.await 0
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$producer, SizedRegion<1>:$consumer);
  let assemblyFormat = "`producer` $producer `consumer` $consumer attr-dict";
}

def Nvidia_AcquireOp : Nvidia_Op<"acquire", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The producer's next slot, once all have released it";
  let description = [{
    Afterwards each tile of the slot is to be fetched once.

    Example:
    ```mlir
    %slot = nvidia.acquire %pipe : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let arguments = (ins Nvidia_PipeType:$pipe);
  let results = (outs Index:$slot);
  let assemblyFormat = "$pipe attr-dict `:` type($pipe)";
}

def Nvidia_FetchOp : Nvidia_Op<"fetch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Has the copy engine bring a tile of a view into a slot";
  let description = [{
    Coordinates as in tile.load, of tiles of `shape`; beyond the view, zeros. `map` describes the
    view's memory and the tile's panels to the copy engine; `tile` is the number of the tile in the
    slot, which may be wider than `shape`, and then has what lies next to it.

    Example:
    ```mlir
    nvidia.fetch %A[%i, %k] by %map to %pipe[%slot] tile 0 shape [128, 64]
        : memref<?x?xbf16, strided<[?, ?], offset: ?>>, !llvm.ptr, <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, AnyType:$map, Nvidia_PipeType:$pipe, Index:$slot, I64Attr:$tile, DenseI64ArrayAttr:$shape);
  let assemblyFormat = "$view `[` $coords `]` `by` $map `to` $pipe `[` $slot `]` `tile` $tile `shape` $shape attr-dict `:` type($view) `,` type($map) `,` type($pipe)";
}

def Nvidia_DeliverOp : Nvidia_Op<"deliver", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Has the copy engine write a tile of accumulators to a view, as tile.store does";
  let description = [{
    The threads go on when the tile has left their registers; the copies are done when the kernel
    ends. `map` describes the view's memory and blocks of 64 rows of 128 bytes to the copy engine.

    Example:
    ```mlir
    nvidia.deliver %c to %C[%i, %j] by %map
        : tensor<64x64xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>, !llvm.ptr
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_View:$view, Variadic<Index>:$coords, AnyType:$map);
  let assemblyFormat = "$tile `to` $view `[` $coords `]` `by` $map attr-dict `:` type($tile) `,` type($view) `,` type($map)";
}

def Nvidia_ReceiveOp : Nvidia_Op<"receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The tiles of the next slot, once they are there";
  let description = [{
    Example:
    ```mlir
    %a = nvidia.receive %pipe : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
           -> tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>
    ```
  }];
  let arguments = (ins Nvidia_PipeType:$pipe);
  let results = (outs Variadic<Tile_Tile>:$tiles);
  let assemblyFormat = "$pipe attr-dict `:` type($pipe) `->` type($tiles)";
}

def Nvidia_ReleaseOp : Nvidia_Op<"release", [MemoryEffects<[MemWrite]>]> {
  let summary = "This warp has finished with the oldest slot that it has not released, if a condition holds";
  let description = [{
    Example:
    ```mlir
    nvidia.release %pipe if %more : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let arguments = (ins Nvidia_PipeType:$pipe, I1:$condition);
  let assemblyFormat = "$pipe `if` $condition attr-dict `:` type($pipe)";
}

//===-- Products under way --------------------------------------------------------------------===//

def Nvidia_MultiplyOp : Nvidia_Op<"multiply", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "Begins a product of tiles in shared memory, by warpgroups";
  let description = [{
    As tile.dot. Until an nvidia.settle that covers it, the result may only go into the next product,
    and the operands stay in use.

    Example:
    ```mlir
    %d = nvidia.multiply %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Tile:$acc);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def Nvidia_SettleOp : Nvidia_Op<"settle", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until at most so many of this warp's products are under way";
  let description = [{
    The results are the values, which may be read from here on if none of their products is.

    Example:
    ```mlir
    nvidia.settle 1
    %r = nvidia.settle 0 of %d : tensor<64x64xf32> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins I64Attr:$pending, Variadic<Tile_Tile>:$values);
  let results = (outs Variadic<Tile_Tile>:$settled);
  let assemblyFormat = "$pending (`of` $values^ `:` type($values) `->` type($settled))? attr-dict";
}

#endif
