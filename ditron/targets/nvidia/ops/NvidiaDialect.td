// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DITRON_NVIDIA_NVIDIADIALECT
#define DITRON_NVIDIA_NVIDIADIALECT

include "ditron/core/TileTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

def Nvidia_Dialect : Dialect {
  let name = "nvidia";
  let summary = "TMA loads and stores, warp specialisation and wgmma, between passes of the NVIDIA backend";
  let cppNamespace = "::ditron::nvidia";
  let dependentDialects = ["::ditron::gpu::SimtDialect"];
  let useDefaultTypePrinterParser = 1;
}

class Nvidia_Op<string opMnemonic, list<Trait> traits = []> : Op<Nvidia_Dialect, opMnemonic, traits>;

#endif
