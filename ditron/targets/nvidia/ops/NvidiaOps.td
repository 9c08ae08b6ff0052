// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes of this backend say to one another: tiles of shared memory that a warp fetches which
// does nothing else (pipes), and products that are under way while the program goes on. No program
// has these ops; they live between nvidia-specialize-warps and simt-tiles-to-threads.
#ifndef DITRON_NVIDIA_NVIDIAOPS
#define DITRON_NVIDIA_NVIDIAOPS

include "ditron/core/TileTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

def Nvidia_Dialect : Dialect {
  let name = "nvidia";
  let summary = "Tiles under way to shared memory and products, between passes of the NVIDIA backend";
  let cppNamespace = "::ditron::nvidia";
  let dependentDialects = ["::ditron::gpu::SimtDialect"];
  let useDefaultTypePrinterParser = 1;
}

class Nvidia_Op<string opMnemonic, list<Trait> traits = []> : Op<Nvidia_Dialect, opMnemonic, traits>;

def Nvidia_MemberOp : Nvidia_Op<"member", [Pure]> {
  let summary = "The number of this core among those of its cluster";
  let description = [{
    What does not depend on it is the same for all of them.

    Example:
    ```mlir
    %m = nvidia.member
    ```
  }];
  let results = (outs Index:$number);
  let assemblyFormat = "attr-dict";
}

//===-- Roles ---------------------------------------------------------------------------------===//

