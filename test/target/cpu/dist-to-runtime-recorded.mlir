// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --lower-hoist-symmetric --cpu-dist-to-runtime=recorded=true | FileCheck %s
// RUN: %opt %s --lower-hoist-symmetric --cpu-dist-to-runtime | FileCheck %s --check-prefix=PLAIN

!v = memref<?x?xf16, strided<[?, ?], offset: ?>>
!far = memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<remote>>
!sym = memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>

// Each verb says where it stands, and so does each tile, in place while its log has room. Without
// the option no verb does.
// CHECK-DAG: llvm.mlir.global internal constant @[[PUT:.*]]("A.cpp:3\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[WAIT:.*]]("A.cpp:5\00")
// CHECK-DAG: llvm.mlir.global internal constant @{{.*}}("A.cpp:2\00")
// CHECK-LABEL: func.func @recorded(
// CHECK-SAME: %[[CONTEXT:[a-z0-9]+]]: !llvm.ptr
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof
// CHECK: %[[DIMS:.*]] = llvm.mlir.constant(2 : i64)
// CHECK: %[[LOG:.*]] = llvm.load
// CHECK: %[[NEXT:.*]] = llvm.load %[[LOG]]
// CHECK: %[[LIMIT:.*]] = llvm.load
// CHECK: %[[ROOM:.*]] = llvm.icmp "ne" %[[NEXT]], %[[LIMIT]]
// CHECK: scf.if %[[ROOM]]
// CHECK: %[[TICKS:.*]] = llvm.call_intrinsic "llvm.readcyclecounter"
// CHECK: llvm.store %[[TICKS]]
// CHECK: llvm.store %[[TEXT]]
// CHECK: else
// CHECK: llvm.call @ditron_record_tile(%[[CONTEXT]], %[[TEXT]], %[[DIMS]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @[[PUT]]
// CHECK-NEXT: llvm.call @ditron_record_place(%[[CONTEXT]], %[[TEXT]])
// CHECK: llvm.call @ditron_put
// CHECK: llvm.call @ditron_notify
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @[[WAIT]]
// CHECK-NEXT: llvm.call @ditron_record_place(%[[CONTEXT]], %[[TEXT]])
// CHECK: llvm.call @ditron_wait
// CHECK: llvm.call @ditron_record_place
// CHECK: llvm.call @ditron_barrier
// CHECK: %[[NONE:.*]] = llvm.mlir.constant(0 : i64)
// CHECK: llvm.call @ditron_record_tile(%[[CONTEXT]], %{{.*}}, %[[NONE]]
// PLAIN-LABEL: func.func @recorded(
// PLAIN-NOT: ditron_record_place
func.func @recorded(%A: !v {tile.name = "A"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : !v
  %full = dist.symmetric "full"(%m, %m) : !sym
  %ready = dist.signals "ready"(%m) : !dist.signals<1>
  dist.mark_tile(%n, %n) loc("dir/A.cpp":2:1)
  %there = dist.on %full, %n : !sym -> !far
  %sig = dist.on %ready, %n : !dist.signals<1> -> !dist.signals<1, remote>
  dist.put_notify %A, %there, %sig[%c0] add %c1 : !v, !far, !dist.signals<1, remote> loc("dir/A.cpp":3:7)
  dist.wait %ready[%c0] >= %c1 : !dist.signals<1> loc("dir/A.cpp":5:7)
  dist.barrier ranks
  dist.mark_tile() loc("dir/A.cpp":2:1)
  return
}
