// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles of warps: the pipes between them, the numbers they tell one another, and their order.
#ifndef DITRON_NVIDIA_ROLEOPS
#define DITRON_NVIDIA_ROLEOPS

include "ditron/targets/nvidia/ops/NvidiaDialect.td"

//===-- Roles ---------------------------------------------------------------------------------===//

def Nvidia_PipeType : TypeDef<Nvidia_Dialect, "Pipe"> {
  let mnemonic = "pipe";
  let summary = "Slots of shared memory, each with one tile of each type, from the producer to the consumer";
  let description = [{
    With several `ctas`, a TMA load may multicast a tile to all CTAs of a cluster: a slot is free
    when all of them have released theirs.
  }];
  let parameters = (ins "int64_t":$slots, ArrayRefParameter<"::mlir::RankedTensorType">:$tiles,
                        DefaultValuedParameter<"int64_t", "1">:$ctas);
  let assemblyFormat = "`<` $slots `of` $tiles (`for` $ctas^)? `>`";
  let genVerifyDecl = 1;
}

def Nvidia_PipeOp : Nvidia_Op<"pipe", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "Allocates a pipe, for all warps of the CTA";
  let description = [{
    The slots go round in order. Each has two mbarriers: one completes when its tiles are there, one
    when every consumer warp has released it. With `leaving`, consumers may leave the kernel where the
    producer waits for them: nvidia.leave. With `rows`, a number for each tile, TMA brings that
    many of its first rows; those behind them are zero in all slots from the beginning on.

    Example:
    ```mlir
    %pipe = nvidia.pipe : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    %few = nvidia.pipe rows(%n) : <4 of tensor<64x64xbf16, #tile.layout<"(4096 : 1@m)">>>
    %rows = nvidia.pipe leaving : <10 of tensor<16384xi8>>
    ```
  }];
  let arguments = (ins Variadic<Index>:$rows, UnitAttr:$leaving);
  let results = (outs Nvidia_PipeType:$pipe);
  let assemblyFormat = "(`leaving` $leaving^)? (`rows` `(` $rows^ `)`)? attr-dict `:` type($pipe)";
  let hasVerifier = 1;
}

def Nvidia_LeaveOp : Nvidia_Op<"leave", [MemoryEffects<[MemWrite]>]> {
  let summary = "This thread leaves the kernel, as all consumers do: the producer of the pipe is to do so, too";
  let description = [{
    Example:
    ```mlir
    nvidia.leave %rows : <10 of tensor<16384xi8>>
    ```
  }];
  let arguments = (ins Nvidia_PipeType:$pipe);
  let assemblyFormat = "$pipe attr-dict `:` type($pipe)";
}

