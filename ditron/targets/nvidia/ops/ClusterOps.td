// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CTAs of a cluster: which one this is, and sums that they share.
#ifndef DITRON_NVIDIA_CLUSTEROPS
#define DITRON_NVIDIA_CLUSTEROPS

include "ditron/targets/nvidia/ops/NvidiaDialect.td"

def Nvidia_ClusterRankOp : Nvidia_Op<"cluster_rank", [Pure]> {
  let summary = "The rank of this CTA in its cluster";
  let description = [{
    A value that does not depend on it is the same for all CTAs of the cluster.

    Example:
    ```mlir
    %m = nvidia.cluster_rank
    ```
  }];
  let results = (outs Index:$number);
  let assemblyFormat = "attr-dict";
}

def Nvidia_ClusterBoxType : TypeDef<Nvidia_Dialect, "ClusterBox"> {
  let mnemonic = "cluster_box";
  let summary = "Shared memory of a CTA into which others of its cluster put tiles, for it to add";
}

def Nvidia_ClusterBoxOp : Nvidia_Op<"cluster_box", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "Makes a box, for all warps of the CTA";
  let description = [{
    Example:
    ```mlir
    %box = nvidia.cluster_box : !nvidia.cluster_box
    ```
  }];
  let results = (outs Nvidia_ClusterBoxType:$box);
  let assemblyFormat = "attr-dict `:` qualified(type($box))";
}

def Nvidia_ClusterSumOp : Nvidia_Op<"cluster_sum",
    [Elementwise, AllTypesMatch<["tile", "sum"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Adds the tiles of several CTAs of a cluster";
  let description = [{
    `ctas` CTAs whose ranks follow one another, the first being a multiple of their number, come to it
    with a tile each, equally often. The first one gets the sum, in the order of the ranks, and the
    others what they gave.

    Example:
    ```mlir
    %sum = nvidia.cluster_sum %tile of 2 in %box : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Nvidia_ClusterBoxType:$box, I64Attr:$ctas);
  let results = (outs Tile_Tile:$sum);
  let assemblyFormat = "$tile `of` $ctas `in` $box attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

#endif
