// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%n: index) attributes {tile.kernel} {
  %r = scf.for %i = %n to %n step %n iter_args(%x = %a) -> (f32) {
    %a = arith.constant 0.0 : f32
    scf.yield %x : f32
  }
  return
}
