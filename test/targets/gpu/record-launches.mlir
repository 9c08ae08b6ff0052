// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-dist-to-device=recorded | FileCheck %s
// RUN: %opt %s --simt-dist-to-device | FileCheck %s --check-prefix=PLAIN
// What a core does is noted in the log of the device, where launches are recorded; the kinds are those of
// abi/DeviceLog.h.

// PLAIN-NOT: simt.log
// CHECK-LABEL: func.func @verbs(
// CHECK-SAME: %[[I:[a-z0-9]+]]: index, {{.*}} %[[STATUS:[a-z0-9]+]]: !llvm.ptr
// CHECK: simt.begin
// CHECK: simt.log 9 site 0 to %[[STATUS]] : !llvm.ptr
// CHECK: scf.if
// CHECK: simt.log 5 site {{[0-9]+}}(%{{.*}}, %[[I]]) to %[[STATUS]]
// CHECK: simt.log 7 site {{[0-9]+}}(%[[I]], %[[I]]) to %[[STATUS]]
// CHECK: %[[BEGIN:.*]] = simt.time
// CHECK: %[[HELD:.*]] = simt.reached %[[CELL:.*]] for %[[I]] scope "sys"
// CHECK: simt.wait %[[CELL]] for %[[I]] site [[SITE:[0-9]+]]
// CHECK: simt.log 2 site [[SITE]](%[[CELL]], %[[I]]) from %[[BEGIN]] held %[[HELD]] to %[[STATUS]]
// CHECK: %[[BEGIN2:.*]] = simt.time
// CHECK: simt.move
// CHECK: simt.log 0 site {{[0-9]+}}(%[[I]], %{{.*}}) from %[[BEGIN2]] to %[[STATUS]]
// CHECK-NOT: simt.notify %
// CHECK: simt.notify_logged %{{.*}} "add" %[[I]] scope "sys" site {{[0-9]+}} to %[[STATUS]]
// CHECK: simt.meet
// CHECK: simt.log 3 site
// CHECK: simt.log 8 site
// CHECK: simt.log 6 site
// CHECK: simt.log 10 site 0 to %[[STATUS]]
// CHECK: simt.end
func.func @verbs(%i: index, %buffer: memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>,
                 %counters: memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>>)
    attributes {dist.symmetric = [{element_bytes = 4 : i64, extents = ["8"], kind = "buffer", name = "buffer"},
                                  {element_bytes = 8 : i64, extents = ["8"], kind = "signals", name = "ready"}]} {
  %c0 = arith.constant 0 : index
  %ready = builtin.unrealized_conversion_cast %counters : memref<?xi64, strided<[?], offset: ?>, #dist.space<symmetric>> to !dist.signals<1>
  dist.role "send" cores %c0 for %i {
    dist.mark_tile(%i, %i)
    dist.wait %ready[%i] >= %i : !dist.signals<1>
    dist.put %buffer, %buffer on %i : memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>, memref<?xf32, strided<[?], offset: ?>, #dist.space<symmetric>>
    dist.notify %ready[%i] on %i add %i : !dist.signals<1>
    dist.barrier ranks
    dist.mark_tile()
  }
  return
}
