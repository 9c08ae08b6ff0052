// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-slice-products | FileCheck %s
// RUN: %opt %s --nvidia-slice-products --simt-assign-layouts --simt-tiles-to-threads | FileCheck %s --check-prefix=THREADS

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!result = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Each of 8 warps has the products of its 128 terms, for 16 rows of W; behind the loop they are added up. Whoever
// took the sum takes what they come to, a reduction too.
// CHECK-LABEL: func.func @few_rows(
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8x16x2xf32>
// CHECK: %[[SLICES:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[ZERO]]) -> (tensor<8x16x2xf32>) {
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[W:.*]] = tile.load
// CHECK-NOT: tile.transpose
// CHECK: %[[D:.*]] = nvidia.sliced_dot %[[W]], %[[X]], %[[SUM]] : tensor<16x1024xbf16>, tensor<2x1024xbf16> -> tensor<8x16x2xf32>
// CHECK-NEXT: scf.yield %[[D]]
// CHECK: %[[ALL:.*]] = tile.reduce sum %[[SLICES]] axis 0 : tensor<8x16x2xf32> -> tensor<1x16x2xf32>
// CHECK-NEXT: %[[FLAT:.*]] = tile.reshape %[[ALL]]
// CHECK-NEXT: %[[R:.*]] = tile.transpose %[[FLAT]] [1, 0] : tensor<16x2xf32> -> tensor<2x16xf32>
// CHECK-NEXT: tile.store %[[R]]
// CHECK-NEXT: %[[S:.*]] = tile.reduce sum %[[R]] axis 1
// CHECK-NEXT: tile.store %[[S]]
// A lane has 16 neighbouring bytes of a row, and one instruction multiplies 8 rows of such pieces: both halves of a
// fragment are words of the same rows. Of x a lane takes two words of four, by its column.
// THREADS-LABEL: func.func @few_rows(
// THREADS-SAME: simt.warps = 8
// THREADS: scf.for
// THREADS-COUNT-8: arith.select {{.*}} : i32
// THREADS-COUNT-8: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// THREADS-NOT: mma.sync
// THREADS: scf.yield
func.func @few_rows(%x: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                    %W: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                    %y: !result {tile.unit_stride, tile.alignment = 16 : i64}, %s: !result, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<2x16xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<2x16xf32>) {
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<2x1024xbf16>
    %w = tile.load %W[%c0, %k] : !matrix -> tensor<16x1024xbf16>
    %b = tile.transpose %w [1, 0] : tensor<16x1024xbf16> -> tensor<1024x16xbf16>
    %d = tile.dot %a, %b, %sum : tensor<2x1024xbf16>, tensor<1024x16xbf16> -> tensor<2x16xf32>
    scf.yield %d : tensor<2x16xf32>
  }
  tile.store %acc, %y[%c0, %c0] : tensor<2x16xf32>, !result
  %all = tile.reduce sum %acc axis 1 : tensor<2x16xf32> -> tensor<2x1xf32>
  tile.store %all, %s[%c0, %c0] : tensor<2x1xf32>, !result
  return
}

// -----

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!result = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Attention to 64 keys: four groups of warps have 16 keys each, so that two slices are added up; of the values,
// whose rows of a product are columns in memory, each group has 32 columns.
// CHECK-LABEL: func.func @attention(
// CHECK: %[[Q:.*]] = tile.load
// CHECK: %[[K:.*]] = tile.load
// CHECK: %[[V:.*]] = tile.load
// CHECK: nvidia.sliced_dot %[[K]], %[[Q]], %{{.*}} : tensor<64x128xbf16>, tensor<4x128xbf16> -> tensor<2x64x4xf32>
// CHECK: tile.reduce sum %{{.*}} axis 0 : tensor<2x64x4xf32>
// CHECK: %[[T:.*]] = tile.transpose %[[V]] [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
// CHECK: nvidia.sliced_dot transposed %[[T]], %{{.*}}, %{{.*}} : tensor<128x64xbf16>, tensor<4x64xbf16> -> tensor<{{[0-9]+}}x128x4xf32>
// THREADS-LABEL: func.func @attention(
// THREADS: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @attention(%q: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                     %keys: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                     %values: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64}, %o: !result) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<4x64xf32>
  %none = arith.constant dense<0.0> : tensor<4x128xf32>
  %heads = tile.load %q[%c0, %c0] : !matrix -> tensor<4x128xbf16>
  %k = tile.load %keys[%c0, %c0] : !matrix -> tensor<64x128xbf16>
  %v = tile.load %values[%c0, %c0] : !matrix -> tensor<64x128xbf16>
  %t = tile.transpose %k [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
  %scores = tile.dot %heads, %t, %zero : tensor<4x128xbf16>, tensor<128x64xbf16> -> tensor<4x64xf32>
  %w = tile.cast %scores : tensor<4x64xf32> to tensor<4x64xbf16>
  %d = tile.dot %w, %v, %none : tensor<4x64xbf16>, tensor<64x128xbf16> -> tensor<4x128xf32>
  tile.store %d, %o[%c0, %c0] : tensor<4x128xf32>, !result
  return
}

