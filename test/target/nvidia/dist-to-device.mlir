// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-dist-to-device | FileCheck %s

// CHECK-LABEL: func.func @places(
// CHECK-SAME: !llvm.ptr
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: nvvm.read.ptx.sreg.nctaid.x
// CHECK: arith.constant 0 : index
// CHECK: arith.constant 1 : index
func.func @places() -> (index, index, index, index) {
  %c = dist.core
  %n = dist.num_cores
  %r = dist.rank
  %s = dist.num_ranks
  return %c, %n, %r, %s : index, index, index, index
}

// -----

// CHECK-LABEL: func.func @requirement(
// CHECK-SAME: %[[OK:.*]]: i1, %[[N:.*]]: index, %[[STATUS:.*]]: !llvm.ptr
// CHECK-SAME: nvidia.requirements = [{file = "dist-to-device.mlir{{.*}}", line = {{[0-9]+}} : i64, message = "takes {} rows"}]
// CHECK: %[[FAILS:.*]] = arith.xori %[[OK]]
// CHECK: scf.if %[[FAILS]]
// CHECK: llvm.cmpxchg %[[STATUS]]
// CHECK: scf.if
// CHECK-COUNT-2: llvm.store
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "exit;"
func.func @requirement(%ok: i1, %n: index) {
  tile.require %ok, "takes {} rows"(%n)
  return
}
