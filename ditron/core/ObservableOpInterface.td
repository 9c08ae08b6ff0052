// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an op does that other cores and ranks can observe.
#ifndef DITRON_CORE_OBSERVABLEOPINTERFACE
#define DITRON_CORE_OBSERVABLEOPINTERFACE

include "mlir/IR/OpBase.td"

def Tile_ObservableOp : OpInterface<"ObservableOp"> {
  let cppNamespace = "::ditron::core";
  let description = [{
    An op that touches global memory or signals, or that orders such touches: loads and stores, verbs,
    barriers. Whoever looks at what a kernel does (effects, bounds, the checker) asks here, and so takes
    a new op without a line of its own. memref.load and memref.store have it too.
  }];
  let methods = [InterfaceMethod<
      "What is observed, in the order in which it happens.",
      "::llvm::SmallVector<::ditron::core::Observation, 3>", "observations">];
}

#endif
