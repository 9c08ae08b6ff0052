// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%B: memref<4x4xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c10 = arith.constant 10 : index
  %one = arith.constant dense<1.0> : tensor<1x1xf32>
  %y = tile.reshape %one : tensor<1x1xf32> -> tensor<11x3353953467947191203xf32>
  %z = tensor.extract %y[%c10, %c10] : tensor<11x3353953467947191203xf32>
  %s = tensor.splat %z : tensor<4x4xf32>
  tile.store %s, %B[%c0, %c0] : tensor<4x4xf32>, memref<4x4xf32>
  return
}
