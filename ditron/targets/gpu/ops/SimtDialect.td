// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DITRON_GPU_SIMTDIALECT
#define DITRON_GPU_SIMTDIALECT

include "ditron/core/TileTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

def Simt_Dialect : Dialect {
  let name = "simt";
  let summary = "Tiles under way to shared memory, ranks and CTAs, between passes of the lowering to GPUs";
  let description = [{
    The dialect knows the GPUs that code can be made for: a backend adds its own by an extension, and
    passes find the one that an option names.
  }];
  let cppNamespace = "::ditron::gpu";
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Adds GPUs that code can be made for; the first of all is what passes take unasked.
    void addTargets(::llvm::ArrayRef<const GpuTarget *> targets);
    ::llvm::ArrayRef<const GpuTarget *> targets() const { return targets_; }

  private:
    ::llvm::SmallVector<const GpuTarget *> targets_;
  public:
  }];
}

class Simt_Op<string opMnemonic, list<Trait> traits = []> : Op<Simt_Dialect, opMnemonic, traits>;

#endif
