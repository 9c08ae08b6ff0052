// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions of PTX that LLVM has no IR for, one function each. Addresses of global memory
// are i64, those of shared memory !llvm.ptr<3>; `mask` is an i1.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace ditron::nvidia {

class Instructions {
public:
  using Value = mlir::Value;
  Instructions(mlir::OpBuilder &b, mlir::Location loc) : b_(b), loc_(loc) {}

  /// ld.global of `bytes` (1, 2 or 8 elements' worth: 1, 2, 4, 8 or 16) where the mask holds, else
  /// `otherwise`. Values come as i8, i16 or words of i32.
  llvm::SmallVector<Value> loadGlobal(Value address, int64_t bytes, Value mask,
                                      llvm::ArrayRef<Value> otherwise);
  /// st.global of i8, i16 or words of i32 where the mask holds.
  void storeGlobal(Value address, llvm::ArrayRef<Value> values, Value mask);

  /// cp.async of 16 bytes, of which the first `count` (i32) are read and the others are zero.
  void copyAsync(Value shared, Value address, Value count);
  void commitCopies();
  /// Waits until at most `pending` groups of this thread's copies are under way.
  void waitCopies(int64_t pending);
  /// bar.sync 0: all threads of the core meet, and see each other's shared memory.
  void barrier();

  /// shfl.sync.bfly: the value (32 or 64 bits) of the lane whose number differs in the bits of
  /// `mask`.
  Value shuffleXor(Value value, int64_t mask);

  /// ldmatrix.x4: four 8x8 matrices of 16-bit elements, whose rows the lanes point at.
  llvm::SmallVector<Value, 4> loadMatrices(Value shared, bool transposed);

  /// mma.sync: d = a * b + c of one fragment. `shape` and `types` as PTX spells them.
  llvm::SmallVector<Value, 4> multiply(llvm::StringRef shape, llvm::StringRef types,
                                       llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b,
                                       llvm::ArrayRef<Value> c);

  /// cvt.rna.tf32.f32: the bits (i32) of an f32 rounded to the mantissa of tf32.
  Value roundToTf32(Value bits);

  /// Ends this thread.
  void exit();

private:
  /// Assembly with results of the given types.
  llvm::SmallVector<Value> assemble(llvm::StringRef text, llvm::StringRef constraints,
                                    llvm::ArrayRef<Value> operands, mlir::TypeRange results,
                                    bool hasEffects = true);

  mlir::OpBuilder &b_;
  mlir::Location loc_;
};

} // namespace ditron::nvidia
