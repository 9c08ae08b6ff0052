// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --cpu-dist-to-runtime --verify-diagnostics

func.func @copies(%n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{runs on engine copy, but the CPU target has cores only}}
  dist.role "gather" cores %c0 for %n on copy {
    dist.fence
  }
  return
}
