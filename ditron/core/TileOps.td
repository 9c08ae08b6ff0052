// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Core level: what one core does with tiles. Elementwise work is `arith` and `math` on tensors,
// control flow is `scf`; here is only what MLIR lacks.
#ifndef DITRON_CORE_TILEOPS
#define DITRON_CORE_TILEOPS

include "ditron/core/ObservableOpInterface.td"
include "ditron/core/TileTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let summary = "Static tiles: the work of one core";
  let description = [{
    A tile is a builtin ranked tensor of 1 to 4 static dimensions. Tiles are values; memory is touched
    only by tile.load, tile.store, tile.gather, tile.scatter and tile.atomic_add, which name a tile of a
    view: a memref cut into a grid of equal tiles, the last ones ragged. Reads beyond the view give the
    padding value, writes beyond it are dropped. A view is memory of this rank: a peer's is reached by
    verbs of the dialect dist only.
  }];
  let cppNamespace = "::ditron::core";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
}

//===-- Types and enumerations ----------------------------------------------------------------===//

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Tile_VarType : Tile_Type<"Var", "var"> {
  let summary = "A variable of the program: a place that holds a tile, a scalar or an index";
  let parameters = (ins "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $valueType `>`";
}

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "Where the elements of a tile live: the encoding of its type";
  let description = [{
    The text of a `core::Layout` (ditron/core/Layout.h). A tile whose layout is on `warp`, `lane` and
    `reg` lives in the registers of a core, one whose layout is on `m` in its shared memory. Tiles of the
    language have none: a backend for such a machine gives them theirs.
  }];
  let parameters = (ins StringRefParameter<"what Layout::print writes">:$text);
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static LayoutAttr get(::mlir::MLIRContext *context, const ::ditron::core::Layout &layout);
    ::ditron::core::Layout layout() const;
  }];
}

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how elements combine", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>,
    I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>]> {
  let cppNamespace = "::ditron::core";
}
def Tile_Extremum : I32EnumAttr<"Extremum", "which extremum", [
    I32EnumAttrCase<"max", 0>, I32EnumAttrCase<"min", 1>]> {
  let cppNamespace = "::ditron::core";
}
def Tile_Precision : I32EnumAttr<"Precision", "what dot may lose", [
    I32EnumAttrCase<"ieee", 0>, I32EnumAttrCase<"tf32", 1>,
    I32EnumAttrCase<"fastAccum", 2, "fast_accum">]> {
  let cppNamespace = "::ditron::core";
}
def Tile_Rounding : I32EnumAttr<"Rounding", "how a cast rounds", [
    I32EnumAttrCase<"nearest_even", 0>, I32EnumAttrCase<"toward_zero", 1>,
    I32EnumAttrCase<"down", 2>, I32EnumAttrCase<"up", 3>]> {
  let cppNamespace = "::ditron::core";
}

class Tile_Op<string opMnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, opMnemonic, traits>;
class Tile_AccessOp<string opMnemonic, list<Trait> traits>
    : Tile_Op<opMnemonic, traits # [DeclareOpInterfaceMethods<Tile_ObservableOp>]>;

//===-- Memory --------------------------------------------------------------------------------===//

