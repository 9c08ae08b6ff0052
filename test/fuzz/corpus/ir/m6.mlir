// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @k(%s: !dist.signals<1>) { return }
