// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that take a loop to find, for example the group of a tile, in warp-specialised kernels:
// the producer finds them, as it needs them first and has the time, and sends them to the consumer.
//
//   producer                            consumer
//   scf.for %t = ... {                  scf.for %t = ... {
//     %g, %first = scf.for ... {}         %g, %first = nvidia.dequeue %queue
//     nvidia.enqueue %queue, %g, %first        ...
//
// Both roles go the same ways through the program, and to the end of the kernel at the same place,
// so as many are sent as are received, in the same order as tiles come: nobody waits for ever. A
// loop with an end of the kernel in it is not one of these, as its numbers would never come.
// test/targets/nvidia/searches.mlir shows it.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ditron::nvidia {

/// Searches of a kernel, from before it is split until the roles are there.
class Searches {
public:
  /// Marks loops over numbers alone that are within other loops.
  explicit Searches(mlir::func::FuncOp function);

  /// Shared memory of their queues.
  int64_t bytes() const;

  /// Has the producer, where marked loops are copied, send what it finds. `b` is where queues
  /// are to be made.
  void connect(mlir::Region &producer, mlir::Region &consumer, mlir::ImplicitLocOpBuilder &b) const;

private:
  int64_t count_ = 0;
};

} // namespace ditron::nvidia
