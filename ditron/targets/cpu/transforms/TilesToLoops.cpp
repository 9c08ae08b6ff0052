// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpu-tiles-to-loops: tiles become loops over vectors; see TileLowering.h.
//
//   %a = tile.load %A[%i, %j] : ... -> tensor<8x64xf32>
//   %b = math.exp %a : tensor<8x64xf32>
//   tile.store %b, %C[%i, %j] : ...
// becomes
//   scf.for %r = 0 to 8 {
//     scf.for %c = 0 to 64 step 16 {
//       %v = vector.maskedload ... : vector<16xf32>
//       %e = math.exp %v : vector<16xf32>
//       vector.maskedstore %e ...
//     }
//   }
//
// test/targets/cpu/tiles-to-loops.mlir shows it.
#include "ditron/targets/cpu/transforms/Passes.h"
#include "ditron/targets/cpu/transforms/TileLowering.h"

using namespace mlir;

namespace ditron::cpu {

#define GEN_PASS_DEF_TILESTOLOOPS
#include "ditron/targets/cpu/transforms/Passes.h.inc"

namespace {

class TilesToLoops : public impl::TilesToLoopsBase<TilesToLoops> {
public:
  using TilesToLoopsBase::TilesToLoopsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(core::kKernelAttr))
      return;
    for (auto [n, type] : llvm::enumerate(function.getFunctionType().getInputs()))
      if (isa<RankedTensorType>(type)) {
        function.emitError() << "argument #" << n << " is the tile " << type
                             << ", expected memory, from which tiles are loaded";
        return signalPassFailure();
      }
    // The core's scratch memory comes as the last argument.
    Type bytes = MemRefType::get({ShapedType::kDynamic}, IntegerType::get(&getContext(), 8));
    function.insertArgument(function.getNumArguments(), bytes, {}, function.getLoc());
    TileLowering lowering(function, function.getArguments().back(),
                          {vectorBytes, registers, multipliesPairs});
    if (failed(lowering.run()))
      return signalPassFailure();
    if (lowering.scratchBytes() > memoryBytes) {
      function.emitError() << "the tiles of this kernel need " << lowering.scratchBytes()
                           << " bytes of a core's memory, which has " << memoryBytes.getValue()
                           << ": choose smaller tiles";
      return signalPassFailure();
    }
    Builder builder(&getContext());
    function->setAttr(kScratchAttr, builder.getI64IntegerAttr(lowering.scratchBytes()));
  }
};

} // namespace
} // namespace ditron::cpu
