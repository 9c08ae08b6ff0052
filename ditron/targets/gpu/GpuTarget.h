// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lowering to threads asks a GPU: numbers (Traits), how it multiplies tiles (Products),
// what only its instructions can do (Instructions), and where it adds passes and patterns of its
// own. A backend derives from it, once for all its chips; shared passes know no other name of it.
#pragma once
#include "ditron/abi/CompileRequest.h"
#include "ditron/core/TileOps.h"
#include "ditron/targets/Target.h"
#include "ditron/targets/gpu/Instructions.h"
#include "ditron/targets/gpu/analysis/Distribution.h"
#include "mlir/Transforms/DialectConversion.h"
#include <memory>

namespace mlir {
class OpPassManager;
namespace func {
class FuncOp;
}
namespace LLVM {
class LLVMFuncOp;
}
} // namespace mlir

namespace ditron::gpu {

struct ThreadContext;

/// Numbers of a chip. Registers are of 4 bytes; an SM is a CU on AMD GPUs.
struct Traits {
  int64_t lanes;           ///< of a warp, or a wavefront
  int64_t mostWarps;       ///< of a CTA
  int64_t sharedBytes;     ///< that a CTA may have
  int64_t threadRegisters; ///< that the values of one thread may take; beyond, tiles are refused
  int64_t registers;       ///< of an SM
  int64_t threads;         ///< that an SM is to have, where registers are there
  bool copiesAlone =
      true; ///< memory is copied to shared memory past registers, while threads compute
  bool meetsInPart = true; ///< some warps of a CTA may meet without the others
};

/// How the products of one kernel are computed: where they want their operands and accumulators. As
/// it stands, element by element.
class Products {
public:
  virtual ~Products() = default;
  /// Warps that have to compute it; 0: any number.
  virtual int64_t warps() const { return 0; }
  /// Producer warps, behind these.
  virtual int64_t producerWarps() const { return 0; }
  /// CTAs that share an SM, where code asks nothing about the tensors of a launch; 0: as many as tiles and
  /// registers ask for.
  virtual int64_t ctasPerSm() const { return 0; }
  /// Whether 8-bit floats are multiplied as they are; else they become f16 before.
  virtual bool multiply8BitFloats() const { return false; }
  /// An operand in shared memory.
  virtual Layout operand(mlir::RankedTensorType tile) const;
  /// A left operand that is in registers, where it may stay; else it goes to shared memory.
  virtual std::optional<Layout> left(mlir::RankedTensorType tile, Threads threads) const {
    return std::nullopt;
  }
  virtual Layout accumulator(core::DotOp dot, Threads threads) const;
  /// The layouts that an op of the target's own prescribes for tiles among its operands and results.
  virtual llvm::SmallVector<std::pair<mlir::Value, Layout>> prescribed(mlir::Operation *op,
                                                                       Threads threads) const {
    return {};
  }
  /// Whether the target itself stores a tile in the layout of an accumulator.
  virtual bool stores(core::StoreOp store, Threads threads) const { return false; }
};

class GpuTarget : public Target {
public:
  const GpuTarget *gpu() const final { return this; }

  virtual const Traits &traits() const = 0;
  /// The products of a kernel, by the request's schedule and tensor maps; element by element, where the chip has nothing better.
  virtual std::unique_ptr<Products> products(mlir::func::FuncOp function,
                                             const CompileRequest &request) const;
  /// Instructions at the builder's place, for code of these threads.
  virtual std::unique_ptr<Instructions> instructions(mlir::OpBuilder &b, mlir::Location loc,
                                                     Meeting threads = {}) const = 0;
  /// LLVM's name of a scope of atomics.
  virtual llvm::StringRef syncScope(ScopeName scope) const = 0;

  /// Where a target has passes of its own.
  enum class Stage {
    beforeDealing, ///< kernels walk tiles with dist.tiles
    beforeLayouts, ///< tiles have no layouts, and verbs are those of a device
    afterLayouts,  ///< tiles have layouts
  };
  virtual void addPasses(Stage stage, mlir::OpPassManager &kernel,
                         const CompileRequest &request) const {}
  /// What becomes of the target's own ops and of products when tiles become registers.
  virtual void addThreadPatterns(mlir::TypeConverter &types, mlir::ConversionTarget &legal,
                                 mlir::RewritePatternSet &patterns,
                                 const ThreadContext &context) const {}
  /// Functions of numbers by what the chip has for them.
  virtual void addMathPatterns(mlir::RewritePatternSet &patterns) const {}
  /// Makes a function of the LLVM dialect the entry point of `threads` threads, `ctasPerSm` CTAs of
  /// which share an SM.
  virtual void finishEntry(mlir::LLVM::LLVMFuncOp entry, int64_t threads,
                           int64_t ctasPerSm) const = 0;
};

} // namespace ditron::gpu
