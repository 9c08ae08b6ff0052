// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/target/nvidia/NvidiaOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "ditron/target/nvidia/NvidiaOpsDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/target/nvidia/NvidiaOpsTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ditron/target/nvidia/NvidiaOps.cpp.inc"

void ditron::nvidia::NvidiaDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ditron/target/nvidia/NvidiaOpsTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ditron/target/nvidia/NvidiaOps.cpp.inc"
      >();
}

Value ditron::nvidia::ShiftOp::getViewSource() { return getSource(); }