// -----

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!result = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Two tiles of values are added up in slices, and once: what the first product came to, the second one adds to.
// CHECK-LABEL: func.func @added(
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<[[SLICES:[0-9]+]]x128x4xf32>
// CHECK: %[[FIRST:.*]] = nvidia.sliced_dot transposed %{{.*}}, %{{.*}}, %[[ZERO]] : {{.*}} -> tensor<[[SLICES]]x128x4xf32>
// CHECK-NOT: tile.reduce
// CHECK: %[[BOTH:.*]] = nvidia.sliced_dot transposed %{{.*}}, %{{.*}}, %[[FIRST]] : {{.*}} -> tensor<[[SLICES]]x128x4xf32>
// CHECK: tile.reduce sum %[[BOTH]] axis 0
// CHECK-NOT: tile.reduce
// CHECK: return
// Words of two values in a row become words of two rows, and no value a float of 32 bits.
// THREADS-LABEL: func.func @added(
// THREADS-NOT: arith.truncf
// THREADS: arith.shrui %{{.*}} : i32
// THREADS: arith.ori %{{.*}} : i32
// THREADS-NOT: arith.truncf
// THREADS: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @added(%w: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                 %values: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64}, %o: !result) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x128xf32>
  %w0 = tile.load %w[%c0, %c0] : !matrix -> tensor<4x64xbf16>
  %w1 = tile.load %w[%c0, %c1] : !matrix -> tensor<4x64xbf16>
  %v0 = tile.load %values[%c0, %c0] : !matrix -> tensor<64x128xbf16>
  %v1 = tile.load %values[%c1, %c0] : !matrix -> tensor<64x128xbf16>
  %first = tile.dot %w0, %v0, %zero : tensor<4x64xbf16>, tensor<64x128xbf16> -> tensor<4x128xf32>
  %both = tile.dot %w1, %v1, %first : tensor<4x64xbf16>, tensor<64x128xbf16> -> tensor<4x128xf32>
  tile.store %both, %o[%c0, %c0] : tensor<4x128xf32>, !result
  return
}

// -----

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!result = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Eight rows of x are a fragment's eight columns, so one instruction multiplies 16 rows of W.
// CHECK-LABEL: func.func @eight_rows(
// CHECK: nvidia.sliced_dot %{{.*}} : tensor<16x1024xbf16>, tensor<8x1024xbf16> -> tensor<8x16x8xf32>
// THREADS-LABEL: func.func @eight_rows(
// THREADS: scf.for
// THREADS-NOT: arith.select {{.*}} : i32
// THREADS-COUNT-8: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// THREADS-NOT: mma.sync
// THREADS: scf.yield
func.func @eight_rows(%x: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                      %W: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                      %y: !result {tile.unit_stride, tile.alignment = 16 : i64}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<8x16xf32>) {
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<8x1024xbf16>
    %w = tile.load %W[%c0, %k] : !matrix -> tensor<16x1024xbf16>
    %b = tile.transpose %w [1, 0] : tensor<16x1024xbf16> -> tensor<1024x16xbf16>
    %d = tile.dot %a, %b, %sum : tensor<8x1024xbf16>, tensor<1024x16xbf16> -> tensor<8x16xf32>
    scf.yield %d : tensor<8x16xf32>
  }
  tile.store %acc, %y[%c0, %c0] : tensor<8x16xf32>, !result
  return
}

// -----

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!result = memref<?x?xf32, strided<[?, ?], offset: ?>>

// 16 rows of x are none of one product by few rows, and sums that begin with something else stay with it.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: nvidia.sliced_dot
// CHECK: return
func.func @others(%x: !matrix, %W: !matrix, %y: !result, %z: !result, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %one = arith.constant dense<1.0> : tensor<2x16xf32>
  %acc:2 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %more = %one) -> (tensor<16x16xf32>, tensor<2x16xf32>) {
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<16x1024xbf16>
    %f = tile.load %x[%c1, %k] : !matrix -> tensor<2x1024xbf16>
    %w = tile.load %W[%c0, %k] : !matrix -> tensor<16x1024xbf16>
    %b = tile.transpose %w [1, 0] : tensor<16x1024xbf16> -> tensor<1024x16xbf16>
    %d = tile.dot %a, %b, %sum : tensor<16x1024xbf16>, tensor<1024x16xbf16> -> tensor<16x16xf32>
    %e = tile.dot %f, %b, %more : tensor<2x1024xbf16>, tensor<1024x16xbf16> -> tensor<2x16xf32>
    scf.yield %d, %e : tensor<16x16xf32>, tensor<2x16xf32>
  }
  tile.store %acc#0, %y[%c0, %c0] : tensor<16x16xf32>, !result
  tile.store %acc#1, %z[%c0, %c0] : tensor<2x16xf32>, !result
  return
}

