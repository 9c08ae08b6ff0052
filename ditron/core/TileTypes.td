// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the operands of every level are made of: elements, tiles and views.
#ifndef DITRON_CORE_TILETYPES
#define DITRON_CORE_TILETYPES

include "mlir/IR/OpBase.td"

def Tile_Element : AnyTypeOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, I1, I8, I16, I32, I64], "element type">;
def Tile_Tile : StaticShapeTensorOf<[Tile_Element]>;
def Tile_View : StridedMemRefOf<[Tile_Element]>;
def Tile_RowIndices : StaticShapeTensorOf<[I32]>;
/// A tile, or one element outside of any tile.
def Tile_TileOrScalar : AnyTypeOf<[Tile_Tile, Tile_Element], "tile or scalar">;
def Tile_Value : AnyTypeOf<[Tile_Tile, Tile_Element, Index], "tile, scalar or index">;

#endif
