// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What CTAs and ranks say to one another. `launch` is what a kernel of several ranks knows of its launch: the last
// arguments of the function, in the order of abi/LaunchWords.h.
#ifndef DITRON_GPU_RANKOPS
#define DITRON_GPU_RANKOPS

include "ditron/targets/gpu/ops/SimtDialect.td"

def Simt_EpochOp : Simt_Op<"epoch", [Pure]> {
  let summary = "The number of the running launch of this workspace: 1, 2, 3, ...";
  let description = [{
    Example:
    ```mlir
    %e = simt.epoch %head
    ```
  }];
  let arguments = (ins Index:$head);
  let results = (outs Index:$number);
  let assemblyFormat = "$head attr-dict";
}

def Simt_BeginOp : Simt_Op<"begin", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Begins a launch: the one before the last is over on every rank; its signals are zero again";
  let description = [{
    All warps of the CTA execute it.

    Example:
    ```mlir
    simt.begin(%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$launch);
  let assemblyFormat = "`(` $launch `)` attr-dict `:` type($launch)";
}

def Simt_EndOp : Simt_Op<"end", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Ends a launch: the last CTA of the rank to come says so to every rank";
  let description = [{
    With `copies`, the kernel has roles of copy engines: then it first waits until those of all ranks
    are through with this rank, clears the `counters` of copy engines, and gives each rank the credit to write here again. Counters are the address of the first and
    how many there are. `boxes` as in simt.arrive.

    Example:
    ```mlir
    simt.end(%status, %rank) : !llvm.ptr, index
    simt.end(%status, %rank) copies(3) counters(%cells, %count) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$launch, OptionalAttr<I64Attr>:$copies,
                       Variadic<Index>:$counters, Variadic<Index>:$boxes);
  let assemblyFormat = [{ `(` $launch `)` (`copies` `(` $copies^ `)`)? (`counters` `(` $counters^ `)`)?
                          (`boxes` `(` $boxes^ `)`)? attr-dict `:` type($launch) }];
}

