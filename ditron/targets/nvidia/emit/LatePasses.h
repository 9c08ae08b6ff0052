// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes over the code of a thread that come behind those of LLVM, in this order. TakeVectorsApart, ShareMasks
// and PlaceLoads leave kernels alone that compute products on tensor cores, whose registers are the
// assembler's matter. Two avoid what the assembler gets wrong.
#pragma once
#include "llvm/IR/PassManager.h"

namespace ditron::nvidia {

/// Sums of integers of up to 16 bits are computed one by one. Of two at a time (`add.s16x2`) where one
/// summand is constant and only one sum is used, ptxas 13.0 drops the constant.
struct TakeNarrowSumsApart : llvm::PassInfoMixin<TakeNarrowSumsApart> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

/// Where loads are free to stand anywhere (assembly without side effects:
/// Instructions::loadGlobal), what vectors were is computed element by element.
struct TakeVectorsApart : llvm::PassInfoMixin<TakeVectorsApart> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

/// `(base + j) < extent`, of a constant j, becomes `extent - base > j`: no sum takes a register.
/// Where base and extent are multiples of 8, as those of accesses of 8 elements, it is one
/// comparison for j from 0 to 7.
struct ShareMasks : llvm::PassInfoMixin<ShareMasks> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

/// Free loads, and what is computed with what they read, come where they take the fewest registers:
/// right in front of the store that needs them, but for as many as hide the time that each takes.
struct PlaceLoads : llvm::PassInfoMixin<PlaceLoads> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

/// In the loop over the tasks of a graph: what is computed of the launch, or of the number of the thread, is
/// computed where a task needs it. LLVM's passes compute it for all types of tasks in front of the loop, in
/// registers that no type has left then.
struct ComputeInTasks : llvm::PassInfoMixin<ComputeInTasks> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

/// A side of a branch that has accesses of some threads ends with an instruction of all: `pmevent`, which
/// changes nothing. Where such an access came last, ptxas 13.0 makes a branch of it, and threads that go
/// around it do not wait for the others: they come to a barrier by themselves.
struct CloseBranches : llvm::PassInfoMixin<CloseBranches> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace ditron::nvidia
