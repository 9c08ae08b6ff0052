// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cpu-lower-to-llvm --split-input-file --verify-diagnostics

// expected-error @+1 {{'tiles' returns 'tensor<4xf32>': expected nothing, as results are written to memory}}
func.func @tiles(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument #1 is 'tensor<4xf32>', expected memory, a number or a pointer}}
func.func @tile(%n: index, %x: tensor<4xf32>) attributes {tile.kernel} {
  return
}

// -----

// expected-error @+1 {{argument #0 is 'memref<?xf32>', expected memory with strides, or scratch memory of i8}}
func.func @buffer(%x: memref<?xf32>) attributes {tile.kernel} {
  return
}

// -----

// expected-error @+1 {{'elsewhere' has no body}}
func.func private @elsewhere()
