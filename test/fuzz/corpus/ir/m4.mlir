// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%x: tensor<0xf32>) { return }
