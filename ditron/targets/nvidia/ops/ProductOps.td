// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of tensor cores that take operands from shared memory, or while they are on their way.
#ifndef DITRON_NVIDIA_PRODUCTOPS
#define DITRON_NVIDIA_PRODUCTOPS

include "ditron/targets/nvidia/ops/NvidiaDialect.td"

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

def Nvidia_SlicedDotOp : Nvidia_Op<"sliced_dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "A product of few rows, whose terms are sliced over warps (sliced-K)";
  let description = [{
    Of n rows of `weights` and m rows of `factor`, of k terms each: slice s adds its products, those of terms
    [s * k / slices, (s + 1) * k / slices), to `acc`[s, n, m]. m is 1, 2, 4 or 8; the rows of `weights` are
    dealt to as many groups of warps as there are warps for each slice. Of more slices than warps, each warp has as
    many. `transposed`: neighbours in a column of `weights` are neighbours in memory.

    Example:
    ```mlir
    %s = nvidia.sliced_dot %w, %x, %acc : tensor<16x1024xbf16>, tensor<1x1024xbf16> -> tensor<8x16x1xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$weights, Tile_Tile:$factor, Tile_Tile:$acc, UnitAttr:$transposed);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ (`transposed` $transposed^)? $weights `,` $factor `,` $acc attr-dict
                          `:` type($weights) `,` type($factor) `->` type($result) }];
  let hasVerifier = 1;
}

def Nvidia_WgmmaOp : Nvidia_Op<"wgmma", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "Begins an asynchronous product of tiles, by warpgroups";
  let description = [{
    As tile.dot. The right side is in shared memory; the left one too, or packed in registers. Until
    an nvidia.wgmma_wait that covers it, the result may only go into the next product, and the operands
    stay in use.

    Example:
    ```mlir
    %d = nvidia.wgmma %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Tile:$acc);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def Nvidia_WgmmaWaitOp : Nvidia_Op<"wgmma_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until at most `pending` of this warp's products are under way";
  let description = [{
    The results are the values, which may be read from here on, as their products are done.

    Example:
    ```mlir
    nvidia.wgmma_wait 1
    %r = nvidia.wgmma_wait 0 of %d : tensor<64x64xf32> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins I64Attr:$pending, Variadic<Tile_Tile>:$values);
  let results = (outs Variadic<Tile_Tile>:$ready);
  let assemblyFormat = "$pending (`of` $values^ `:` type($values) `->` type($ready))? attr-dict";
  let hasVerifier = 1;
}

def Nvidia_WgmmaPromoteOp : Nvidia_Op<"wgmma_promote", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "Adds a product of fp8 tiles to fp32 sums, part by part, by warpgroups";
  let description = [{
    A part has 64 rows of each warpgroup and at most `columns` columns, a multiple of 8. It is computed in registers of
    its own and promoted to fp32 when it is done, so the product takes few registers beside the accumulator. No product is
    under way afterwards.

    Example:
    ```mlir
    %r = nvidia.wgmma_promote %a, %b, %acc by 128 : tensor<128x128xf8E4M3FN>, tensor<128x256xf8E4M3FN> -> tensor<128x256xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Tile:$acc, I64Attr:$columns);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc `by` $columns attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def Nvidia_PingPongWaitOp : Nvidia_Op<"ping_pong_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Ping-pong scheduling: this warpgroup waits until the one before it has arrived once more";
  let description = [{
    The warpgroup before the first one is the last one, which arrives when the kernel begins. All
    warpgroups wait and arrive equally often.

    Example:
    ```mlir
    nvidia.ping_pong_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Nvidia_PingPongArriveOp : Nvidia_Op<"ping_pong_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Lets the next warpgroup go on: see nvidia.ping_pong_wait";
  let description = [{
    Example:
    ```mlir
    nvidia.ping_pong_arrive
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif
