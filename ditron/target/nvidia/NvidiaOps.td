// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes of this backend say to one another: tiles of shared memory that are filled ahead of
// their use. No program has these ops; they live between nvidia-pipeline-loads and
// nvidia-tiles-to-threads.
#ifndef DITRON_NVIDIA_NVIDIAOPS
#define DITRON_NVIDIA_NVIDIAOPS

include "ditron/core/TileTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Nvidia_Dialect : Dialect {
  let name = "nvidia";
  let summary = "Rings of tiles in shared memory, between passes of the NVIDIA backend";
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

#endif
