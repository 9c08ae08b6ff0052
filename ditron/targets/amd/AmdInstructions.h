// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the shared lowering asks for (gpu/Instructions.h) in LLVM's intrinsics for AMD GPUs.
#pragma once
#include "ditron/targets/amd/AmdChip.h"
#include "ditron/targets/gpu/Instructions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace ditron::amd {

using gpu::ScopeName;

/// LLVM's name of a scope: synchronization scopes of the AMDGPU backend.
llvm::StringRef syncScope(ScopeName scope);

class Instructions final : public gpu::Instructions {
public:
  Instructions(mlir::OpBuilder &b, mlir::Location loc, const Chip &chip)
      : gpu::Instructions(b, loc), chip_(chip) {}

  Value thread() override;
  Value block() override;
  Value blocks() override;
  Value uniform(Value value) override;
  void meetInWarp() override {} // its lanes execute each instruction together
  void barrier(bool ofAll = false) override;
  void stay() override;
  void exit() override;
  llvm::SmallVector<Value> loadGlobal(Value address, int64_t bytes, Value mask,
                                      llvm::ArrayRef<Value> otherwise,
                                      Place place = Place::here) override;
  void storeGlobal(Value address, llvm::ArrayRef<Value> values, Value mask) override;
  llvm::SmallVector<Value> loadStrong(Value address, int64_t bytes, Value mask,
                                      llvm::ArrayRef<Value> otherwise) override;
  void storeStrong(Value address, llvm::ArrayRef<Value> values, Value mask) override;
  void prefetch(Value, Value) override {} // these chips have no such instruction
  void copyAsync(Value shared, Value address, int64_t bytes, Value count) override;
  void commitCopies() override {}
  void waitCopies(int64_t pending) override {}
  Value loadAcquire(Value address, ScopeName scope) override;
  Value loadRelaxed(Value address, ScopeName scope) override;
  void storeRelease(Value address, Value value, ScopeName scope) override;
  void storeRelaxed(Value address, Value value, ScopeName scope) override;
  void raiseRelease(Value address, llvm::StringRef mode, Value value, ScopeName scope) override;
  void raiseRelaxed(Value address, llvm::StringRef mode, Value value, ScopeName scope) override;
  Value addAcquireRelease(Value address, Value value, ScopeName scope) override;
  Value incrementAcquireRelease(Value address, Value last, ScopeName scope) override;
  Value countArrival(Value address, Value last, Value mask, ScopeName scope) override;
  Value loadWhere(Value address, Value mask, Value otherwise, ScopeName scope) override;
  Value holdsInWarp(Value condition) override;
  void need(Value value) override;
  void storePacket(Value address, llvm::ArrayRef<Value> words, Value mask) override;
  llvm::SmallVector<Value> loadPacket(Value address, Value mask) override;
  void fence(ScopeName scope) override;
  Value time() override;
  void report(Value status, int64_t word, int64_t number, llvm::ArrayRef<Value> values) override;

private:
  Value wordFromLane(Value word, int64_t lane) override;
  Value shuffleWord(Value word, int64_t mask) override;
  /// The word (i32) that lanes exchange within a quad or a row of 16; null: not so.
  Value exchangeInRow(Value word, int64_t mask);

  Value i32(int64_t value);
  /// A value where the mask holds, else another one.
  Value where(Value mask, Value otherwise, llvm::function_ref<Value()> value);
  Value globalPointer(Value address);
  Value intrinsic(llvm::StringRef name, mlir::Type result, llvm::ArrayRef<Value> operands);
  void effect(llvm::StringRef name);
  void fence(mlir::LLVM::AtomicOrdering ordering, ScopeName scope);
  Value load(Value address, mlir::LLVM::AtomicOrdering ordering, ScopeName scope);
  void store(Value address, Value value, mlir::LLVM::AtomicOrdering ordering, ScopeName scope);
  void raise(Value address, llvm::StringRef mode, Value value, mlir::LLVM::AtomicOrdering ordering,
             ScopeName scope);

  const Chip &chip_;
};

} // namespace ditron::amd
