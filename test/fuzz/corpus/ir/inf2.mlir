// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%S: memref<1xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1> : tensor<1xi32>
  %big = arith.constant 4611686018427387904 : index
  scf.for %i = %c0 to %big step %c1 {
     tile.store %one, %S[%c0] : tensor<1xi32>, memref<1xi32>
  }
  return
}
