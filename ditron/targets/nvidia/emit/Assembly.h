// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inline assembly in LLVM IR, known by what it says: instructions of PTX that LLVM has no IR for.
#pragma once
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

namespace ditron::nvidia {

/// The assembly that an instruction consists of; null: it is none.
inline const llvm::InlineAsm *assemblyOf(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
}

/// Whether it is assembly in which these words stand.
inline bool isAssembly(const llvm::Instruction &instruction, llvm::StringRef words) {
  const llvm::InlineAsm *text = assemblyOf(instruction);
  return text && llvm::StringRef(text->getAsmString()).contains(words);
}

} // namespace ditron::nvidia
