// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Device level: what cores and ranks exchange.
#ifndef DITRON_DEVICE_DISTOPS
#define DITRON_DEVICE_DISTOPS

include "ditron/core/ObservableOpInterface.td"
include "ditron/core/TileTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let summary = "Chunks moved one-sidedly between ranks, and the signals that order them";
  let description = [{
    A rank is one device, R of them run the same kernel; on each rank the kernel is one program
    instance a core. Symmetric buffers and signals exist on every rank under one name; put, get and notify
    name the peer whose instance they mean, by `on`. put and get move chunks without the peer's help,
    notify releases, wait acquires. docs/memory-model.md says what each promises.

    The peer stays an operand until it is known how it is reached: there is no view of a peer's memory
    that loads and stores could take (docs/rationale/verbs-keep-their-peer.md).
  }];
  let cppNamespace = "::ditron::device";
  let dependentDialects = ["::ditron::core::TileDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
}

//===-- Types, attributes and enumerations ----------------------------------------------------===//

def Dist_SpaceKind : I32EnumAttr<"SpaceKind", "where memory lives that ranks share",
                                 [I32EnumAttrCase<"symmetric", 0>]> {
  let cppNamespace = "::ditron::device";
  let genSpecializedAttr = 0;
}

def Dist_ShardedAxis : I32EnumAttr<"ShardedAxis", "which axis of a grid is spread over the ranks",
                                   [I32EnumAttrCase<"rows", 0>, I32EnumAttrCase<"batch", 1>]> {
  let cppNamespace = "::ditron::device";
  let genSpecializedAttr = 0;
}

class Dist_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Dist_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Dist_SpaceAttr : Dist_Attr<"Space", "space"> {
  let summary = "Memory space of a memref: symmetric memory, of which every rank has an instance";
  let parameters = (ins EnumParameter<Dist_SpaceKind>:$kind);
  let assemblyFormat = "`<` $kind `>`";
}

def Dist_OrderAttr : Dist_Attr<"Order", "order"> {
  let summary =
      "In which order the tiles of a grid are dealt: a name of device/Order.h and its parameter";
  let description = [{
    `sharded` says which axis of the grid the ranks share: the rows (in elements) or the batch; `rounds` in how
    many rounds next-rank-first visits the rows of a batch, and others-ahead the columns; `along` the axis of the mesh whose ranks these are.
  }];
  let parameters = (ins StringRefParameter<>:$name,
      DefaultValuedParameter<"int64_t", "1">:$parameter,
      DefaultValuedParameter<EnumParameter<Dist_ShardedAxis>.cppType,
                             "::ditron::device::ShardedAxis::rows">:$sharded,
      DefaultValuedParameter<"int64_t", "1">:$rounds,
      StringRefParameter<"an axis of the mesh", "\"world\"">:$axis);
  let assemblyFormat = [{
    `<` $name (`,` $parameter^)? (`over` $sharded^)? (`rounds` $rounds^)? (`along` $axis^)? `>`
  }];
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name, "int64_t":$parameter,
                                  "::ditron::device::ShardedAxis":$sharded,
                                  "::llvm::StringRef":$axis),
                              [{ return $_get($_ctxt, name, parameter, sharded, 1, axis); }]>];
  let genVerifyDecl = 1;
}

def Dist_Engine : I32EnumAttr<"Engine", "what executes a role",
                              [I32EnumAttrCase<"core", 0>, I32EnumAttrCase<"copy", 1>,
                               I32EnumAttrCase<"nic", 2>]> {
  let cppNamespace = "::ditron::device";
}

def Dist_PlacementKind
    : I32EnumAttr<"PlacementKind", "how an argument relates to its parts on the ranks",
                  [I32EnumAttrCase<"gathered", 0>,
                   I32EnumAttrCase<"reduceScattered", 1, "reduce_scattered">,
                   I32EnumAttrCase<"allReduced", 2, "all_reduced">,
                   I32EnumAttrCase<"exchanged", 3>]> {
  let cppNamespace = "::ditron::device";
  let genSpecializedAttr = 0;
}

