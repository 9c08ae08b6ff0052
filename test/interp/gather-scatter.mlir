// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron-interpret %s | FileCheck %s

// CHECK-LABEL: kernel gather
// Rows outside of the view and columns beyond it read as padding.
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  13 14 -1 -1
// CHECK-NEXT: {{^}}  -1 -1 -1 -1
// CHECK-NEXT: {{^}}  3 4 -1 -1
// CHECK-NEXT: {{^}}  -1 -1 -1 -1
func.func @gather(%A: memref<3x5xf32> {interp.values = dense<[[0.,1.,2.,3.,4.],[5.,6.,7.,8.,9.],[10.,11.,12.,13.,14.]]> : tensor<3x5xf32>, tile.readonly},
                  %rows: memref<4xi32> {interp.values = dense<[2, 3, 0, -1]> : tensor<4xi32>, tile.readonly},
                  %C: memref<4x4xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tile.load %rows[%c0] : memref<4xi32> -> tensor<4xi32>
  %cols = memref.subview %A[0, 1] [3, 4] [1, 1] : memref<3x5xf32> to memref<3x4xf32, strided<[5, 1], offset: 1>>
  %x = tile.gather %cols[%r, %c1] padding -1.0 : f32
      : memref<3x4xf32, strided<[5, 1], offset: 1>>, tensor<4xi32> -> tensor<4x2xf32>
  %y = arith.constant dense<-1.0> : tensor<4x4xf32>
  tile.store %y, %C[%c0, %c0] : tensor<4x4xf32>, memref<4x4xf32>
  tile.store %x, %C[%c0, %c0] : tensor<4x2xf32>, memref<4x4xf32>
  return
}

// CHECK-LABEL: kernel scatter
// Rows outside are dropped; of two rows with the same index the later one stays.
// CHECK-NEXT: rank 0 argument 2
// CHECK-NEXT: {{^}}  0 1 2
// CHECK-NEXT: {{^}}  3 4 5
// CHECK-NEXT: {{^}}  6 7 104
func.func @scatter(%X: memref<4x2xi32> {interp.values = dense<[[101, 0], [102, 0], [103, 0], [104, 0]]> : tensor<4x2xi32>, tile.readonly},
                   %rows: memref<4xi32> {interp.values = dense<[2, 3, -5, 2]> : tensor<4xi32>, tile.readonly},
                   %C: memref<3x3xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tile.load %rows[%c0] : memref<4xi32> -> tensor<4xi32>
  %x = tile.load %X[%c0, %c0] : memref<4x2xi32> -> tensor<4x2xi32>
  tile.scatter %x, %C[%r, %c1] : tensor<4x2xi32>, memref<3x3xi32>, tensor<4xi32>
  return
}
