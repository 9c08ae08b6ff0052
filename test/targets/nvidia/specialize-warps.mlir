// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-assign-layouts=tensor-maps=true --nvidia-specialize-warps | FileCheck %s

// The producer loads the tiles of A and B ahead; the consumer multiplies them, and stores while the next ones arrive.
// CHECK-LABEL: func.func @gemm
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xbf16
// CHECK-SAME: %[[B:[a-z0-9]+]]: memref<?x?xbf16
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<?x?xbf16
// CHECK-SAME: %[[MAPA:[a-z0-9]+]]: !llvm.ptr {simt.tensor_map = {argument = 0 : i64, box = array<i64: 128, 64>}}
// CHECK-SAME: %[[MAPB:[a-z0-9]+]]: !llvm.ptr {simt.tensor_map = {argument = 1 : i64, box = array<i64: 64, 64>}}
// CHECK-SAME: simt.producer_warps = 4
// CHECK-SAME: simt.warps = 8
// CHECK: %[[PIPE:.*]] = nvidia.pipe : <4 of tensor<128x64xbf16, #tile.layout<"(8192 : 1@m | swizzle<3,3,3>@m)">>, tensor<64x256xbf16, #tile.layout<"(64 : 64@m, 4 : 4096@m, 64 : 1@m | swizzle<3,3,3>@m)">>>
// CHECK: nvidia.roles producer {
// CHECK-NEXT: nvidia.prefetch_maps %[[MAPA]], %[[MAPB]] :
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[J:.*]] = arith.addi %[[I]]
// CHECK-NEXT: scf.for %[[K:.*]] =
// CHECK-NEXT: %[[SLOT:.*]] = nvidia.acquire %[[PIPE]]
// CHECK-NEXT: nvidia.tma_load %[[A]][%[[I]], %[[K]]] by %[[MAPA]] to %[[PIPE]][%[[SLOT]]] tile 0 shape [128, 64]
// CHECK-NEXT: nvidia.tma_load %[[B]][%[[K]], %[[J]]] by %[[MAPB]] to %[[PIPE]][%[[SLOT]]] tile 1 shape [64, 256]
// CHECK-NOT: tile.{{load|dot|store}}
// CHECK: } consumer {
// CHECK: scf.for
// CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = %[[FIRST:.*]] to %[[LAST:.*]] step
// CHECK-NEXT: %[[TILES:.*]]:2 = nvidia.receive %[[PIPE]]
// CHECK-NEXT: %[[D:.*]] = nvidia.wgmma %[[TILES]]#0, %[[TILES]]#1, %{{.*}} -> tensor<128x256xf32, #tile.layout<"(8 : 1@warp, 2 : 2@reg, 8 : 4@lane, 32 : 4@reg, 4 : 1@lane, 2 : 1@reg)">>
// CHECK-NEXT: nvidia.wgmma_wait 1
// CHECK-NEXT: %[[LATER:.*]] = arith.cmpi sgt, %[[K]], %[[FIRST]]
// CHECK-NEXT: nvidia.release %[[PIPE]] if %[[LATER]]
// CHECK-NEXT: scf.yield %[[D]]
// CHECK: %[[DONE:.*]] = nvidia.wgmma_wait 0 of %[[SUM]]
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[LAST]], %[[FIRST]]
// CHECK-NEXT: nvidia.release %[[PIPE]] if %[[ANY]]
// CHECK: tile.cast %[[DONE]]
// CHECK: tile.store
func.func @gemm(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  scf.for %i = %c0 to %m step %c1 {
    %j = arith.addi %i, %n : index
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x256xf32>) {
      %a = tile.load %A[%i, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<128x64xbf16>
      %b = tile.load %B[%k, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x256xbf16>
      %d = tile.dot %a, %b, %sum : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
      scf.yield %d : tensor<128x256xf32>
    }
    %c = tile.cast %acc : tensor<128x256xf32> to tensor<128x256xbf16>
    tile.store %c, %C[%i, %j] : tensor<128x256xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  }
  return
}

// -----

// The iteration reads its product: it waits for it there, and the slot is free at once.
// CHECK-LABEL: func.func @waited
// CHECK: nvidia.wgmma
// CHECK-NEXT: %[[D:.*]] = nvidia.wgmma_wait 0 of
// CHECK-NEXT: %[[YES:.*]] = arith.constant true
// CHECK-NEXT: nvidia.release %{{.*}} if %[[YES]]
// CHECK-NEXT: math.absf %[[D]]
func.func @waited(%A: memref<?x?xf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %A[%c0, %k] : memref<?x?xf16, strided<[?, ?], offset: ?>> -> tensor<64x64xf16>
    %b = tile.load %B[%c0, %k] : memref<?x?xf16, strided<[?, ?], offset: ?>> -> tensor<64x64xf16>
    %t = tile.transpose %b [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
    %d = tile.dot %a, %t, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %x = math.absf %d : tensor<64x64xf32>
    scf.yield %x : tensor<64x64xf32>
  }
  tile.store %acc, %C[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// What the kernel writes is not read ahead.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT: simt.producer_warps
// CHECK-NOT: nvidia.roles
// CHECK: tile.dot
func.func @in_place(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  scf.for %i = %c0 to %m step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %A[%i, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %b = tile.load %B[%k, %i] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    %c = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
    tile.store %c, %A[%i, %c0] : tensor<64x64xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  }
  return
}

// -----

// Where to read is itself read: the producer cannot go ahead.
// CHECK-LABEL: func.func @dependent
// CHECK-NOT: nvidia.roles
// CHECK: tile.dot
func.func @dependent(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %where: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %at = memref.load %where[%k] : memref<?xindex>
    %a = tile.load %A[%c0, %at] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %b = tile.load %B[%at, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %acc, %C[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// What a loop passes on is the producer's too, as far as it can be computed there.
// CHECK-LABEL: func.func @carried
// CHECK: nvidia.roles producer {
// CHECK: scf.for %[[I:.*]] = %{{.*}} iter_args(%[[BEFORE:.*]] = %{{[a-z0-9_]*}}) -> (index)
// CHECK: nvidia.tma_load %{{.*}}[%[[BEFORE]], %{{.*}}] by
// CHECK: %[[SIZE:.*]] = memref.load %{{.*}}[%[[I]]]
// CHECK: %[[AFTER:.*]] = arith.addi %[[BEFORE]], %[[SIZE]]
// CHECK: scf.yield %[[AFTER]] : index
// CHECK: } consumer {
// CHECK: scf.for {{.*}} -> (index, index)
func.func @carried(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %starts: memref<?xindex> {tile.readonly}, %where: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %all:2 = scf.for %i = %c0 to %n step %c1 iter_args(%before = %c0, %total = %c0) -> (index, index) {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %A[%before, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %b = tile.load %B[%k, %before] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %acc, %C[%before, %total] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
    %size = memref.load %starts[%i] : memref<?xindex>
    %after = arith.addi %before, %size : index
    %seen = memref.load %where[%i] : memref<?xindex>
    %sum = arith.addi %total, %seen : index
    scf.yield %after, %sum : index, index
  }
  return
}

// -----

// Here it depends on what may be written meanwhile.
// CHECK-LABEL: func.func @carried_from_memory
// CHECK-NOT: nvidia.roles
// CHECK: tile.dot
func.func @carried_from_memory(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %starts: memref<?xindex> {tile.readonly}, %where: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %all:2 = scf.for %i = %c0 to %n step %c1 iter_args(%before = %c0, %total = %c0) -> (index, index) {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %A[%before, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %b = tile.load %B[%k, %before] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %acc, %C[%before, %total] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
    %size = memref.load %where[%i] : memref<?xindex>
    %after = arith.addi %before, %size : index
    %seen = memref.load %where[%i] : memref<?xindex>
    %sum = arith.addi %total, %seen : index
    scf.yield %after, %sum : index, index
  }
  return
}

// -----

// Leading dimensions are coordinates of TMA too. A slot is as wide as whole panels.
// CHECK-LABEL: func.func @batched
// CHECK-SAME: simt.tensor_map = {argument = 0 : i64, box = array<i64: 1, 64, 64>, fitted = 1 : i64}
// CHECK: nvidia.pipe rows(%{{.*}}, %{{.*}}) : <{{[0-9]+}} of tensor<64x64xbf16, {{.*}}>, tensor<64x128xbf16, #tile.layout<"(64 : 64@m, 2 : 4096@m, 64 : 1@m | swizzle<3,3,3>@m)">>>
// CHECK: nvidia.tma_load %{{.*}}[%[[B:.*]], %{{.*}}, %[[K:.*]]] by %{{.*}} tile 0 shape [64, 64]
// CHECK: nvidia.tma_load %{{.*}}[%[[B]], %[[K]], %{{.*}}] by %{{.*}} tile 1 shape [64, 80]
// CHECK: nvidia.wgmma {{.*}} : tensor<64x64xbf16, {{.*}}>, tensor<64x128xbf16, {{.*}}> -> tensor<64x80xf32
func.func @batched(%A: memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>> {tile.unit_stride}, %batch: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x80xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x80xf32>) {
    %a = tile.load %A[%batch, %c0, %k] : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> -> tensor<64x64xbf16>
    %b = tile.load %B[%batch, %k, %c0] : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> -> tensor<64x80xbf16>
    %d = tile.dot %a, %b, %sum : tensor<64x64xbf16>, tensor<64x80xbf16> -> tensor<64x80xf32>
    scf.yield %d : tensor<64x80xf32>
  }
  tile.store %acc, %C[%batch, %c0, %c0] : tensor<64x80xf32>, memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
  return
}

// -----

// Tiles of slices: what the producer reads to find them it reads too. Rows beyond a slice that are stored nowhere may be
// anything; those that a sum would take are made zero. A tile that stays has a pipe of its own, and so has what each
// product takes. The second product is begun an iteration later, beside the first.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: simt.tensor_map = {argument = 0 : i64, box = array<i64: 128, 1, 64>}
// CHECK-SAME: simt.tensor_map = {argument = 1 : i64, box = array<i64: 64, 1, 64>}
// CHECK: %[[Q:.*]] = nvidia.pipe : <1 of tensor<128x64xbf16
// CHECK: %[[K:.*]] = nvidia.pipe : <{{[0-9]+}} of tensor<64x64xbf16
// CHECK: %[[V:.*]] = nvidia.pipe : <{{[0-9]+}} of tensor<64x64xbf16
// CHECK: nvidia.roles producer {
// CHECK: nvidia.acquire %[[Q]]
// CHECK: scf.for
// CHECK-NEXT: nvidia.acquire %[[K]]
// CHECK-NEXT: nvidia.tma_load
// CHECK-NEXT: nvidia.acquire %[[V]]
// CHECK-NEXT: nvidia.tma_load
// CHECK: } consumer {
// CHECK: %[[MINE:.*]] = nvidia.receive %[[Q]]
// CHECK-NOT: nvidia.clip
// CHECK: scf.if
// CHECK: nvidia.receive %[[K]]
// CHECK: nvidia.clip
// CHECK: %[[FIRST:.*]] = nvidia.wgmma %[[MINE]]
// CHECK-NEXT: nvidia.wgmma_wait 0 of %[[FIRST]]
// CHECK: nvidia.release %[[K]]
// CHECK: %[[P:.*]] = nvidia.pack
// CHECK: %[[LOOP:.*]]:{{[0-9]}} = scf.for {{.*}} iter_args(
// CHECK: nvidia.ping_pong_wait
// CHECK-NEXT: %[[S:.*]] = nvidia.wgmma %[[MINE]]
// CHECK: %[[TILE:.*]] = nvidia.receive %[[V]]
// CHECK: nvidia.clip %[[TILE]]
// CHECK: %[[D:.*]] = nvidia.wgmma %{{.*}} : tensor<128x32xi32
// CHECK-NEXT: nvidia.ping_pong_arrive
// CHECK-NEXT: %[[SCORES:.*]] = nvidia.wgmma_wait 1 of %[[S]]
// CHECK: nvidia.release %[[K]]
// CHECK: math.exp2 %[[SCORES]]
// CHECK: nvidia.wgmma_wait 0 of %[[D]]
// CHECK: nvidia.release %[[V]]
// CHECK: scf.yield
// CHECK: nvidia.receive %[[V]]
// CHECK: nvidia.wgmma
// CHECK: nvidia.wgmma_wait 0
// CHECK: nvidia.release %[[V]]
// CHECK: nvidia.release %[[Q]]
// CHECK: tile.store
func.func @attention(%Q: memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> {tile.unit_stride}, %K: memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> {tile.unit_stride}, %V: memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> {tile.unit_stride}, %starts: memref<?xindex> {tile.readonly}, %O: memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> {tile.unit_stride}, %i: index, %head: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %first = memref.load %starts[%c0] : memref<?xindex>
  %count = memref.load %starts[%c1] : memref<?xindex>
  %d = memref.dim %Q, %c2 : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>>
  %dk = memref.dim %K, %c2 : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>>
  %dv = memref.dim %V, %c2 : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>>
  %do = memref.dim %O, %c2 : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>>
  %q = memref.subview %Q[%first, %head, 0] [%count, 1, %d] [1, 1, 1] : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> to memref<?x?xbf16, strided<[?, ?], offset: ?>>
  %k = memref.subview %K[%first, %head, 0] [%count, 1, %dk] [1, 1, 1] : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> to memref<?x?xbf16, strided<[?, ?], offset: ?>>
  %v = memref.subview %V[%first, %head, 0] [%count, 1, %dv] [1, 1, 1] : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> to memref<?x?xbf16, strided<[?, ?], offset: ?>>
  %o = memref.subview %O[%first, %head, 0] [%count, 1, %do] [1, 1, 1] : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> to memref<?x?xbf16, strided<[?, ?], offset: ?>>
  %mine = tile.load %q[%i, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<128x64xbf16>
  %n = arith.ceildivsi %count, %c64 : index
  %acc = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x64xf32>) {
    %keys = tile.load %k[%j, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %t = tile.transpose %keys [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %s = tile.dot %mine, %t, %zero : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %e = math.exp2 %s : tensor<128x64xf32>
    %scaled = arith.mulf %sum, %e : tensor<128x64xf32>
    %p = tile.cast %e : tensor<128x64xf32> to tensor<128x64xbf16>
    %values = tile.load %v[%j, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %r = tile.dot %p, %values, %scaled : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %r : tensor<128x64xf32>
  }
  %c = tile.cast %acc : tensor<128x64xf32> to tensor<128x64xbf16>
  tile.store %c, %o[%i, %c0] : tensor<128x64xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  return
}

// Fast accumulation: fp8 sums are promoted to fp32, in two parts where there are too few registers for sums as wide as
// the tile. The slot is free when the last part is done.
// CHECK-LABEL: func.func @fast_accum
// CHECK: consumer {
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<128x256xf32
// CHECK-NEXT: %[[TILES:.*]]:2 = nvidia.receive
// CHECK-NEXT: %[[B:.*]] = tile.transpose %[[TILES]]#1
// CHECK-NOT: nvidia.wgmma{{ }}
// CHECK: %[[D:.*]] = nvidia.wgmma_promote %[[TILES]]#0, %[[B]], %[[SUM]] by 128
// CHECK: nvidia.release
// CHECK-NEXT: scf.yield %[[D]]
func.func @fast_accum(%A: memref<?x?xf8E4M3FN, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xf8E4M3FN, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  scf.for %i = %c0 to %m step %c1 {
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x256xf32>) {
      %a = tile.load %A[%i, %k] : memref<?x?xf8E4M3FN, strided<[?, ?], offset: ?>> -> tensor<128x128xf8E4M3FN>
      %b = tile.load %B[%i, %k] : memref<?x?xf8E4M3FN, strided<[?, ?], offset: ?>> -> tensor<256x128xf8E4M3FN>
      %t = tile.transpose %b [1, 0] : tensor<256x128xf8E4M3FN> -> tensor<128x256xf8E4M3FN>
      %d = tile.dot %a, %t, %sum precision fast_accum : tensor<128x128xf8E4M3FN>, tensor<128x256xf8E4M3FN> -> tensor<128x256xf32>
      scf.yield %d : tensor<128x256xf32>
    }
    %c = tile.cast %acc : tensor<128x256xf32> to tensor<128x256xbf16>
    tile.store %c, %C[%i, %i] : tensor<128x256xbf16>, memref<?x?xbf16, strided<[?, ?], offset: ?>>
  }
  return
}

// A view may be made between the loads of a slot, where the left operand is loaded last.
// CHECK-LABEL: func.func @left_comes_last
// CHECK: %[[ROWS:.*]] = memref.subview
// CHECK: nvidia.acquire
// CHECK-NEXT: nvidia.tma_load %[[ROWS]][{{.*}}tile 0 shape [64, 64] :
// CHECK-NEXT: nvidia.tma_load %{{.*}}tile 1 shape [8, 64]
// CHECK: %[[TILES:.*]]:2 = nvidia.receive
// CHECK: %[[LEFT:.*]] = nvidia.clip %[[TILES]]#0
// CHECK: nvidia.wgmma %[[LEFT]],
func.func @left_comes_last(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x8xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x8xf32>) {
    %a = tile.load %A[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<8x64xbf16>
    %columns = memref.dim %B, %c1 : memref<?x?xbf16, strided<[?, ?], offset: ?>>
    %rows = memref.subview %B[0, 0] [%n, %columns] [1, 1] : memref<?x?xbf16, strided<[?, ?], offset: ?>> to memref<?x?xbf16, strided<[?, ?], offset: ?>>
    %b = tile.load %rows[%c0, %k] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %x = tile.transpose %a [1, 0] : tensor<8x64xbf16> -> tensor<64x8xbf16>
    %d = tile.dot %b, %x, %sum : tensor<64x64xbf16>, tensor<64x8xbf16> -> tensor<64x8xf32>
    scf.yield %d : tensor<64x8xf32>
  }
  tile.store %acc, %C[%c0, %c0] : tensor<64x8xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// Of a slice that is a tile come boxes of 16 rows where it ends within that; but of a left factor of few rows a box has as many
// as there are.
// CHECK-LABEL: func.func @slice_that_is_a_tile
// CHECK-SAME: %[[PART:[a-z0-9]+]]: !llvm.ptr {simt.tensor_map = {argument = 1 : i64, box = array<i64: 16, 64>}}
// CHECK: %[[ROWS:.*]] = memref.subview
// CHECK: nvidia.acquire
// CHECK: nvidia.tma_load %arg0[{{.*}}tile 0 shape [64, 64] :
// CHECK: %[[SIZE:.*]] = memref.dim %[[ROWS]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[SIZE]],
// CHECK-NEXT: nvidia.tma_load %[[ROWS]][{{.*}}tile 1 shape [64, 64] rows %[[LEFT]] by %[[PART]] :
func.func @slice_that_is_a_tile(%A: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %columns = memref.dim %B, %c1 : memref<?x?xbf16, strided<[?, ?], offset: ?>>
  %slice = memref.subview %B[%n, 0] [%n, %columns] [1, 1] : memref<?x?xbf16, strided<[?, ?], offset: ?>> to memref<?x?xbf16, strided<[?, ?], offset: ?>>
  %acc = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %A[%c0, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %b = tile.load %slice[%c0, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %acc, %C[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}

// -----

// Of an argument of known extents, a slice is whole where it has as many elements; and its type may have them.
// CHECK-LABEL: func.func @known_extents
// CHECK: nvidia.roles producer {
// CHECK: nvidia.tma_load %{{.*}}[{{.*}}tile 0 shape [64, 64] :
// CHECK: nvidia.tma_load %{{.*}}[{{.*}}tile 1 shape [64, 64] :
func.func @known_extents(%A: memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> {tile.unit_stride, tile.known_extents = array<i64: 8, 64, 256>}, %B: memref<?x?xbf16, strided<[?, ?], offset: ?>> {tile.unit_stride}, %C: memref<?x?xf32, strided<[?, ?], offset: ?>> {tile.unit_stride}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %slice = memref.subview %A[%n, 0, 0] [1, 64, 256] [1, 1, 1] : memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>> to memref<64x256xbf16, strided<[?, ?], offset: ?>>
  %part = memref.cast %slice : memref<64x256xbf16, strided<[?, ?], offset: ?>> to memref<?x?xbf16, strided<[?, ?], offset: ?>>
  %acc = scf.for %j = %c0 to %c4 step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %part[%c0, %j] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %b = tile.load %B[%j, %c0] : memref<?x?xbf16, strided<[?, ?], offset: ?>> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %acc, %C[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}