// -----

!matrix = memref<?x?xbf16, strided<[?, ?], offset: ?>>
!blocks = memref<?x?x?x?xi8, strided<[?, ?, ?, ?], offset: ?>>
!scales = memref<?x?xf16, strided<[?, ?], offset: ?>>
!result = memref<?x?xf32, strided<[?, ?], offset: ?>>

// Blocks of 32 terms with a scale each: each of 8 warps has two of the 16 products of the batch, as slices that nobody
// adds up. Nothing changes its thread on the way from memory to the product, nor scales on the way to its sums.
// CHECK-LABEL: func.func @blocks(
// CHECK: %[[ACC:.*]] = tile.transpose %{{.*}} [0, 2, 1] : tensor<16x2x8xf32> -> tensor<16x8x2xf32>
// CHECK: %[[ROWS:.*]] = tile.reshape %{{.*}} : tensor<8x16x32xbf16> -> tensor<8x512xbf16>
// CHECK: %[[X:.*]] = tile.reshape %{{.*}} : tensor<2x16x32xbf16> -> tensor<2x512xbf16>
// CHECK: %[[D:.*]] = nvidia.sliced_dot %[[ROWS]], %[[X]], %[[ACC]] : tensor<8x512xbf16>, tensor<2x512xbf16> -> tensor<16x8x2xf32>
// CHECK: tile.transpose %[[D]] [0, 2, 1] : tensor<16x8x2xf32> -> tensor<16x2x8xf32>
// An i8 and 128 are the bits of a bf16, which two fma make the i8 of.
// THREADS-LABEL: func.func @blocks(
// THREADS: scf.for
// THREADS-NOT: st.shared
// THREADS: arith.xori
// THREADS: prmt.b32 $0, $1, 0, 0x4140
// THREADS: fma.rn.bf16x2
// THREADS: fma.rn.bf16x2
// THREADS: prmt.b32 $0, $1, 0, 0x4342
// THREADS-COUNT-2: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// THREADS-NOT: mma.sync
// THREADS: math.fma
// THREADS: scf.yield
func.func @blocks(%x: !matrix {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                  %W: !blocks {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                  %S: !scales {tile.readonly, tile.unit_stride, tile.alignment = 16 : i64},
                  %y: !result {tile.unit_stride, tile.alignment = 16 : i64}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16x2x8xf32>
  %sums = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<16x2x8xf32>) {
    %a = tile.load %x[%c0, %k] : !matrix -> tensor<2x512xbf16>
    %q = tile.load %W[%c0, %k, %c0, %c0] : !blocks -> tensor<1x16x8x32xi8>
    %s = tile.load %S[%c0, %k] : !scales -> tensor<1x128xf16>
    %byBlock = tile.reshape %a : tensor<2x512xbf16> -> tensor<2x16x32xbf16>
    %terms = tile.transpose %byBlock [1, 0, 2] : tensor<2x16x32xbf16> -> tensor<16x2x32xbf16>
    %rows = tile.reshape %q : tensor<1x16x8x32xi8> -> tensor<16x8x32xi8>
    %w = tile.cast %rows : tensor<16x8x32xi8> to tensor<16x8x32xbf16>
    %columns = tile.transpose %w [0, 2, 1] : tensor<16x8x32xbf16> -> tensor<16x32x8xbf16>
    %d = tile.dot %terms, %columns, %zero : tensor<16x2x32xbf16>, tensor<16x32x8xbf16> -> tensor<16x2x8xf32>
    %each = tile.reshape %s : tensor<1x128xf16> -> tensor<16x1x8xf16>
    %wide = tile.cast %each : tensor<16x1x8xf16> to tensor<16x1x8xf32>
    %scales = tile.broadcast %wide : tensor<16x1x8xf32> -> tensor<16x2x8xf32>
    %f = math.fma %d, %scales, %sum : tensor<16x2x8xf32>
    scf.yield %f : tensor<16x2x8xf32>
  }
  %all = tile.reduce sum %sums axis 0 : tensor<16x2x8xf32> -> tensor<1x2x8xf32>
  %r = tile.reshape %all : tensor<1x2x8xf32> -> tensor<2x8xf32>
  tile.store %r, %y[%c0, %c0] : tensor<2x8xf32>, !result
  return
}