def Simt_ReleaseCopiesOp : Simt_Op<"release_copies", [MemoryEffects<[MemRead, MemWrite]>,
                                                      AttrSizedOperandSegments]> {
  let summary = "Gives this rank's copy engines all that they wait for, if the launch has failed";
  let description = [{
    The first thread of a CTA does so, where it finds the launch failed; with `failed` this thread, which
    knows it. `awaited`: the counters for which they wait, as in simt.end.

    Example:
    ```mlir
    simt.release_copies(%status, %rank) awaited(%cells, %count) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$launch, Variadic<Index>:$awaited, UnitAttr:$failed);
  let assemblyFormat = [{ (`failed` $failed^)? `(` $launch `)` (`awaited` `(` $awaited^ `)`)? attr-dict
                          `:` type($launch) }];
}

def Simt_OpenOp : Simt_Op<"open", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Begins a launch whose ranks exchange nothing but tiles in inboxes";
  let description = [{
    In the place of simt.begin, which has more to do. The result is what this thread knows of how far a
    rank is, for simt.send; nothing waits for it before. All warps of the CTA execute it.

    Example:
    ```mlir
    %e = simt.epoch %head
    %notes = simt.open %e in (%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Index:$epoch, Variadic<AnyType>:$launch);
  let results = (outs I64:$notes);
  let assemblyFormat = "$epoch `in` `(` $launch `)` attr-dict `:` type($launch)";
}

def Simt_ArriveOp : Simt_Op<"arrive", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Counts this CTA among those that know the epoch, in a launch that simt.open began";
  let description = [{
    The rank says here to all that the launch before `epoch` is over: at the end of that one it would take
    a trip of its own. The result is for simt.close, and nothing waits for it before. `boxes` are the
    address of an inbox in the first page and its words of 32 bits, for each. All threads that compute
    meet.

    Example:
    ```mlir
    %before = simt.arrive %e boxes(%address, %words) in (%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Index:$epoch, Variadic<Index>:$boxes, Variadic<AnyType>:$launch);
  let results = (outs I32:$before);
  let assemblyFormat = [{ $epoch (`boxes` `(` $boxes^ `)`)? `in` `(` $launch `)` attr-dict
                          `:` type($launch) }];
}

def Simt_CloseOp : Simt_Op<"close", [MemoryEffects<[MemWrite]>]> {
  let summary = "Ends a launch that simt.open began: the last CTA that arrived counts it";
  let description = [{
    Example:
    ```mlir
    simt.close %e after %before in (%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Index:$epoch, I32:$before, Variadic<AnyType>:$launch);
  let assemblyFormat = "$epoch `after` $before `in` `(` $launch `)` attr-dict `:` type($launch)";
}

def Simt_SendOp : Simt_Op<"send", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Writes a tile into a slot of an inbox: packets with the flag of the launch";
  let description = [{
    `slot` is its address, which may be a peer's. lower/Packets.h says how the tile lies there. With the
    `notes` of simt.open, it first sees to it that all ranks have completed the launch before the last.

    Example:
    ```mlir
    simt.send %t to %slot epoch %e : tensor<8x128xf16>
    simt.send %t to %slot epoch %e notes %notes in (%status, %rank) : tensor<8x128xf16>, !llvm.ptr, index
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Index:$slot, Index:$epoch, Optional<I64>:$notes,
                       Variadic<AnyType>:$launch);
  let assemblyFormat = [{ $tile `to` $slot `epoch` $epoch (`notes` $notes^ `in` `(` $launch `)`)? attr-dict
                          `:` type($tile) (`,` type($launch)^)? }];
}

def Simt_ReceiveOp : Simt_Op<"receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until all packets of a slot have the flag of the launch: the tile";
  let description = [{
    Bounded, as simt.wait is.

    Example:
    ```mlir
    %t = simt.receive %slot epoch %e site 0 in (%status, %rank) : !llvm.ptr, index -> tensor<8x128xf16>
    ```
  }];
  let arguments = (ins Index:$slot, Index:$epoch, I64Attr:$site, Variadic<AnyType>:$launch);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = [{ $slot `epoch` $epoch `site` $site `in` `(` $launch `)` attr-dict
                          `:` type($launch) `->` type($tile) }];
}

def Simt_ReceiveAllOp : Simt_Op<"receive_all", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Waits until all packets of several slots have the flag of the launch: their tiles";
  let description = [{
    Of slots that are not wanted, nothing is read, and their tiles are anything. Bounded, as simt.wait is.

    Example:
    ```mlir
    %t:2 = simt.receive_all(%a, %b) where(%true, %exists) epoch %e sites [0, 0] in(%status, %rank) : !llvm.ptr, index -> tensor<8x128xf16>, tensor<8x128xf16>
    ```
  }];
  let arguments = (ins Variadic<Index>:$slots, Variadic<I1>:$wanted, Index:$epoch, DenseI64ArrayAttr:$sites,
                       Variadic<AnyType>:$launch);
  let results = (outs Variadic<Tile_Tile>:$tiles);
  let assemblyFormat = [{ `(` $slots `)` `where` `(` $wanted `)` `epoch` $epoch `sites` $sites `in` `(` $launch `)`
                          attr-dict `:` type($launch) `->` type($tiles) }];
  let hasVerifier = 1;
}

def Simt_AbortOp : Simt_Op<"abort", [MemoryEffects<[MemWrite]>]> {
  let summary = "This thread tells every rank that the launch has failed";
  let description = [{
    Example:
    ```mlir
    simt.abort(%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$launch);
  let assemblyFormat = "`(` $launch `)` attr-dict `:` type($launch)";
}

def Simt_WaitOp : Simt_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until a counter of this rank is so high: acquire";
  let description = [{
    Bounded: a wait that outlives its bound is noted, ends the launch on every rank and returns, as
    every wait does from then on. `site` is its number among the waits that reports name, `scope`
    how far away the notifies that it acquires are.

    Example:
    ```mlir
    simt.wait %cell for %n site 0 scope "sys" in (%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Index:$cell, Index:$value, I64Attr:$site, StrAttr:$scope, Variadic<AnyType>:$launch);
  let assemblyFormat = "$cell `for` $value `site` $site `scope` $scope `in` `(` $launch `)` attr-dict `:` type($launch)";
  let hasVerifier = 1;
}

def Simt_NotifyOp : Simt_Op<"notify", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Raises a counter, which may be a peer's: release of all that the CTA did before";
  let description = [{
    `mode` is what is done to the counter: "add" or "max". One that is `relaxed` is of one thread,
    and releases nothing itself: it stands in simt.notify_each. One that is `unordered` says nothing about memory; the CTA
    meets for it, too.

    Example:
    ```mlir
    simt.notify %cell "add" %n scope "sys"
    ```
  }];
  let arguments = (ins Index:$cell, StrAttr:$mode, Index:$value, StrAttr:$scope, UnitAttr:$relaxed,
                       UnitAttr:$unordered);
  let builders = [OpBuilder<(ins "::mlir::Value":$cell, "::mlir::StringRef":$mode, "::mlir::Value":$value,
                                 "::mlir::StringRef":$scope, CArg<"bool", "false">:$relaxed), [{
    build($_builder, $_state, cell, mode, value, scope, relaxed, /*unordered=*/false);
  }]>];
  let assemblyFormat = [{ $cell $mode $value `scope` $scope (`relaxed` $relaxed^)? (`unordered` $unordered^)?
                          attr-dict }];
  let hasVerifier = 1;
}

def Simt_TimeOp : Simt_Op<"time", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Nanoseconds of a clock of the whole device, read here";
  let description = [{
    Example:
    ```mlir
    %t = simt.time
    ```
  }];
  let results = (outs I64:$time);
  let assemblyFormat = "attr-dict";
}

def Simt_ReachedOp : Simt_Op<"reached", [MemoryEffects<[MemRead]>]> {
  let summary = "Whether a counter is so high already";
  let description = [{
    Orders nothing.

    Example:
    ```mlir
    %held = simt.reached %cell for %n scope "gpu"
    ```
  }];
  let arguments = (ins Index:$cell, Index:$value, StrAttr:$scope);
  let results = (outs I1:$held);
  let assemblyFormat = "$cell `for` $value `scope` $scope attr-dict";
}

def Simt_LogOp : Simt_Op<"log", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Notes an event of the CTA in the log of the device: abi/DeviceLog.h";
  let description = [{
    `what` is its kind, `site` its place among those that reports name. It ends now and began `from`
    then. A wait that `held` did so at once.

    Example:
    ```mlir
    simt.log 7 site 2 (%i, %j) to %status : !llvm.ptr
    simt.log 2 site 1 (%cell, %n) from %t held %h to %status : !llvm.ptr
    ```
  }];
  let arguments = (ins I64Attr:$what, I64Attr:$site, Variadic<Index>:$values, Optional<I64>:$begin,
                       Optional<I1>:$held, AnyType:$status);
  let assemblyFormat = [{ $what `site` $site (`(` $values^ `)`)? (`from` $begin^)? (`held` $held^)? `to` $status
                          attr-dict `:` type($status) }];
}

def Simt_NotifyLoggedOp : Simt_Op<"notify_logged", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "As simt.notify; what the counter was before is noted in the log too";
  let description = [{
    Example:
    ```mlir
    simt.notify_logged %cell "add" %n scope "sys" site 2 to %status : !llvm.ptr
    ```
  }];
  let arguments = (ins Index:$cell, StrAttr:$mode, Index:$value, StrAttr:$scope, I64Attr:$site,
                       AnyType:$status);
  let assemblyFormat = "$cell $mode $value `scope` $scope `site` $site `to` $status attr-dict `:` type($status)";
}

def Simt_NotifyEachOp : Simt_Op<"notify_each", [SingleBlock, NoTerminator, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Raises a counter for each number of a range: one release of all that the CTA did before";
  let description = [{
    The body takes a number, computes without effects, and raises one counter. It is executed by the
    lanes of a warp, behind one fence of this scope.

    Example:
    ```mlir
    simt.notify_each %zero to %ranks scope "sys" {
    ^bb0(%p: index):
      %there = arith.muli %p, %stride : index
      simt.notify %there "add" %n scope "sys" relaxed
    }
    ```
  }];
  let arguments = (ins Index:$lower, Index:$upper, StrAttr:$scope);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$lower `to` $upper `scope` $scope $body attr-dict";
  let hasVerifier = 1;
}

def Simt_MoveOp : Simt_Op<"move", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies a chunk by the threads of the CTA";
  let description = [{
    Reads what the CTA wrote before. With `complete`, what follows may read the destination.

    Example:
    ```mlir
    simt.move %from to %to complete
        : memref<?xf16, strided<[?], offset: ?>>, memref<?xf16, strided<[?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_View:$source, Tile_View:$destination, UnitAttr:$complete);
  let assemblyFormat = "$source `to` $destination (`complete` $complete^)? attr-dict `:` type($source) `,` type($destination)";
}

def Simt_ReduceTogetherOp : Simt_Op<"reduce_together", [Pure]> {
  let summary = "Several tile.reduce whose warps meet once for all of them";
  let description = [{
    Of tile n the elements along axis n are combined in way n, as tile.reduce does.

    Example:
    ```mlir
    %s, %t = simt.reduce_together %x, %y kinds ["sum", "max"] axes [1, 0]
        : (tensor<8x512xf32>, tensor<8x32xf32>) -> (tensor<8x1xf32>, tensor<1x32xf32>)
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$sources, StrArrayAttr:$kinds,
                       DenseI64ArrayAttr:$axes);
  let results = (outs Variadic<Tile_Tile>:$results);
  let extraClassDeclaration = [{
    core::ReduceKind kindOf(size_t n) {
      return *core::symbolizeReduceKind(::llvm::cast<::mlir::StringAttr>(getKinds()[n]).getValue());
    }
  }];
  let assemblyFormat = "$sources `kinds` $kinds `axes` $axes attr-dict `:` functional-type($sources, $results)";
  let hasVerifier = 1;
}

def Simt_EnterOp : Simt_Op<"enter", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The CTA executes a region of the kernel, a function that is planned by itself";
  let description = [{
    The region may have more arguments, behind these: tensor maps, which simt-join-regions passes on
    when it makes a call of it. A region in which CTAs meet is entered once.

    Example:
    ```mlir
    simt.enter @k_region0(%A, %n) : memref<?xf32, strided<[?], offset: ?>>, index
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$region, Variadic<AnyType>:$operands);
  let assemblyFormat = "$region `(` $operands `)` attr-dict `:` type($operands)";
}

def Simt_MeetOp : Simt_Op<"meet", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "CTAs of this rank meet, and with them, if so asked, those of every rank";
  let description = [{
    `cells` is the address of two counters that nothing else uses. Release before, acquire after.

    Example:
    ```mlir
    simt.meet %cells of %count ranks site 1 in (%status, %rank) : !llvm.ptr, index
    ```
  }];
  let arguments = (ins Index:$cells, Index:$count, UnitAttr:$ranks, I64Attr:$site, Variadic<AnyType>:$launch);
  let assemblyFormat = "$cells `of` $count (`ranks` $ranks^)? `site` $site `in` `(` $launch `)` attr-dict `:` type($launch)";
}

def Simt_SyncOp : Simt_Op<"sync", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "All that the CTA wrote is seen by its own threads, or everywhere";
  let description = [{
    `scope` is "cta" for the CTA's threads, which then meet; "gpu" or "sys" for those of the rank or
    of every rank too.

    Example:
    ```mlir
    simt.sync "sys"
    ```
  }];
  let arguments = (ins StrAttr:$scope);
  let assemblyFormat = "$scope attr-dict";
  let hasVerifier = 1;
}

#endif