def Dist_PlacementAttr : Dist_Attr<"Placement", "placement"> {
  let summary = "Where an argument of a kernel lives: `dist.placement` on an argument of its function";
  let description = [{
    The kernel is written for one device. `gathered dim d`: each rank has an equal part of dimension `d`, and the kernel
    reads all of them. `reduce_scattered dim d`: each rank computes a summand of the result, and keeps the sum of an equal
    part of dimension `d`. `all_reduced`: the same, and keeps all of the sum. `exchanged dim 0`: rows go to
    the ranks that argument `counts` says, which has a number for each group of each rank. dist-place-arguments,
    dist-place-results and dist-place-exchanges write the verbs. `on`: what moves the data; `cores`: how many cores move a gathered argument (0: all,
    before they compute); `chunks`: in how many parts copy engines send the summands of a shard; `wave`: how
    many tiles the cores compute at a time, the last of which are the last chunk of sums that all ranks are to have (0: it
    is as the others); `rounds`: in how many rounds the cores compute the rows of all ranks' parts, where a sum that all ranks are to have travels round by round (of copy engines: 2, which are the chunks); `rounded`: summands travel in the type of the result, not in that of the sum; `ring`: a rank hands on what it has received of a gathered argument,
    so that neighbours alone talk; `along`: the axis of the mesh whose ranks have the parts, each line of them by itself.

    Example: `%A: memref<?x?xf16, strided<[?, ?], offset: ?>> {dist.placement = #dist.placement<gathered dim 0>}`
  }];
  let parameters = (ins EnumParameter<Dist_PlacementKind>:$kind,
      DefaultValuedParameter<"int64_t", "-1">:$dim, DefaultValuedParameter<"int64_t", "1">:$cores,
      DefaultValuedParameter<EnumParameter<Dist_Engine>.cppType,
                             "::ditron::device::Engine::core">:$engine,
      DefaultValuedParameter<"int64_t", "1">:$chunks, DefaultValuedParameter<"int64_t", "0">:$wave,
      DefaultValuedParameter<"int64_t", "1">:$rounds,
      DefaultValuedParameter<"bool", "false">:$rounded,
      DefaultValuedParameter<"bool", "false">:$ring,
      StringRefParameter<"an axis of the mesh", "\"world\"">:$axis,
      StringRefParameter<"an argument", "\"\"">:$counts);
  let assemblyFormat = [{
    `<` $kind (`dim` $dim^)? (`counts` $counts^)? (`along` $axis^)? (`cores` $cores^)? (`on` $engine^)? (`chunks` $chunks^)?
        (`wave` $wave^)? (`rounds` $rounds^)? (`rounded` $rounded^)? (`ring` $ring^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Dist_SignalsType : TypeDef<Dist_Dialect, "Signals"> {
  let mnemonic = "signals";
  let summary = "An array of 64-bit counters that only grow, of which every rank has an instance";
  let parameters = (ins "int64_t":$rank);
  let assemblyFormat = "`<` $rank `>`";
  let genVerifyDecl = 1;
}

def Dist_InboxType : TypeDef<Dist_Dialect, "Inbox"> {
  let mnemonic = "inbox";
  let summary = "An array of slots for one tile each, of which every rank has an instance";
  let parameters = (ins "int64_t":$rank, "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $rank `of` $tile `>`";
  let genVerifyDecl = 1;
}

def Dist_NotifyMode : I32EnumAttr<"NotifyMode", "how a notify changes the counter",
                                  [I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"set", 1>,
                                   I32EnumAttrCase<"subtract", 2>, I32EnumAttrCase<"store", 3>]> {
  let cppNamespace = "::ditron::device";
}
def Dist_WaitTest
    : I32EnumAttr<"WaitTest", "what a wait asks of the counter",
                  [I32EnumAttrCase<"atLeast", 0, ">=">, I32EnumAttrCase<"exactly", 1, "==">]> {
  let cppNamespace = "::ditron::device";
}
def Dist_Scope : I32EnumAttr<"Scope",
                             "how far an order reaches, each within the next: this core, the "
                             "cores of its rank, the ranks of its node, all ranks",
                             [I32EnumAttrCase<"core", 0>, I32EnumAttrCase<"device", 1>,
                              I32EnumAttrCase<"system", 2>, I32EnumAttrCase<"network", 3>]> {
  let cppNamespace = "::ditron::device";
}
def Dist_BarrierScope
    : I32EnumAttr<"BarrierScope",
                  "who meets", [I32EnumAttrCase<"cores", 0>, I32EnumAttrCase<"ranks", 1>]> {
  let cppNamespace = "::ditron::device";
}

class Dist_Op<string opMnemonic, list<Trait> traits = []> : Op<Dist_Dialect, opMnemonic, traits>;

/// What others can observe, and so nothing moves across.
class Dist_Verb<string opMnemonic, list<Trait> traits = []>
    : Dist_Op<opMnemonic, traits # [MemoryEffects<[MemRead, MemWrite]>,
                                    DeclareOpInterfaceMethods<Tile_ObservableOp>]>;

//===-- Who am I ------------------------------------------------------------------------------===//

class Dist_PlaceOp<string opMnemonic> : Dist_Op<opMnemonic, [Pure]> {
  let arguments = (ins DefaultValuedStrAttr<StrAttr, "world">:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "(`along` $axis^)? attr-dict";
}

def Dist_RankOp : Dist_PlaceOp<"rank"> {
  let summary = "This rank's number, in the whole mesh or along one of its axes";
  let description = [{
    Example:
    ```mlir
    %r = dist.rank
    %l = dist.rank along "local"
    %c = dist.rank along "col"
    ```
    Every mesh has the axes `node` and `local`; others have the names that a run gives them
    (support/MeshAxes.h).
  }];
}
def Dist_NumRanksOp : Dist_PlaceOp<"num_ranks"> {
  let summary = "How many ranks there are, in the whole mesh or along one of its axes";
  let description = [{
    Example:
    ```mlir
    %n = dist.num_ranks
    ```
  }];
}

def Dist_RankAtOp : Dist_Op<"rank_at", [Pure]> {
  let summary = "The rank that is at a place along an axis, and where this one is along all others";
  let description = [{
    Example:
    ```mlir
    %p = dist.rank_at %i along "col"
    ```
  }];
  let arguments = (ins Index:$place, DefaultValuedStrAttr<StrAttr, "world">:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$place (`along` $axis^)? attr-dict";
}

class Dist_CoreOpBase<string opMnemonic> : Dist_Op<opMnemonic, [MemoryEffects<[MemRead]>]> {
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}
def Dist_CoreOp : Dist_CoreOpBase<"core"> {
  let summary = "This core's number within the running role";
  let description = [{
    It depends on the enclosing dist.role, and so must not move across one.

    Example:
    ```mlir
    %c = dist.core
    ```
  }];
}
def Dist_NumCoresOp : Dist_CoreOpBase<"num_cores"> {
  let summary = "How many cores run the role";
  let description = [{
    Example:
    ```mlir
    %n = dist.num_cores
    ```
  }];
}

//===-- Symmetric memory ----------------------------------------------------------------------===//

def Dist_SymmetricOp : Dist_Op<"symmetric", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A buffer that every rank has, of the same size";
  let description = [{
    Row-major. Its extents depend on arguments' extents, integer arguments and the number of ranks
    only, so that they are known before the launch. What it holds at the start of a launch is undefined.

    Example:
    ```mlir
    %full = dist.symmetric "full"(%r, %m, %k) : memref<?x?x?xf16, strided<[?, ?, ?], offset: ?>, #dist.space<symmetric>>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$extents);
  let results = (outs Tile_View:$buffer);
  let assemblyFormat = "$name `(` $extents `)` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Dist_SignalsOp : Dist_Op<"signals", [MemoryEffects<[MemAlloc]>]> {
  let summary = "An array of counters that every rank has";
  let description = [{
    Within one launch each counter starts at 0 and only grows. Extents as in dist.symmetric; without
    any it is one counter.

    Example:
    ```mlir
    %ready = dist.signals "ready"(%r, %rows) : !dist.signals<2>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$extents);
  let results = (outs Dist_SignalsType:$signals);
  let assemblyFormat = "$name `(` $extents `)` attr-dict `:` qualified(type($signals))";
  let hasVerifier = 1;
}

def Dist_InboxOp : Dist_Op<"inbox", [MemoryEffects<[MemAlloc]>]> {
  let summary = "An array of slots that every rank has, each for one tile in a launch";
  let description = [{
    All slots are empty when a launch starts. dist.send fills one, of this rank or a peer, and dist.receive
    takes the tile. Extents as in dist.symmetric; without any it is one slot. How a tile lies in its slot is
    up to the backend.

    Example:
    ```mlir
    %box = dist.inbox "box"(%r, %rows) : !dist.inbox<2 of tensor<8x128xf16>>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$extents);
  let results = (outs Dist_InboxType:$inbox);
  let assemblyFormat = "$name `(` $extents `)` attr-dict `:` qualified(type($inbox))";
  let hasVerifier = 1;
}

//===-- Movement and order --------------------------------------------------------------------===//

def Dist_PutOp : Dist_Verb<"put"> {
  let summary = "Writes a chunk into symmetric memory of a peer";
  let description = [{
    The destination is the peer's instance of what the operand is here; the peer may be this rank.
    Asynchronous: the source may be read, and the destination written, at any time until the quiet, or
    the notify, that follows. Both have the same extents; that they differ is an error at run time.

    Example:
    ```mlir
    dist.put %mine, %full on %peer : memref<?x?xf16, strided<[?, ?], offset: ?>>,
                                     memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
    ```
  }];
  let arguments = (ins Tile_View:$source, Tile_View:$destination, Index:$peer);
  let assemblyFormat =
      "$source `,` $destination `on` $peer attr-dict `:` type($source) `,` type($destination)";
  let hasVerifier = 1;
}

def Dist_PutTileOp : Dist_Verb<"put_tile"> {
  let summary = "Writes a tile into symmetric memory of a peer";
  let description = [{
    Tile `coords` of the peer's instance of the view, as tile.store has it: elements beyond the view are dropped.
    Complete when a dist.put is. dist-put-tiles makes it where a link is mapped memory.

    Example:
    ```mlir
    dist.put_tile %t, %parts[%rank, %i, %j] on %peer
        : tensor<128x256xbf16>, memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>, #dist.space<symmetric>>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_View:$destination, Variadic<Index>:$coords, Index:$peer);
  let assemblyFormat = [{
    $tile `,` $destination `[` $coords `]` `on` $peer attr-dict `:` type($tile) `,` type($destination)
  }];
  let hasVerifier = 1;
}

def Dist_GetOp : Dist_Verb<"get"> {
  let summary = "Reads a chunk of symmetric memory of a peer";
  let description = [{
    The source is the peer's instance of what the operand is here. Complete when the op is: what follows
    in program order may read the destination. Extents as in dist.put.

    Example:
    ```mlir
    dist.get %full on %peer, %mine : memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>,
                                     memref<?x?xf16, strided<[?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_View:$source, Index:$peer, Tile_View:$destination);
  let assemblyFormat =
      "$source `on` $peer `,` $destination attr-dict `:` type($source) `,` type($destination)";
  let hasVerifier = 1;
}

def Dist_NotifyOp : Dist_Verb<"notify", [AttrSizedOperandSegments]> {
  let summary = "Raises a counter: release";
  let description = [{
    The counter is the peer's instance, or without a peer this rank's. Whoever observes the new value by
    a wait sees every earlier write and put of this role instance.
    `add` adds `value`; `set` raises the counter to `value`. A signal is notified in one mode only.

    Forms that the language has no word for, see docs/bugs.md: `subtract` takes `value` off, `store`
    makes the counter `value` whatever it was; `relaxed` changes the counter and orders nothing, but
    for the puts that a fence or quiet stands behind; `scope` says how far the order reaches, in
    place of the scope that the compiler picks (device/Scope.h).

    Example:
    ```mlir
    dist.notify %ready[%s, %i] on %peer add %one : !dist.signals<2>
    dist.notify %ready[%s, %i] add %one : !dist.signals<2>
    dist.notify %ready[%s, %i] on %peer subtract %one relaxed : !dist.signals<2>
    dist.notify %ready[%s, %i] on %peer store %zero scope device : !dist.signals<2>
    ```
  }];
  let arguments = (ins Dist_SignalsType:$signals, Variadic<Index>:$indices, Optional<Index>:$peer,
      Dist_NotifyMode:$mode, Index:$value, UnitAttr:$relaxed, OptionalAttr<Dist_Scope>:$scope);
  let assemblyFormat =
      [{ $signals `[` $indices `]` (`on` $peer^)? $mode $value (`relaxed` $relaxed^)?
                          (`scope` $scope^)? attr-dict `:` qualified(type($signals)) }];
  let builders = [OpBuilder<(ins "::mlir::Value":$signals, "::mlir::ValueRange":$indices,
                                "::mlir::Value":$peer, "::ditron::device::NotifyMode":$mode,
                                "::mlir::Value":$value),
                            [{
    build($_builder, $_state, signals, indices, peer, mode, value, /*relaxed=*/false, ScopeAttr());
  }]>];
  let hasVerifier = 1;
}

def Dist_PutNotifyOp : Dist_Verb<"put_notify"> {
  let summary = "put, then notify: one operation where the link has it";
  let description = [{
    Both go to one peer. The notify orders this put and every earlier write and put of the role
    instance.

    Example:
    ```mlir
    dist.put_notify %mine, %full, %ready[%i] on %peer add %one
        : memref<?x?xf16, strided<[?, ?], offset: ?>>,
          memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>, !dist.signals<1>
    ```
  }];
  let arguments = (ins Tile_View:$source, Tile_View:$destination, Dist_SignalsType:$signals,
      Variadic<Index>:$indices, Index:$peer, Dist_NotifyMode:$mode, Index:$value);
  let assemblyFormat =
      [{ $source `,` $destination `,` $signals `[` $indices `]` `on` $peer $mode $value attr-dict
                          `:` type($source) `,` type($destination) `,` qualified(type($signals)) }];
  let hasVerifier = 1;
}

def Dist_WaitOp : Dist_Verb<"wait"> {
  let summary = "Waits until a counter of this rank has at least a value: acquire";
  let description = [{
    Bounded: a wait that outlives its bound ends the launch on every rank with an error that names it.

    Forms that the language has no word for, see docs/bugs.md: `==` waits for the value itself;
    `take` subtracts the value as it is seen, in one step; `relaxed` observes and orders nothing;
    `scope` says from how far others' notifies are acquired, in place of the scope that the compiler
    picks (device/Scope.h).

    Example:
    ```mlir
    dist.wait %ready[%s, %i] >= %tiles : !dist.signals<2>
    dist.wait %ready[%s, %i] == %tiles take : !dist.signals<2>
    dist.wait %ready[%s, %i] >= %tiles relaxed scope device : !dist.signals<2>
    ```
  }];
  let arguments = (ins Dist_SignalsType:$signals, Variadic<Index>:$indices,
      DefaultValuedAttr<Dist_WaitTest, "::ditron::device::WaitTest::atLeast">:$test, Index:$value,
      UnitAttr:$take, UnitAttr:$relaxed, OptionalAttr<Dist_Scope>:$scope);
  let assemblyFormat = [{ $signals `[` $indices `]` custom<WaitTest>($test) $value (`take` $take^)?
                          (`relaxed` $relaxed^)? (`scope` $scope^)?
                          attr-dict `:` qualified(type($signals)) }];
  let builders = [OpBuilder<
      (ins "::mlir::Value":$signals, "::mlir::ValueRange":$indices, "::mlir::Value":$value), [{
    build($_builder, $_state, signals, indices, WaitTest::atLeast, value, /*take=*/false,
          /*relaxed=*/false, ScopeAttr());
  }]>];
  let hasVerifier = 1;
}

def Dist_SendOp : Dist_Verb<"send"> {
  let summary = "Fills a slot of a peer's inbox with a tile";
  let description = [{
    The peer may be this rank. A slot takes one tile in a launch. Release, as dist.notify is.
    dist-expand-inboxes says the same in other verbs.

    Example:
    ```mlir
    dist.send %t to %box[%s, %i] on %peer : tensor<8x128xf16>, !dist.inbox<2 of tensor<8x128xf16>>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Dist_InboxType:$inbox, Variadic<Index>:$indices, Index:$peer);
  let assemblyFormat = [{ $tile `to` $inbox `[` $indices `]` `on` $peer attr-dict
                          `:` type($tile) `,` qualified(type($inbox)) }];
  let hasVerifier = 1;
}
def Dist_ReceiveOp : Dist_Verb<"receive"> {
  let summary = "Waits until a slot of this rank is filled: its tile";
  let description = [{
    Acquire, and bounded, as dist.wait is. A slot may be received several times: it stays filled until
    the launch ends.

    Example:
    ```mlir
    %t = dist.receive %box[%s, %i] : !dist.inbox<2 of tensor<8x128xf16>> -> tensor<8x128xf16>
    ```
  }];
  let arguments = (ins Dist_InboxType:$inbox, Variadic<Index>:$indices);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = [{ $inbox `[` $indices `]` attr-dict `:` qualified(type($inbox))
                          `->` type($tile) }];
  let hasVerifier = 1;
}

def Dist_FenceOp : Dist_Verb<"fence"> {
  let summary = "Orders earlier puts of this core before later puts and notifies, at each peer";
  let description = [{
    A form that the language has no word for, see docs/bugs.md: `scope` says up to how far away the
    peers are for which it holds; without it, for all.

    Example:
    ```mlir
    dist.fence
    dist.fence scope device
    ```
  }];
  let arguments = (ins OptionalAttr<Dist_Scope>:$scope);
  let assemblyFormat = "(`scope` $scope^)? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ScopeAttr());">];
}
def Dist_QuietOp : Dist_Verb<"quiet"> {
  let summary = "Waits until this core's puts are complete and visible";
  let description = [{
    Example:
    ```mlir
    dist.quiet
    ```
  }];
  let assemblyFormat = "attr-dict";
}
def Dist_BarrierOp : Dist_Verb<"barrier"> {
  let summary = "All cores of the running role meet: on this rank (cores) or on every rank (ranks)";
  let description = [{
    Release before, acquire after; puts before it are complete after it. Bounded like a wait. It cannot
    stand inside of dist.tiles: cores run different numbers of tiles, and would not all meet.

    Example:
    ```mlir
    dist.barrier cores
    ```
  }];
  let arguments = (ins Dist_BarrierScope:$scope);
  let assemblyFormat = "$scope attr-dict";
  let hasVerifier = 1;
}

//===-- Work ----------------------------------------------------------------------------------===//

def Dist_RoleOp : Dist_Op<"role", [SingleBlock, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "A part of the program for some cores of the running role";
  let description = [{
    Cores `first` to `first + count` execute the body, the others pass by. Within it, dist.core counts
    from 0 and dist.num_cores is `count`. Where the ranges of two roles overlap, the shared cores
    execute both in program order.

    Example:
    ```mlir
    dist.role "gather" cores %zero for %two {
      dist.barrier cores
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Index:$first, Index:$count,
      DefaultValuedAttr<Dist_Engine, "::ditron::device::Engine::core">:$engine);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `cores` $first `for` $count (`on` $engine^)? $body attr-dict";
  let hasVerifier = 1;
}

def Dist_TilesOp : Dist_Op<"tiles", [SingleBlock, NoTerminator, RecursiveMemoryEffects,
                                     AttrSizedOperandSegments]> {
  let summary = "A loop over the tiles of a grid, dealt to the cores of the running role";
  let description = [{
    The grid has `extents` tiles. Core c of n executes tiles c, c + n, ... in the given order, and
    the body takes the coordinates. The last dimension of the grid are the columns, the second last
    the rows, those before are batch. An order that follows the ranks shards the rows in `elements`,
    `height` of them in a tile (the last one may have fewer); without them it is rows x height.
    Loops over tiles do not nest, since the tiles of the outer one run on different cores.
    With a range, every core that comes here executes tiles first, first + 1, ... up to `end`, in the
    same order: the tiles of one task. The grid has `end` tiles or more.

    Example:
    ```mlir
    dist.tiles (%i, %j) of (%rows, %columns) order <"grouped", 8> {
      dist.notify %done[%i] add %one : !dist.signals<1>
    }
    dist.tiles (%i, %j) of (%rows, %columns) order <"own-shard-first"> elements %m height 128 {
      dist.wait %ready[%i] >= %one : !dist.signals<1>
    }
    dist.tiles (%i, %j) of (%rows, %columns) from %first to %end order <"row-major"> {
      dist.notify %done[%i] add %one : !dist.signals<1>
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents, Optional<Index>:$elements,
      Optional<Index>:$first, Optional<Index>:$end,
      DefaultValuedAttr<I64Attr, "1">:$height, Dist_OrderAttr:$order);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$extents, "::mlir::Value":$elements,
                                 "::mlir::IntegerAttr":$height, "OrderAttr":$order)>,
                  OpBuilder<(ins "::mlir::ValueRange":$extents, "::mlir::Value":$elements,
                                 "int64_t":$height, "OrderAttr":$order)>];
}

def Dist_MarkTileOp : Dist_Op<"mark_tile", [MemoryEffects<[MemWrite]>]> {
  let summary = "Notes in the timeline which tile this core begins; nothing else happens";
  let description = [{
    The tile lasts until the next mark. One without coordinates stands behind the loop: it ends the last
    tile. dist-mark-tiles adds the marks to kernels whose launches are recorded.

    Example:
    ```mlir
    dist.mark_tile(%i, %j)
    dist.mark_tile()
    ```
  }];
  let arguments = (ins Variadic<Index>:$coordinates);
  let assemblyFormat = "`(` $coordinates `)` attr-dict";
  let hasVerifier = 1;
}

#endif
