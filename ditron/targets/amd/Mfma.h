// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by MFMA: one instruction of a wavefront adds products of 16 rows of the left side by 16 columns of the right
// one to sums. Lanes 0 to 15 have a row of one side and a column of the other each, of the first terms of the
// instruction; the next 16 lanes have the next terms. Every lane has the sums of its row, of four columns:
//
//              columns 0-3     4-7       8-11      12-15
//   row i        lane i      i + 16    i + 32     i + 48
//
// The instruction has it the other way round, four rows of one column in a lane: here its first operand is the right
// side, so that a lane has neighbours of a row, which memory takes together. The source is AMD's "Instinct MI300"
// instruction set architecture, section on matrix fused multiply-add.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/amd/AmdChip.h"
#include "ditron/targets/gpu/analysis/Distribution.h"
#include <optional>

namespace mlir {
class RewritePatternSet;
class TypeConverter;
} // namespace mlir

namespace ditron::gpu {
struct ThreadContext;
}

namespace ditron::amd {

inline constexpr int64_t kMfmaRows = 16; ///< of a side, in one instruction
inline constexpr int64_t kMfmaParts = 4; ///< of the terms of an instruction, each 16 lanes'
inline constexpr int64_t kMfmaRun = 4;   ///< neighbouring columns that a lane has sums of
inline constexpr int64_t kQuad = 4;      ///< rows of a side that are read together

/// One instruction.
struct Mfma {
  llvm::StringRef name; ///< of LLVM's intrinsic
  mlir::Type operand;   ///< that holds a lane's terms
  int64_t terms;        ///< neighbours that a lane has
  int64_t depth() const { return kMfmaParts * terms; }
};
/// That of operands of a type; none where the chip has no such instruction.
std::optional<Mfma> mfmaOf(const Chip &chip, mlir::Type element, core::Precision precision);

/// How lanes share rows of a side. Rows of 16 bits that are neighbours in memory are read four at a time, and go to four
/// instructions: 64 rows are at a time.
enum class Sharing { single, quads };

/// How a product is dealt to the wavefronts and lanes of a workgroup.
struct MfmaShape {
  int64_t m, n;                      ///< of the sums
  int64_t rowWarps, columnWarps;     ///< of the grid of wavefronts; others repeat what these do
  Sharing rows = Sharing::single;    ///< of the left side
  Sharing columns = Sharing::single; ///< of the right side

  /// Instructions side by side of a wavefront.
  int64_t height() const { return m / (kMfmaRows * rowWarps); }
  int64_t width() const { return n / (kMfmaRows * columnWarps); }
  gpu::Layout accumulator(int64_t warps) const;
  /// The register with the first sum of an instruction's lane, and how far apart the next ones are.
  int64_t firstRegister(int64_t row, int64_t column) const;
  int64_t registerStep() const { return columns == Sharing::quads ? kQuad : 1; }
};
/// None where the chip has no instruction for it, or the tiles are not whole ones.
std::optional<MfmaShape> mfmaShape(const Chip &chip, core::DotOp dot, int64_t warps);

void addMfmaPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                     const gpu::ThreadContext &context, const Chip &chip);

} // namespace ditron::amd
