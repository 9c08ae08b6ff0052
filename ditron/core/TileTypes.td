// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the operands of every level are made of: elements, tiles and views.
#ifndef DITRON_CORE_TILETYPES
#define DITRON_CORE_TILETYPES

include "mlir/IR/OpBase.td"

def Tile_Element : AnyTypeOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, I1, I8, I16, I32, I64], "element type">;
/// 1 to 4 static dimensions, each of extent 1 or more.
def Tile_Tile : Type<
    And<[RankedTensorOf<[Tile_Element]>.predicate,
         CPred<"::ditron::core::isTile(::llvm::cast<::mlir::RankedTensorType>($_self))">]>,
    "tile (1 to 4 static dimensions of extent 1 or more, at most 1048576 elements, of f32, f16, bf16, f8E4M3FN, f8E5M2, i1, i8, i16, i32 or i64)",
    "::mlir::RankedTensorType">;
def Tile_View : StridedMemRefOf<[Tile_Element]>;
def Tile_RowIndices : Type<
    And<[Tile_Tile.predicate, CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 1 && "
                                    "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(32)">]>,
    "tile of 1 dimension of i32", "::mlir::RankedTensorType">;
/// A tile, or one element outside of any tile.
def Tile_TileOrScalar : AnyTypeOf<[Tile_Tile, Tile_Element], "tile or scalar">;
def Tile_Value : AnyTypeOf<[Tile_Tile, Tile_Element, Index], "tile, scalar or index">;

#endif