def Nvidia_RolesOp : Nvidia_Op<"roles", [RecursiveMemoryEffects, NoTerminator]> {
  let summary = "The code of the producer and that of the consumer warps";
  let description = [{
    The first region is executed by one thread of warps that come behind those of the kernel, or by all
    lanes of its warp where they load rows (nvidia.load_rows), the second by the kernel's warps. A third
    one, if it is there, is executed by a thread of the producer's next warp.

    Example:
    ```mlir
    nvidia.roles producer {
      simt.commit
    } consumer {
      simt.await 0
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$producer, SizedRegion<1>:$consumer,
                 MaxSizedRegion<1>:$notifier);
  let assemblyFormat =
      "`producer` $producer `consumer` $consumer (`notifier` $notifier^)? attr-dict";
}

def Nvidia_AcquireOp : Nvidia_Op<"acquire", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The producer's next slot, once all have released it";
  let description = [{
    Afterwards each tile of the slot is loaded once. Of a slot that was filled ahead, `ahead` bytes are
    there or on their way.

    Example:
    ```mlir
    %slot = nvidia.acquire %pipe : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let arguments = (ins Nvidia_PipeType:$pipe, OptionalAttr<I64Attr>:$ahead);
  let results = (outs Index:$slot);
  let assemblyFormat = "$pipe (`ahead` $ahead^)? attr-dict `:` type($pipe)";
}

def Nvidia_AheadOp : Nvidia_Op<"ahead", [SingleBlock, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "What the producer's thread does before launches in front of this one are waited for";
  let description = [{
    It fills slots of a pipe with what no launch writes. See nvidia.grid_dependency_wait. With `consumers`, all
    of these do it instead, and ask for tiles.

    Example:
    ```mlir
    nvidia.ahead {
      %slot = nvidia.expect %pipe bytes 8192 : <4 of tensor<64x64xbf16, #tile.layout<"(4096 : 1@m)">>>
    }
    ```
  }];
  let arguments = (ins UnitAttr:$consumers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`consumers` $consumers^)? $body attr-dict";
}

def Nvidia_PrefetchMapsOp : Nvidia_Op<"prefetch_maps", [MemoryEffects<[MemWrite]>]> {
  let summary = "The producer's thread has TMA read tensor maps, which no launch writes";
  let description = [{
    In the role of the producer, or in front of the roles.

    Example:
    ```mlir
    nvidia.prefetch_maps %mapA, %mapB : !llvm.ptr, !llvm.ptr
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$maps);
  let assemblyFormat = "$maps attr-dict `:` type($maps)";
}

def Nvidia_ExpectOp : Nvidia_Op<"expect", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The next slot that is filled ahead: `bytes` of it come before it is acquired";
  let description = [{
    Slots are filled ahead from the first one on, each once, no more than there are.

    Example:
    ```mlir
    %slot = nvidia.expect %pipe bytes 8192 : <4 of tensor<64x64xbf16, #tile.layout<"(4096 : 1@m)">>>
    ```
  }];
  let arguments = (ins Nvidia_PipeType:$pipe, I64Attr:$bytes);
  let results = (outs Index:$slot);
  let assemblyFormat = "$pipe `bytes` $bytes attr-dict `:` type($pipe)";
}

def Nvidia_TmaLoadOp : Nvidia_Op<"tma_load", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Loads a tile of a view into a slot by TMA";
  let description = [{
    Coordinates as in tile.load, of tiles of `shape`; zeros where the tile begins outside of the view,
    and beyond the argument that the view is part of. A tile that begins in the view but goes on
    beyond it has there what the argument has: see nvidia.clip. `map` describes the
    argument's memory and the tile's panels to TMA, with the pages of symmetric memory as
    one dimension more, of which `page` says which; `tile` is the number of the tile in the slot,
    which may be wider than `shape`, and then has what lies next to it. A tile that is `shared` is
    the same for all CTAs of the cluster: each loads its part of the rows and multicasts it. One that is
    `unless_ahead` is not loaded again where it has come ahead. Where a tile has fewer `rows` in its view
    than it is high, any number of them, boxes of 16 rows bring these, by a map of their own. What lies
    behind the last box stays as it is in the slot.

    Example:
    ```mlir
    nvidia.tma_load %A[%i, %k] by %map to %pipe[%slot] tile 0 shape [128, 64]
        : memref<?x?xbf16, strided<[?, ?], offset: ?>>, !llvm.ptr, <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, AnyType:$map, Nvidia_PipeType:$pipe, Index:$slot, I64Attr:$tile, DenseI64ArrayAttr:$shape,
                       Optional<Index>:$page, Optional<Index>:$rows, Optional<AnyType>:$partMap, UnitAttr:$shared, UnitAttr:$unlessAhead);
  let assemblyFormat = [{ $view `[` $coords `]` (`page` $page^)? `by` $map `to` $pipe `[` $slot `]` `tile` $tile `shape` $shape
                          (`shared` $shared^)? (`unless_ahead` $unlessAhead^)? (`rows` $rows^ `by` $partMap)? attr-dict
                          `:` type($view) `,` type($map) `,` type($pipe) (`,` type($partMap)^)? }];
  let hasVerifier = 1;
}

def Nvidia_TmaStoreOp : Nvidia_Op<"tma_store", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Stores a tile of accumulators to a view by TMA, as tile.store does";
  let description = [{
    The threads go on when the tile has left their registers; the copies are done when the kernel
    ends, or at nvidia.complete_stores. `map` describes the view's memory and blocks of 64 rows of
    128 bytes to TMA, with the pages of symmetric memory as one dimension more, of which `page` says
    which.

    Example:
    ```mlir
    nvidia.tma_store %c to %C[%i, %j] by %map
        : tensor<64x64xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>, !llvm.ptr
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_View:$view, Variadic<Index>:$coords, AnyType:$map, Optional<Index>:$page);
  let assemblyFormat = "$tile `to` $view `[` $coords `]` (`page` $page^)? `by` $map attr-dict `:` type($tile) `,` type($view) `,` type($map)";
  let hasVerifier = 1;
}

def Nvidia_CompleteStoresOp : Nvidia_Op<"complete_stores", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until the TMA stores that this thread has issued are complete";
  let description = [{
    What they wrote is then as if the thread had written it: a barrier and a release behind it show
    it to others.

    Example:
    ```mlir
    nvidia.complete_stores
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Nvidia_LoadPackedOp : Nvidia_Op<"load_packed", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The producer loads a packed tile of a view into the next slots";
  let description = [{
    Coordinates as in tile.load, of a packed tile of type `tile` (dist.packed). Each of `parts` slots
    gets an equal run of its bytes by a bulk copy, once all have released the slot. Any tile of the
    view comes instead of one outside of it.

    Example:
    ```mlir
    nvidia.load_packed %view[%i, %j] as tensor<128x64xbf16> to %pipe in 1
        : memref<?x?xbf16, strided<[?, ?], offset: ?>>, <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, TypeAttr:$tile,
                   Nvidia_PipeType:$pipe, I64Attr:$parts);
  let assemblyFormat = [{ $view `[` $coords `]` `as` $tile `to` $pipe `in` $parts attr-dict
                          `:` type($view) `,` type($pipe) }];
  let hasVerifier = 1;
}

def Nvidia_ReceivePackedOp : Nvidia_Op<"receive_packed", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The packed tile in the consumer's next slots, once it is there";
  let description = [{
    Each thread reads its elements, and releases the slots. Zeros instead of a tile outside of the
    view.

    Example:
    ```mlir
    %tile = nvidia.receive_packed %view[%i, %j] from %pipe in 1
        : memref<?x?xbf16, strided<[?, ?], offset: ?>>, <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
        -> tensor<128x64xbf16>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, Nvidia_PipeType:$pipe,
                   I64Attr:$parts);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = [{ $view `[` $coords `]` `from` $pipe `in` $parts attr-dict
                          `:` type($view) `,` type($pipe) `->` type($tile) }];
  let hasVerifier = 1;
}

def Nvidia_LoadRowsOp : Nvidia_Op<"load_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The producer loads a tile of a view into the next slots, row by row";
  let description = [{
    Coordinates as in tile.load, of a tile of type `tile` in registers. Each row is a bulk copy by a lane of the
    producer's warp, of what lies in the view: whole runs of 16 bytes. L2 gives it up before all else. At most
    `ahead` slots are on their way at a time; the others have landed. `hungry`: half as many more are, where consumers have
    taken all that has landed.

    Rows of less than 2 KB lie row-major in a slot, and are one copy where they lie so in memory.

    A tile of more than two dimensions, as of blocks of a matrix, lies in its slot row-major. Where its slices along the
    first dimension are as large as slots, each takes one. Those that lie in one piece in memory are a copy each.

    A slot may have several tiles, one behind the other: this one from byte `at` on, and `more` ops follow for the others.

    Example:
    ```mlir
    nvidia.load_rows %view[%i, %j] as tensor<8x1024xbf16> to %rows ahead 4
        : memref<?x?xbf16, strided<[?, ?], offset: ?>>, <10 of tensor<16384xi8>>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, TypeAttr:$tile,
                   Nvidia_PipeType:$pipe, I64Attr:$ahead, UnitAttr:$hungry,
                   DefaultValuedAttr<I64Attr, "0">:$at, UnitAttr:$more);
  let assemblyFormat = [{ $view `[` $coords `]` `as` $tile `to` $pipe `ahead` $ahead (`hungry` $hungry^)?
                          (`at` $at^)? (`more` $more^)? attr-dict
                          `:` type($view) `,` type($pipe) }];
  let hasVerifier = 1;
}

def Nvidia_AskRowsOp : Nvidia_Op<"ask_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The producer asks L2 for a tile of a view, row by row";
  let description = [{
    Coordinates as in tile.load, of a tile of type `tile` in registers. Nobody waits for it. A tile that lies in one piece
    is one request; of others each row is.

    Example:
    ```mlir
    nvidia.ask_rows %keys[%i, %j] as tensor<64x128xbf16> : memref<?x?xbf16, strided<[?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, TypeAttr:$tile);
  let assemblyFormat = "$view `[` $coords `]` `as` $tile attr-dict `:` type($view)";
  let hasVerifier = 1;
}

def Nvidia_ReceiveRowsOp : Nvidia_Op<"receive_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The tile of rows in the consumer's next slots, once it is there";
  let description = [{
    Each thread reads its elements, and the slots are released. Zeros outside of the view. `at` and `more` as in
    nvidia.load_rows: where more tiles of a slot follow, it is not released yet.

    Example:
    ```mlir
    %tile = nvidia.receive_rows %view[%i, %j] from %rows
        : memref<?x?xbf16, strided<[?, ?], offset: ?>>, <10 of tensor<16384xi8>> -> tensor<8x1024xbf16>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, Nvidia_PipeType:$pipe,
                   DefaultValuedAttr<I64Attr, "0">:$at, UnitAttr:$more);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = [{ $view `[` $coords `]` `from` $pipe (`at` $at^)? (`more` $more^)? attr-dict
                          `:` type($view) `,` type($pipe) `->` type($tile) }];
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
  let summary = "Zeroes a received tile behind the given number of rows";
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

//===-- Numbers between roles -----------------------------------------------------------------===//

def Nvidia_QueueType : TypeDef<Nvidia_Dialect, "Queue"> {
  let mnemonic = "queue";
  let summary = "Slots of shared memory, each with numbers of these types, from the producer to the consumer";
  let parameters = (ins "int64_t":$slots, ArrayRefParameter<"::mlir::Type">:$numbers);
  let assemblyFormat = "`<` $slots `of` $numbers `>`";
  let genVerifyDecl = 1;
}

def Nvidia_QueueOp : Nvidia_Op<"queue", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "Makes a queue, for all warps of the CTA";
  let description = [{
    The slots, a power of two of them, go round in order. Each has two mbarriers: one completes when
    its numbers are there, one when every consumer warp has read them.

    Example:
    ```mlir
    %queue = nvidia.queue : <4 of i32, index>
    ```
  }];
  let results = (outs Nvidia_QueueType:$queue);
  let assemblyFormat = "attr-dict `:` type($queue)";
}

def Nvidia_EnqueueOp : Nvidia_Op<"enqueue", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The producer sends numbers to the consumer, once there is a slot for them";
  let description = [{
    Example:
    ```mlir
    nvidia.enqueue %queue, %part, %first : <4 of i32, index>, i32, index
    ```
  }];
  let arguments = (ins Nvidia_QueueType:$queue, Variadic<AnyType>:$numbers);
  let assemblyFormat = "$queue `,` $numbers attr-dict `:` type($queue) `,` type($numbers)";
  let hasVerifier = 1;
}

def Nvidia_DequeueOp : Nvidia_Op<"dequeue", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The next numbers that the producer has sent, once they are there";
  let description = [{
    All consumer warps receive all numbers.

    Example:
    ```mlir
    %part, %first = nvidia.dequeue %queue : <4 of i32, index> -> i32, index
    ```
  }];
  let arguments = (ins Nvidia_QueueType:$queue);
  let results = (outs Variadic<AnyType>:$numbers);
  let assemblyFormat = "$queue attr-dict `:` type($queue) `->` type($numbers)";
  let hasVerifier = 1;
}

//===-- Order between roles -------------------------------------------------------------------===//

def Nvidia_GateType : TypeDef<Nvidia_Dialect, "Gate"> {
  let mnemonic = "gate";
  let summary = "Where the producer waits for the consumer";
}

def Nvidia_GateOp : Nvidia_Op<"gate", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "Makes a gate, for all warps of the CTA";
  let description = [{
    Example:
    ```mlir
    %gate = nvidia.gate : !nvidia.gate
    ```
  }];
  let results = (outs Nvidia_GateType:$gate);
  let assemblyFormat = "attr-dict `:` qualified(type($gate))";
}

def Nvidia_GateArriveOp : Nvidia_Op<"gate_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The consumer has passed here once more";
  let description = [{
    It waits until the producer has seen that it passed the last time.

    Example:
    ```mlir
    nvidia.gate_arrive %gate : !nvidia.gate
    ```
  }];
  let arguments = (ins Nvidia_GateType:$gate);
  let assemblyFormat = "$gate attr-dict `:` qualified(type($gate))";
}

def Nvidia_GateWaitOp : Nvidia_Op<"gate_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The producer waits until the consumer has passed as often, and sees what that wrote";
  let description = [{
    Example:
    ```mlir
    nvidia.gate_wait %gate : !nvidia.gate
    ```
  }];
  let arguments = (ins Nvidia_GateType:$gate);
  let assemblyFormat = "$gate attr-dict `:` qualified(type($gate))";
}

#endif
