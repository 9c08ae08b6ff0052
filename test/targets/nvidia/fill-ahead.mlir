// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts=tensor-maps=true --nvidia-specialize-warps --nvidia-dependent-launch | FileCheck %s

// Tiles of a constant come ahead, those of the first tile of C, as many as the pipe has slots.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.readonly, tile.unit_stride}
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<?x?xbf16, strided<[?, ?], offset: ?>> {simt.read_ahead, tile.constant
// CHECK: %[[ROWS:.*]] = arith.minui
// CHECK: nvidia.prefetch_maps
// CHECK: %[[PIPE:.*]] = nvidia.pipe rows(%[[ROWS]], %{{.*}}) : <14 of
// CHECK: nvidia.ahead {
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[END]] step
// CHECK: %[[SLOTS:.*]] = arith.constant 14
// CHECK: %[[DEPTH:.*]] = arith.minsi
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %[[DEPTH]] step
// CHECK-NEXT: %[[SLOT:.*]] = nvidia.expect %[[PIPE]] bytes 8192
// CHECK-NEXT: nvidia.tma_load %[[W]][%[[J]], %[[K]]] by %{{.*}} to %[[PIPE]][%[[SLOT]]] tile 1 shape [64, 64] :
// CHECK-NOT: nvidia.tma_load
// CHECK: nvidia.grid_dependency_wait
// CHECK-NEXT: nvidia.roles producer {
// CHECK: nvidia.acquire %[[PIPE]] ahead 8192
// CHECK-NEXT: nvidia.tma_load %[[X]][{{.*}}tile 0 shape [64, 64] :
// CHECK-NEXT: nvidia.tma_load %[[W]][{{.*}}tile 1 shape [64, 64] unless_ahead :
func.func @product(%x: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly}, %W: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly, tile.constant}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %cta: index, %n: index, %ctas: index, %depth: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  scf.for %j = %cta to %n step %ctas {
    %acc = scf.for %k = %c0 to %depth step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %b = tile.load %W[%j, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %w = tile.transpose %b [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %w, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %acc, %C[%c0, %j] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  }
  return
}

// Where a launch has to be waited for to find a tile, nothing comes ahead.
// CHECK-LABEL: func.func @found_in_memory
// CHECK-NOT: nvidia.ahead
// CHECK: return
func.func @found_in_memory(%x: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly}, %W: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly, tile.constant}, %places: memref<?xi32, strided<[?], offset: ?>> {tile.readonly}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %depth: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %place = memref.load %places[%c0] : memref<?xi32, strided<[?], offset: ?>>
  %j = arith.index_cast %place : i32 to index
  %acc = scf.for %k = %c0 to %depth step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %read = memref.load %places[%k] : memref<?xi32, strided<[?], offset: ?>>
    %l = arith.index_cast %read : i32 to index
    %a = tile.load %x[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %b = tile.load %W[%j, %l] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %w = tile.transpose %b [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %w, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %acc, %C[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// Tiles of two pipes that are filled in one loop come ahead, as many turns as each has slots.
// CHECK-LABEL: func.func @gated
// CHECK: %[[FIRST:.*]] = nvidia.pipe : <[[SLOTS:[0-9]+]] of tensor<{{.*}}>>
// CHECK: %[[SECOND:.*]] = nvidia.pipe : <[[SLOTS]] of
// CHECK: nvidia.ahead {
// CHECK: arith.constant [[SLOTS]] : index
// CHECK: nvidia.expect %[[FIRST]] bytes 8192
// CHECK-NEXT: nvidia.tma_load
// CHECK: nvidia.expect %[[SECOND]] bytes 8192
// CHECK-NEXT: nvidia.tma_load
// CHECK-NOT: nvidia.tma_load
// CHECK: nvidia.roles producer {
// CHECK: nvidia.acquire %[[FIRST]] ahead 8192
// CHECK: unless_ahead
// CHECK: nvidia.acquire %[[SECOND]] ahead 8192
// CHECK: unless_ahead
func.func @gated(%x: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly}, %W: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly, tile.constant}, %V: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly, tile.constant}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %j: index, %depth: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %sums:2 = scf.for %k = %c0 to %depth step %c1 iter_args(%s = %zero, %t = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %b = tile.load %W[%j, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %t0 = tile.transpose %a [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %b, %t0, %s : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %e = tile.load %V[%j, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %f = tile.dot %e, %t0, %t : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d, %f : tensor<64x64xf32>, tensor<64x64xf32>
  }
  %y = arith.mulf %sums#0, %sums#1 : tensor<64x64xf32>
  tile.store %y, %C[%c0, %j] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// While a producer waits for another rank, tiles come that the launch does not write, constants or not.
// CHECK-LABEL: func.func @gathered
// CHECK: nvidia.grid_dependency_wait
// CHECK-NEXT: simt.begin
// CHECK: nvidia.ahead {
// CHECK: %[[SLOT:.*]] = nvidia.expect %{{.*}} bytes 8192
// CHECK-NEXT: nvidia.tma_load %arg1[{{.*}} to %{{.*}}[%[[SLOT]]] tile 1 shape [64, 64] :
// CHECK-NOT: nvidia.tma_load
// CHECK: nvidia.roles producer {
// CHECK: simt.wait
// CHECK: nvidia.acquire %{{.*}} ahead 8192
// CHECK-NEXT: nvidia.tma_load %arg0[{{.*}}tile 0 shape [64, 64] :
// CHECK-NEXT: nvidia.tma_load %arg1[{{.*}}tile 1 shape [64, 64] unless_ahead :
func.func @gathered(%x: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %W: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %cta: index, %n: index, %ctas: index, %depth: index, %cell: index, %status: !llvm.ptr, %rank: index) attributes {simt.distributed} {
  simt.begin(%status, %rank) : !llvm.ptr, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  scf.for %j = %cta to %n step %ctas {
    simt.wait %cell for %c1 site 0 scope "gpu" in(%status, %rank) : !llvm.ptr, index
    %acc = scf.for %k = %c0 to %depth step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %b = tile.load %W[%j, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %w = tile.transpose %b [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %w, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %acc, %C[%c0, %j] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  }
  simt.end(%status, %rank) : !llvm.ptr, index
  return
}

// Pages of caches, whose numbers no launch writes, are asked for by the consumers, 64 KiB an SM: two of 16 KB here, and 64 KB
// of two slots where they are one. Numbers are read where their places exist; each but the first comes from the turn before.
// What a launch may end for, it looks at behind the wait.
// CHECK-LABEL: func.func @pages
// CHECK-SAME: %[[PAGES:[a-z0-9]+]]: memref<?xi32, strided<[?], offset: ?>> {simt.read_ahead, tile.constant, tile.readonly}
// CHECK: nvidia.ahead consumers {
// CHECK: scf.if
// CHECK: %[[FIRST:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK-NEXT: memref.load %[[PAGES]]
// CHECK: scf.for %{{.*}} iter_args(%[[PAGE:.*]] = %{{.*}}) -> (index) {
// CHECK: %[[NEXT:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK-NEXT: memref.load %[[PAGES]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[NEXT]]
// CHECK: simt.prefetch %{{.*}}[%[[PAGE]], %{{.*}}] {{.*}} -> tensor<64x64xbf16>
// CHECK-NEXT: scf.yield %[[AT]]
// CHECK: nvidia.pipe
// CHECK: nvidia.grid_dependency_wait
// CHECK-NEXT: scf.if
// CHECK-NEXT: llvm.inline_asm has_side_effects "exit;"
// CHECK: nvidia.roles producer {
func.func @pages(%q: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly}, %cache: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride, tile.readonly, tile.lasting}, %pages: memref<?xi32, strided<[?], offset: ?>> {tile.readonly, tile.constant}, %o: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %n: index, %isWrong: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  scf.if %isWrong {
    llvm.inline_asm has_side_effects "exit;", "" : () -> ()
  }
  %a = tile.load %q[%c0, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
  %number = memref.load %pages[%c0] : memref<?xi32, strided<[?], offset: ?>>
  %first = arith.index_cast %number : i32 to index
  %acc:2 = scf.for %j = %c0 to %n step %c1 iter_args(%page = %first, %sum = %zero) -> (index, tensor<64x64xf32>) {
    %next = arith.addi %j, %c1 : index
    %read = memref.load %pages[%next] : memref<?xi32, strided<[?], offset: ?>>
    %at = arith.index_cast %read : i32 to index
    %b = tile.load %cache[%page, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %w = tile.transpose %b [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %w, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %at, %d : index, tensor<64x64xf32>
  }
  tile.store %acc#1, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}