def Tile_LoadOp : Tile_AccessOp<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads one tile of a view";
  let description = [{
    `coords` count tiles in the last dimensions of the view, as many as the tile has, and elements in
    the leading ones. Elements beyond the view read as `padding` (0 unless given).

    Example:
    ```mlir
    %a = tile.load %A[%i, %k] : memref<?x?xf16, strided<[?, ?], offset: ?>> -> tensor<128x64xf16>
    %x = tile.load %X[%b, %i, %j] padding 0xFF800000 : f32
           : memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>> -> tensor<8x256xf32>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, OptionalAttr<TypedAttrInterface>:$padding);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = [{ $view `[` $coords `]` (`padding` $padding^)? attr-dict `:` type($view) `->` type($tile) }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_AccessOp<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes one tile of a view";
  let description = [{
    Coordinates as in tile.load; elements beyond the view are dropped.

    Example:
    ```mlir
    tile.store %c, %C[%i, %j] : tensor<128x64xf16>, memref<?x?xf16, strided<[?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_View:$view, Variadic<Index>:$coords);
  let assemblyFormat = [{ $tile `,` $view `[` $coords `]` attr-dict `:` type($tile) `,` type($view) }];
  let hasVerifier = 1;
}

def Tile_ChunkOp : Tile_Op<"chunk", [Pure]> {
  let summary = "The memory of one tile of a view, cut at the edges of the view";
  let description = [{
    A view of at most `shape` elements, its extents known only at run time. Past the view it has
    extent 0. It is what put and get move.

    Example:
    ```mlir
    %part = tile.chunk %A[%i, %k] shape [128, 64]
        : memref<?x?xf16, strided<[?, ?], offset: ?>> -> memref<?x?xf16, strided<[?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$coords, DenseI64ArrayAttr:$shape);
  let results = (outs Tile_View:$chunk);
  let assemblyFormat = [{ $view `[` $coords `]` `shape` $shape attr-dict `:` type($view) `->` type($chunk) }];
  let hasVerifier = 1;
}

def Tile_SelectViewOp : Tile_Op<"select_view", [Pure]> {
  let summary = "One of several views, by a number known at run time";
  let description = [{
    View number `number` of `views`, from 0 on. What a kernel that stands for many uses to say which of
    their arguments it works on: its code is the same for all of them.

    Example:
    ```mlir
    %W = tile.select_view %layer of (%W0, %W1) : memref<?x?xf32, strided<[?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins Index:$number, Variadic<Tile_View>:$views);
  let results = (outs Tile_View:$view);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_AccessOp<"gather", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads rows of a view, chosen by an index tile";
  let description = [{
    Row r of the tile is row `rows[r]` of the view, columns `coord * width` onwards. A row index
    outside of the view reads as padding.

    Example:
    ```mlir
    %x = tile.gather %X[%rows, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>, tensor<16xi32> -> tensor<16x64xf32>
    ```
  }];
  let arguments = (ins Tile_View:$view, Tile_RowIndices:$rows, Index:$coord, OptionalAttr<TypedAttrInterface>:$padding);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = [{ $view `[` $rows `,` $coord `]` (`padding` $padding^)? attr-dict `:` type($view) `,` type($rows) `->` type($tile) }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_AccessOp<"scatter", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes rows of a view, chosen by an index tile";
  let description = [{
    The inverse of tile.gather; rows outside of the view are dropped. If two rows of the tile name the
    same row of the view, the later one stays.

    Example:
    ```mlir
    tile.scatter %x, %X[%rows, %j] : tensor<16x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>, tensor<16xi32>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_View:$view, Tile_RowIndices:$rows, Index:$coord);
  let assemblyFormat = [{ $tile `,` $view `[` $rows `,` $coord `]` attr-dict `:` type($tile) `,` type($view) `,` type($rows) }];
  let hasVerifier = 1;
}

def Tile_AtomicAddOp : Tile_AccessOp<"atomic_add", [MemoryEffects<[MemRead, MemWrite]>,
    TypesMatchWith<"result has the tile's type", "tile", "old", "$_self">]> {
  let summary = "Adds a tile to a tile of a view, each element atomically";
  let description = [{
    Relaxed order; the sum of several cores is right but not their order. The result holds the
    values before; elements beyond the view give 0. f32, i32 and i64.

    Example:
    ```mlir
    %old = tile.atomic_add %v, %C[%i, %j] : tensor<8x16xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_View:$view, Variadic<Index>:$coords);
  let results = (outs Tile_Tile:$old);
  let assemblyFormat = [{ $tile `,` $view `[` $coords `]` attr-dict `:` type($tile) `,` type($view) }];
  let hasVerifier = 1;
}

//===-- Computation ---------------------------------------------------------------------------===//

def Tile_DotOp : Tile_Op<"dot", [Pure, TypesMatchWith<"result has the accumulator's type", "acc", "result", "$_self">]> {
  let summary = "acc + lhs x rhs";
  let description = [{
    Matrix product of the last two dimensions, leading ones are batch. Float inputs of one type
    accumulate in f32, integer inputs (i8) in i32. `precision tf32`, for f32 inputs only, allows them to
    be rounded to 10 bits of mantissa. `precision fast_accum`, for 8-bit floats only, allows fast
    accumulation: runs of up to 128 terms are added up with 13 bits behind the binary point of the largest
    number of each addition, as tensor cores do, and each run is promoted to fp32. The order of the
    sum over k is not specified, but is the same on every run.

    Example:
    ```mlir
    %d = tile.dot %a, %b, %acc : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Tile:$acc,
                       DefaultValuedAttr<Tile_Precision, "::ditron::core::Precision::ieee">:$precision);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $lhs `,` $rhs `,` $acc (`precision` $precision^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($acc) }];
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "Combines the elements along one axis";
  let description = [{
    The axis stays with extent 1. Narrow floats combine in f32 and round once; NaN propagates. i1 does
    not combine: cast it first.

    Example:
    ```mlir
    %s = tile.reduce sum %x axis 1 : tensor<16x256xf32> -> tensor<16x1xf32>
    ```
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tile:$source, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $kind $source `axis` $axis attr-dict `:` type($source) `->` type($result) }];
  let hasVerifier = 1;
}

def Tile_ReduceIndexOp : Tile_Op<"reduce_index", [Pure]> {
  let summary = "Where the largest or smallest element along one axis stands";
  let description = [{
    The axis stays with extent 1; the first position where there are several; a NaN counts as the
    extremum, as in NumPy.

    Example:
    ```mlir
    %w = tile.reduce_index max %x axis 1 : tensor<16x256xf32> -> tensor<16x1xi32>
    ```
  }];
  let arguments = (ins Tile_Extremum:$kind, Tile_Tile:$source, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $kind $source `axis` $axis attr-dict `:` type($source) `->` type($result) }];
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_Op<"scan", [Pure, SameOperandsAndResultType]> {
  let summary = "Running combination along one axis, the element itself included";
  let description = [{
    Example:
    ```mlir
    %s = tile.scan sum %x axis 1 : tensor<16x256xf32>
    ```
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tile:$source, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $kind $source `axis` $axis attr-dict `:` type($source) }];
  let hasVerifier = 1;
}

def Tile_CastOp : Tile_Op<"cast", [Pure]> {
  let summary = "Converts elements to another type";
  let description = [{
    `rounding` says what happens to a value between two of the result's. `saturate` clamps to the
    result's finite range, infinities too. Without it floats overflow as IEEE does: to infinity, or
    toward_zero to the largest finite value, where f8E4M3FN has NaN instead of infinities; and integers
    wrap. Float to integer always saturates and NaN gives 0. An i1 counts as 0 or 1, and a cast to i1
    says whether the value differs from 0, as NaN does.

    Example:
    ```mlir
    %h = tile.cast %x : tensor<16x16xf32> to tensor<16x16xbf16>
    %q = tile.cast %x rounding nearest_even saturate : tensor<16x16xf32> to tensor<16x16xi8>
    ```
  }];
  let arguments = (ins Tile_TileOrScalar:$source,
                       DefaultValuedAttr<Tile_Rounding, "::ditron::core::Rounding::nearest_even">:$rounding,
                       UnitAttr:$saturate);
  let results = (outs Tile_TileOrScalar:$result);
  let assemblyFormat = [{ $source (`rounding` $rounding^)? (`saturate` $saturate^)? attr-dict `:` type($source) `to` type($result) }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

//===-- Shape ---------------------------------------------------------------------------------===//

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "Repeats a tile along its dimensions of extent 1";
  let description = [{
    Example:
    ```mlir
    %b = tile.broadcast %x : tensor<16x1xf32> -> tensor<16x256xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $source attr-dict `:` type($source) `->` type($result) }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "Permutes dimensions: dimension d of the result is dimension permutation[d] of the source";
  let description = [{
    Example:
    ```mlir
    %t = tile.transpose %x [1, 0] : tensor<16x32xf32> -> tensor<32x16xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$source, DenseI64ArrayAttr:$permutation);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $source $permutation attr-dict `:` type($source) `->` type($result) }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{
    Example:
    ```mlir
    %r = tile.reshape %x : tensor<16x32xf32> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $source attr-dict `:` type($source) `->` type($result) }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "The same tile, living elsewhere";
  let description = [{
    What moves, and how far, follows from the two layouts (ditron/core/LayoutConversion.h).

    Example:
    ```mlir
    %r = tile.convert_layout %x : tensor<32x4xf32, #tile.layout<"(32 : 1@lane, 4 : 1@reg)">>
           -> tensor<32x4xf32, #tile.layout<"(128 : 1@m)">>
    ```
  }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $source attr-dict `:` type($source) `->` type($result) }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "0, 1, 2, ... along one axis";
  let description = [{
    Example:
    ```mlir
    %i = tile.iota axis 1 : tensor<1x256xi32>
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ `axis` $axis attr-dict `:` type($result) }];
  let hasVerifier = 1;
}

//===-- Checks --------------------------------------------------------------------------------===//

def Tile_LaunchResource : Resource<"::ditron::core::LaunchResource">;

def Tile_RequireOp : Tile_Op<"require", [MemoryEffects<[MemWrite<Tile_LaunchResource>]>]> {
  let summary = "Ends the launch, on every rank, unless a condition holds";
  let description = [{
    The error names rank, core, role and source line; `message` says what is wrong, its `{}` standing
    for `values` in order. No memory is touched, so accesses may move across it.

    Example:
    ```mlir
    tile.require %ok, "takes {} rows of {}"(%rows, %most)
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message, Variadic<Index>:$values);
  let assemblyFormat = "$condition `,` $message (`(` $values^ `)`)? attr-dict";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

//===-- Variables (removed by PromoteVars) ----------------------------------------------------===//

def Tile_VarOp : Tile_Op<"var", [TypesMatchWith<"variable of the initial value's type", "initial", "var",
                                 "::ditron::core::VarType::get($_self.getContext(), $_self)">,
                                 MemoryEffects<[MemAlloc]>]> {
  let summary = "Declares a variable";
  let description = [{
    Example:
    ```mlir
    %acc = tile.var %zero : tensor<128x256xf32>
    %now = tile.get %acc : tensor<128x256xf32>
    tile.set %acc, %next : tensor<128x256xf32>
    ```
  }];
  let arguments = (ins Tile_Value:$initial);
  let results = (outs Tile_VarType:$var);
  let assemblyFormat = [{ $initial attr-dict `:` type($initial) }];
}

def Tile_GetOp : Tile_Op<"get", [MemoryEffects<[MemRead]>, TypesMatchWith<"variable of the value's type", "value", "var",
                                 "::ditron::core::VarType::get($_self.getContext(), $_self)">]> {
  let summary = "Reads a variable";
  let description = [{
    Example:
    ```mlir
    %now = tile.get %acc : tensor<128x256xf32>
    ```
  }];
  let arguments = (ins Tile_VarType:$var);
  let results = (outs Tile_Value:$value);
  let assemblyFormat = [{ $var attr-dict `:` type($value) }];
}

def Tile_SetOp : Tile_Op<"set", [MemoryEffects<[MemWrite]>, TypesMatchWith<"variable of the value's type", "value", "var",
                                 "::ditron::core::VarType::get($_self.getContext(), $_self)">]> {
  let summary = "Writes a variable";
  let description = [{
    Example:
    ```mlir
    tile.set %acc, %next : tensor<128x256xf32>
    ```
  }];
  let arguments = (ins Tile_VarType:$var, Tile_Value:$value);
  let assemblyFormat = [{ $var `,` $value attr-dict `:` type($value) }];
}

#endif
