// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of shared memory that are filled ahead of their use (rings), tiles that threads ask for or wait for, rows of tables,
// and views that a launch moves or chooses.
#ifndef DITRON_GPU_MEMORYOPS
#define DITRON_GPU_MEMORYOPS

include "ditron/targets/gpu/ops/SimtDialect.td"

//===-- Prefetched tiles ----------------------------------------------------------------------===//

def Simt_RingType : TypeDef<Simt_Dialect, "Ring"> {
  let mnemonic = "ring";
  let summary = "Slots of shared memory for tiles of one type";
  let parameters = (ins "int64_t":$slots, "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $slots `of` $tile `>`";
  let genVerifyDecl = 1;
}

def Simt_RingOp : Simt_Op<"ring", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Allocates the slots of a ring";
  let description = [{
    Example:
    ```mlir
    %ring = simt.ring : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let results = (outs Simt_RingType:$ring);
  let assemblyFormat = "attr-dict `:` type($ring)";
}

def Simt_CopyOp : Simt_Op<"copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Begins to copy a tile of a view into a slot, if a condition holds";
  let description = [{
    Coordinates as in tile.load; beyond the view, zeros. Done after the simt.await that covers its
    group: what this thread begins until the next simt.commit.

    Example:
    ```mlir
    simt.copy %A[%i, %k] to %ring[%slot] if %more
        : memref<?x?xbf16, strided<[?, ?], offset: ?>>, <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, Simt_RingType:$ring, Index:$slot, I1:$condition);
  let assemblyFormat = "$view `[` $coords `]` `to` $ring `[` $slot `]` `if` $condition attr-dict `:` type($view) `,` type($ring)";
  let hasVerifier = 1;
}

def Simt_CommitOp : Simt_Op<"commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "Ends a group of copies";
  let description = [{
    Example:
    ```mlir
    simt.commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Simt_AwaitOp : Simt_Op<"await", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until at most `pending` groups are under way, and for all threads of the CTA";
  let description = [{
    Afterwards every thread sees the tiles of the groups before, and has finished with what it read.

    Example:
    ```mlir
    simt.await 2
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Simt_SlotOp : Simt_Op<"slot", [MemoryEffects<[MemRead]>]> {
  let summary = "The tile in a slot";
  let description = [{
    Example:
    ```mlir
    %a = simt.slot %ring[%slot] : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>>
           -> tensor<128x64xbf16, #tile.layout<"(8192 : 1@m)">>
    ```
  }];
  let arguments = (ins Simt_RingType:$ring, Index:$slot);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = "$ring `[` $slot `]` attr-dict `:` type($ring) `->` type($tile)";
  let hasVerifier = 1;
}

def Simt_FetchOp : Simt_Op<"fetch", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads a tile of a view, as words that nobody looks into";
  let description = [{
    Coordinates as in tile.load, of a tile of this type, whose layout deals it to the threads; beyond the view, zeros. What a
    thread has of it are words, in the order of its registers.

    Example:
    ```mlir
    %w = simt.fetch %A[%i, %k] as tensor<64x32xbf16, #tile.layout<"(2 : 8@reg, 2 : 1@warp, 64 : 1@lane, 8 : 1@reg)">>
           : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> vector<8xi32>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, TypeAttr:$tile);
  let results = (outs VectorOfRankAndType<[1], [I32]>:$words);
  let assemblyFormat = "$view `[` $coords `]` `as` $tile attr-dict `:` type($view) `->` type($words)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType tileType() { return ::llvm::cast<::mlir::RankedTensorType>(getTile()); }
  }];
}

def Simt_PlaceOp : Simt_Op<"place", [MemoryEffects<[MemWrite]>]> {
  let summary = "Puts the words of a fetched tile into shared memory";
  let description = [{
    The threads do not meet for it.

    Example:
    ```mlir
    %a = simt.place %w as tensor<64x32xbf16, #tile.layout<"(2 : 8@reg, 2 : 1@warp, 64 : 1@lane, 8 : 1@reg)">>
           : vector<8xi32> -> tensor<64x32xbf16, #tile.layout<"(2048 : 1@m)">>
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [I32]>:$words, TypeAttr:$fetched);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = "$words `as` $fetched attr-dict `:` type($words) `->` type($tile)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType fetchedType() { return ::llvm::cast<::mlir::RankedTensorType>(getFetched()); }
  }];
}

def Simt_PrefetchOp : Simt_Op<"prefetch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Asks for a tile of a view that will be read soon: the last cache of the GPU gets it";
  let description = [{
    Coordinates as in tile.load, of a tile of this type. No thread waits for it.

    Example:
    ```mlir
    simt.prefetch %W[%j, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<4x256xbf16>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, TypeAttr:$tile);
  let assemblyFormat = "$view `[` $coords `]` attr-dict `:` type($view) `->` $tile";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType tileType() { return ::llvm::cast<::mlir::RankedTensorType>(getTile()); }
  }];
}

def Simt_AwaitElementsOp : Simt_Op<"await_elements", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Loads tiles of self-signaling memory once all of their elements are there";
  let description = [{
    Coordinates and paddings (unit: none) as in tile.load, `counts` of the former for each view. All tiles are asked for before one is looked at.
    Each warp goes on when it has its elements. Bounded, as simt.wait is.

    Example:
    ```mlir
    %q:2 = simt.await_elements(%a, %b) at(%i, %j, %i, %k) counts [2, 2] sites [0, 1] paddings [unit, unit]
        in(%status, %rank : !llvm.ptr, index)
        : memref<?x?xf32, strided<[?, ?], offset: ?>>, memref<?x?xf32, strided<[?, ?], offset: ?>>
        -> tensor<4x64xf32>, tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Tile_View>:$views, Variadic<Index>:$coords, Variadic<AnyType>:$launch,
                       DenseI64ArrayAttr:$counts, DenseI64ArrayAttr:$sites, ArrayAttr:$paddings);
  let results = (outs Variadic<Tile_Tile>:$tiles);
  let assemblyFormat = [{ `(` $views `)` `at` `(` $coords `)` `counts` $counts `sites` $sites
                          `paddings` $paddings `in` `(` $launch `:` type($launch) `)` attr-dict
                          `:` type($views) `->` type($tiles) }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The coordinates of a tile.
    ::mlir::OperandRange coordsOf(size_t tile);
  }];
}