def Nvidia_PipeType : TypeDef<Nvidia_Dialect, "Pipe"> {
  let mnemonic = "pipe";
  let summary = "Slots of shared memory, one tile of each type in each, on their way from one role to another";
  let description = [{
    Where there are several `members`, tiles may be fetched for all cores of a cluster: a slot is free
    when all of them have released theirs.
  }];
  let parameters = (ins "int64_t":$slots, ArrayRefParameter<"::mlir::RankedTensorType">:$tiles,
                        DefaultValuedParameter<"int64_t", "1">:$members);
  let assemblyFormat = "`<` $slots `of` $tiles (`for` $members^)? `>`";
  let genVerifyDecl = 1;
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
      simt.commit
    } consumer {
      simt.await 0
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

def Nvidia_FetchOp : Nvidia_Op<"fetch", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Has the copy engine bring a tile of a view into a slot";
  let description = [{
    Coordinates as in tile.load, of tiles of `shape`; zeros where the tile begins outside of the view,
    and beyond the argument that the view is part of. Of a tile that begins in the view but goes on
    beyond it, the rest is what the argument has there: see nvidia.clip. `map` describes the
    argument's memory and the tile's panels to the copy engine, with the pages of symmetric memory as
    one dimension more, of which `page` says which; `tile` is the number of the tile in the slot,
    which may be wider than `shape`, and then has what lies next to it. A tile that is `shared` is
    the same for all cores of the cluster: each fetches its part of the rows for all of them.

    Example:
    ```mlir
    nvidia.fetch %A[%i, %k] by %map to %pipe[%slot] tile 0 shape [128, 64]
        : memref<?x?xbf16, strided<[?, ?], offset: ?>>, !llvm.ptr, <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, AnyType:$map, Nvidia_PipeType:$pipe, Index:$slot, I64Attr:$tile, DenseI64ArrayAttr:$shape,
                       Optional<Index>:$page, UnitAttr:$shared);
  let assemblyFormat = "$view `[` $coords `]` (`page` $page^)? `by` $map `to` $pipe `[` $slot `]` `tile` $tile `shape` $shape (`shared` $shared^)? attr-dict `:` type($view) `,` type($map) `,` type($pipe)";
  let hasVerifier = 1;
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
  let hasVerifier = 1;
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
  let hasVerifier = 1;
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

def Nvidia_ClipOp : Nvidia_Op<"clip", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["tile", "clipped"]>]> {
  let summary = "Makes zero what lies behind so many rows of a tile that was received";
  let description = [{
    Products of this warpgroup that begin afterwards see it. The rows are the tile's as it came;
    any number of them may be asked for.

    Example:
    ```mlir
    %b = nvidia.clip %a to %rows : tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Index:$rows);
  let results = (outs Tile_Tile:$clipped);
  let assemblyFormat = "$tile `to` $rows attr-dict `:` type($tile)";
}

//===-- Products under way --------------------------------------------------------------------===//

def Nvidia_PackOp : Nvidia_Op<"pack", [Pure]> {
  let summary = "A tile in registers as the left side of a product: neighbours in a row as one word";
  let description = [{
    Example:
    ```mlir
    %q = nvidia.pack %p : tensor<64x64xbf16> -> tensor<64x32xi32>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile);
  let results = (outs Tile_Tile:$packed);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($packed)";
}

def Nvidia_MultiplyOp : Nvidia_Op<"multiply", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "Begins a product of tiles, by warpgroups";
  let description = [{
    As tile.dot. The right side is in shared memory; the left one too, or packed in registers. Until
    an nvidia.settle that covers it, the result may only go into the next product, and the operands
    stay in use.

    Example:
    ```mlir
    %d = nvidia.multiply %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Tile:$acc);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
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
  let hasVerifier = 1;
}

def Nvidia_MultiplyAddOp : Nvidia_Op<"multiply_add", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "Adds a product of tiles in shared memory, one part of it after the other, by warpgroups";
  let description = [{
    A part, of 64 rows of each warpgroup and at most so many columns (a multiple of 8), is computed in registers of its
    own and added in f32 when it is done, so the product takes few registers beside the accumulator.
    Nothing is under way afterwards.

    Example:
    ```mlir
    %r = nvidia.multiply_add %a, %b, %acc by 128 : tensor<128x128xf8E4M3FN>, tensor<128x256xf8E4M3FN> -> tensor<128x256xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Tile:$acc, I64Attr:$columns);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc `by` $columns attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def Nvidia_TakeTurnOp : Nvidia_Op<"take_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "This warpgroup waits until the one before it has passed the turn once more";
  let description = [{
    The first warpgroup follows the last one, which passes it the turn when the kernel begins. All
    take turns equally often.

    Example:
    ```mlir
    nvidia.take_turn
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Nvidia_PassTurnOp : Nvidia_Op<"pass_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The next warpgroup may go on: see nvidia.take_turn";
  let description = [{
    Example:
    ```mlir
    nvidia.pass_turn
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===-- Launches ------------------------------------------------------------------------------===//

def Nvidia_FollowLaunchesOp : Nvidia_Op<"follow_launches", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until the launches before this one are done, and lets the next one begin";
  let description = [{
    What was launched before is seen from here on. The next launch of the stream may begin when all
    cores of this one have come here, if it waits here too.

    Example:
    ```mlir
    nvidia.follow_launches
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===-- Numbers between roles -----------------------------------------------------------------===//

def Nvidia_MailboxType : TypeDef<Nvidia_Dialect, "Mailbox"> {
  let mnemonic = "mailbox";
  let summary = "Slots of shared memory, numbers of these types in each, from the role that feeds to the one that computes";
  let parameters = (ins "int64_t":$slots, ArrayRefParameter<"::mlir::Type">:$numbers);
  let assemblyFormat = "`<` $slots `of` $numbers `>`";
  let genVerifyDecl = 1;
}

def Nvidia_MailboxOp : Nvidia_Op<"mailbox", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "Makes a mailbox, for all warps of the core";
  let description = [{
    The slots, a power of two of them, go round in order. Each has two mbarriers: one completes when
    its numbers are there, one when every warp that computes has read them.

    Example:
    ```mlir
    %box = nvidia.mailbox : <4 of i32, index>
    ```
  }];
  let results = (outs Nvidia_MailboxType:$mailbox);
  let assemblyFormat = "attr-dict `:` type($mailbox)";
}

def Nvidia_TellOp : Nvidia_Op<"tell", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The feeding role tells the other one numbers, once there is a slot for them";
  let description = [{
    Example:
    ```mlir
    nvidia.tell %box, %part, %first : <4 of i32, index>, i32, index
    ```
  }];
  let arguments = (ins Nvidia_MailboxType:$mailbox, Variadic<AnyType>:$numbers);
  let assemblyFormat = "$mailbox `,` $numbers attr-dict `:` type($mailbox) `,` type($numbers)";
  let hasVerifier = 1;
}

def Nvidia_HearOp : Nvidia_Op<"hear", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The next numbers that the feeding role told, once they are there";
  let description = [{
    All warps of the role hear all that is told.

    Example:
    ```mlir
    %part, %first = nvidia.hear %box : <4 of i32, index> -> i32, index
    ```
  }];
  let arguments = (ins Nvidia_MailboxType:$mailbox);
  let results = (outs Variadic<AnyType>:$numbers);
  let assemblyFormat = "$mailbox attr-dict `:` type($mailbox) `->` type($numbers)";
  let hasVerifier = 1;
}

//===-- Order between roles -------------------------------------------------------------------===//

def Nvidia_GateType : TypeDef<Nvidia_Dialect, "Gate"> {
  let mnemonic = "gate";
  let summary = "Where the role that feeds waits for the one that computes";
}

def Nvidia_GateOp : Nvidia_Op<"gate", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "Makes a gate, for all warps of the core";
  let description = [{
    Example:
    ```mlir
    %gate = nvidia.gate : !nvidia.gate
    ```
  }];
  let results = (outs Nvidia_GateType:$gate);
  let assemblyFormat = "attr-dict `:` qualified(type($gate))";
}

def Nvidia_OpenOp : Nvidia_Op<"open", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The computing role has passed here once more";
  let description = [{
    Example:
    ```mlir
    nvidia.open %gate : !nvidia.gate
    ```
  }];
  let arguments = (ins Nvidia_GateType:$gate);
  let assemblyFormat = "$gate attr-dict `:` qualified(type($gate))";
}

def Nvidia_FollowOp : Nvidia_Op<"follow", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The feeding role goes on once the computing one has passed as often, and sees what that wrote";
  let description = [{
    Example:
    ```mlir
    nvidia.follow %gate : !nvidia.gate
    ```
  }];
  let arguments = (ins Nvidia_GateType:$gate);
  let assemblyFormat = "$gate attr-dict `:` qualified(type($gate))";
}

#endif
