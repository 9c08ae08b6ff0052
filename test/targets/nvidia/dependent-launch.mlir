// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --nvidia-dependent-launch | FileCheck %s
// RUN: %opt %s --nvidia-dependent-launch=chip=sm_89 | FileCheck %s --check-prefix=OLD
// OLD-NOT: nvidia.grid_dependency_wait

!v = memref<?xf32, strided<[?], offset: ?>>

// A launch waits for the one before when its barriers are made.
// CHECK-LABEL: func.func @roles
// CHECK-SAME: attributes {simt.dependent_launch}
// CHECK: nvidia.pipe
// CHECK-NEXT: nvidia.grid_dependency_wait
// CHECK-NEXT: nvidia.roles
// CHECK-NOT: nvidia.grid_dependency_wait
func.func @roles(%A: !v) {
  %c0 = arith.constant 0 : index
  %pipe = nvidia.pipe : <4 of tensor<64xf32>>
  nvidia.roles producer {
    nvidia.acquire %pipe : <4 of tensor<64xf32>>
  } consumer {
    %t = nvidia.receive %pipe : <4 of tensor<64xf32>> -> tensor<64xf32>
    tile.store %t, %A[%c0] : tensor<64xf32>, !v
  }
  return
}

// And before it reads a number that it begins with.
// CHECK-LABEL: func.func @reads
// CHECK: nvidia.grid_dependency_wait
// CHECK-NEXT: memref.load
// CHECK-NOT: nvidia.grid_dependency_wait
func.func @reads(%A: !v) {
  %c0 = arith.constant 0 : index
  %x = memref.load %A[%c0] : !v
  nvidia.roles producer {
    simt.commit
  } consumer {
    memref.store %x, %A[%c0] : !v
  }
  return
}

// A kernel of several ranks waits for others, whose place the next launch is not to take before this one ends.
// CHECK-LABEL: func.func @ranks
// CHECK: nvidia.grid_dependency_wait only
// CHECK-NEXT: simt.begin
// CHECK: simt.await
// CHECK-NEXT: nvidia.grid_dependency_release
// CHECK-NEXT: simt.end
func.func @ranks(%status: !llvm.ptr, %rank: index) attributes {simt.distributed} {
  simt.begin(%status, %rank) : !llvm.ptr, index
  nvidia.roles producer {
    simt.commit
  } consumer {
    simt.await 0
    simt.end(%status, %rank) : !llvm.ptr, index
  }
  return
}

// Where the end waits for copy engines, nobody begins before it.
// CHECK-LABEL: func.func @copies
// CHECK-NOT: nvidia.grid_dependency
func.func @copies(%status: !llvm.ptr, %rank: index) attributes {simt.distributed} {
  nvidia.roles producer {
    simt.commit
  } consumer {
    simt.end(%status, %rank) copies(3) : !llvm.ptr, index
  }
  return
}

// The same where they exchange tiles in inboxes alone.
// CHECK-LABEL: func.func @inboxes
// CHECK: nvidia.grid_dependency_wait only
// CHECK-NEXT: simt.epoch
// CHECK: nvidia.grid_dependency_release
// CHECK-NEXT: simt.close
func.func @inboxes(%status: !llvm.ptr, %rank: index, %head: index) attributes {simt.distributed} {
  %e = simt.epoch %head
  %notes = simt.open %e in (%status, %rank) : !llvm.ptr, index
  nvidia.roles producer {
    simt.commit
  } consumer {
    simt.await 0
    %before = simt.arrive %e in (%status, %rank) : !llvm.ptr, index
    simt.close %e after %before in (%status, %rank) : !llvm.ptr, index
  }
  return
}