def Simt_ElementOp : Simt_Op<"element", [Pure]> {
  let summary = "The element of a tile of one";
  let description = [{
    Example:
    ```mlir
    %x = simt.element %t : tensor<1xf32> -> f32
    ```
  }];
  let arguments = (ins Tile_Tile:$tile);
  let results = (outs AnyFloat:$element);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($element)";
  let hasVerifier = 1;
}

//===-- Rows of tables ------------------------------------------------------------------------===//

def Simt_RowOp : Simt_Op<"row", [MemoryEffects<[MemRead]>]> {
  let summary = "Asks for a row of a table: each lane of a warp has the word of its number";
  let description = [{
    Of rows from `end` on, and of columns that are not there, the words are 0. Nobody waits for them before they are used.

    Example:
    ```mlir
    %words = simt.row %tasks[%t] below %end : memref<?x?xi64, strided<[?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_View:$table, Index:$row, Index:$end);
  let results = (outs I64:$words);
  let assemblyFormat = "$table `[` $row `]` `below` $end attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def Simt_ColumnOp : Simt_Op<"column", []> {
  let summary = "The word that one lane of the warp has: all lanes come here";
  let description = [{
    Example:
    ```mlir
    %type = simt.column 0 of %words : i64
    ```
  }];
  let arguments = (ins I64Attr:$lane, I64:$words);
  let results = (outs AnyTypeOf<[I32, I64]>:$word); // i32: its low half
  let assemblyFormat = "$lane `of` $words attr-dict `:` type($word)";
}

//===-- Views ---------------------------------------------------------------------------------===//

def Simt_ShiftOp : Simt_Op<"shift", [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "The same view a number of bytes further: another page of it, or a peer's";
  let description = [{
    `page` says which one, where that is what it is of an argument.

    Example:
    ```mlir
    %theirs = simt.shift %full by %bytes
        : memref<?xf16, strided<[?], offset: ?>> -> memref<?xf16, strided<[?], offset: ?>>
    %second = simt.shift %full by %bytes page %one
        : memref<?xf16, strided<[?], offset: ?>> -> memref<?xf16, strided<[?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_View:$source, Index:$bytes, Optional<Index>:$page);
  let results = (outs Tile_View:$result);
  let assemblyFormat = "$source `by` $bytes (`page` $page^)? attr-dict `:` type($source) `->` type($result)";
}

def Simt_ViewAtOp : Simt_Op<"view_at", [Pure]> {
  let summary = "The view that words of a table in memory describe";
  let description = [{
    From word `word` on: its address, extents and strides, as a launch passes those of an argument. The
    table stays as it is during a launch. The attributes `tile.unit_stride`, `tile.alignment`,
    `tile.readonly`, `tile.lasting`, `tile.known_extents` and `tile.dense` promise what they promise of an
    argument. Views with one number `tile.in_place` may be the very same elements.

    Example:
    ```mlir
    %W = simt.view_at %table[%word] {tile.alignment = 16 : i64, tile.unit_stride}
        : !llvm.ptr -> memref<?x?xbf16, strided<[?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins AnyType:$table, Index:$word);
  let results = (outs Tile_View:$view);
  let assemblyFormat = "$table `[` $word `]` attr-dict `:` type($table) `->` type($view)";
}

#endif
