// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shared ThreadBuilder with the instructions of PTX, and the patterns of this backend:
//
//   mma/MatrixPatterns.cpp        products of warps
//   mma/WarpgroupPatterns.cpp     products of warpgroups
//   warpspec/RolePatterns.cpp     roles, and the pipes between them
//   warpspec/QueuePatterns.cpp    numbers from the producer to the consumer
//   warpspec/GatePatterns.cpp     order between roles, and between launches
//   warpspec/StreamPatterns.cpp   constants in rows, from the producer to the consumer
//   warpspec/TmaStorePatterns.cpp TMA stores
#pragma once
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/emit/PtxInstructions.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"

namespace ditron::nvidia {

class ThreadBuilder : public gpu::ThreadBuilder {
public:
  ThreadBuilder(mlir::OpBuilder &b, mlir::Location loc, const ThreadContext &context)
      : gpu::ThreadBuilder(b, loc, context), instructions(b, loc, meeting(context)) {}

  /// For TMA, where the first element of a tile of a view, which is part of an argument
  /// (see ArgumentView), lies in that: i32, innermost coordinate first; behind them `page` if there
  /// is one. A place outside of the argument is brought near, that it fits 32 bits.
  llvm::SmallVector<Value> placeOf(Value view, mlir::ValueRange coords,
                                   llvm::ArrayRef<int64_t> shape, Value page = nullptr);

  /// Makes mbarriers, one behind the other, each with its arrivals a phase. Threads
  /// are to meet behind it. In a region they last as long as that.
  void makeBarriers(Value first, llvm::ArrayRef<int64_t> arrivals);

  /// Words (i32) of this thread that the function keeps: an alloca, which LLVM promotes to registers.
  Value makeWords(int64_t count = 1);

  Instructions instructions;

private:
  void byFirstThread(llvm::function_ref<void()> code);
};

template <class Op> using EffectPattern = gpu::EffectPattern<Op, ThreadBuilder>;

inline constexpr int64_t kBarrierBytes = 8; ///< of an mbarrier

/// The chip that code is made for.
const Chip &chipOf(const ThreadContext &context);

/// What a pipe becomes: a struct of the address of its slots and of this thread's position.
mlir::Type pipeType(mlir::MLIRContext *context);

/// Bytes of shared memory that stage the tiles of one nvidia.tma_store.
int64_t tmaStoreBytes(int64_t warps);

void addMatrixPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                       const ThreadContext &context);
void addSlicedPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                       const ThreadContext &context);
void addWarpgroupPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                          const ThreadContext &context);
void addRolePatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                     const ThreadContext &context);
void addQueuePatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                      const ThreadContext &context);
void addPackedLoadPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                           const ThreadContext &context);
void addStreamPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                       const ThreadContext &context);
void addOutboxPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                       const ThreadContext &context);
void addClusterPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                        const ThreadContext &context);
void addGatePatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                     const ThreadContext &context);
void addTmaStorePatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                         const ThreadContext &context);

} // namespace ditron::nvidia
