// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tile ops ask of the memory space of a view.
#ifndef DITRON_CORE_MEMORYSPACE
#define DITRON_CORE_MEMORYSPACE

include "mlir/IR/Interfaces.td"

def Tile_MemorySpace : AttrInterface<"MemorySpace"> {
  let cppNamespace = "::ditron::core";
  let description = [{
    A memory space of a memref. Memory without one can be touched by the core that runs the kernel.
  }];
  let methods = [InterfaceMethod<"Whether loads and stores of this core reach it.", "bool", "isLocal">];
}

#endif
