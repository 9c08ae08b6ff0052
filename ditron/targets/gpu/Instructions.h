// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the shared lowering has a chip do, one function each. Addresses of global memory are i64,
// those of shared memory !llvm.ptr<3>; `mask` is an i1.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace ditron::gpu {

/// How far away those are who see an access: the CTA, the rank, every rank.
using ScopeName = llvm::StringRef; ///< "cta", "gpu" or "sys"

/// How many threads meet at a barrier; 0: all of the CTA.
struct Meeting {
  int64_t computing = 0; ///< those that compute
  int64_t all = 0;       ///< with the producer warps behind them
};

class Instructions {
public:
  using Value = mlir::Value;
  Instructions(mlir::OpBuilder &b, mlir::Location loc) : b_(b), loc_(loc) {}
  virtual ~Instructions() = default;

  //===-- This thread -------------------------------------------------------------------------===//

  /// The number of the thread in its CTA, of the CTA in the grid, and the CTAs of the grid: i32.
  virtual Value thread() = 0;
  virtual Value block() = 0;
  virtual Value blocks() = 0;
  /// A number (i32) that is the same for all lanes of a warp, as one that branches know to be so.
  virtual Value uniform(Value value) = 0;
  /// The number (i32 or i64) that a lane of the warp has.
  Value fromLane(Value value, int64_t lane);
  /// The value (32 or 64 bits) of the lane whose number differs in the bits of `mask`.
  Value shuffleXor(Value value, int64_t mask);
  /// The threads that compute meet, and see each other's memory. `ofAll`: with the producer warps
  /// behind them.
  virtual void barrier(bool ofAll = false) = 0;
  /// The lanes of a warp meet, and see each other's memory.
  virtual void meetInWarp() = 0;
  /// No instruction, but an effect: the code around it is executed only where the program is.
  virtual void stay() = 0;
  /// Ends this thread; all others of the CTA come here too.
  virtual void exit() = 0;
  /// The loop in whose body this stands first is not unrolled by an assembler: it is for launches that fail.
  virtual void stayRolled() {}

  /// Words (i32) of two bf16 each, of words of four i8: what chips do in fewer steps than conversions take. None: the
  /// chip does not.
  virtual llvm::SmallVector<Value> bf16OfBytes(llvm::ArrayRef<Value>) { return {}; }

  //===-- Global memory -----------------------------------------------------------------------===//

  /// Who decides where a load stands.
  enum class Place {
    here,     ///< the program
    late,     ///< passes behind those of LLVM: nothing writes what is read
    anywhere, ///< the assembler, likewise
  };
  /// `bytes` (1, 2, 4, 8 or 16) of memory where the mask holds, else `otherwise`. Values come as
  /// i8, i16 or words of i32.
  virtual llvm::SmallVector<Value> loadGlobal(Value address, int64_t bytes, Value mask,
                                              llvm::ArrayRef<Value> otherwise,
                                              Place place = Place::here) = 0;
  /// i8, i16 or words of i32, where the mask holds.
  virtual void storeGlobal(Value address, llvm::ArrayRef<Value> values, Value mask) = 0;

  /// The same of memory that other CTAs read and write at that time: relaxed.
  virtual llvm::SmallVector<Value> loadStrong(Value address, int64_t bytes, Value mask,
                                              llvm::ArrayRef<Value> otherwise) = 0;
  virtual void storeStrong(Value address, llvm::ArrayRef<Value> values, Value mask) = 0;

  /// The line of memory with this address comes into the last cache, where the mask holds; on chips
  /// that can be asked for it.
  virtual void prefetch(Value address, Value mask) = 0;

  /// Begins to copy 4, 8 or 16 bytes to shared memory, of which the first `count` (i32) are read
  /// and the others are zero.
  virtual void copyAsync(Value shared, Value address, int64_t bytes, Value count) = 0;
  /// Ends a group of this thread's copies.
  virtual void commitCopies() = 0;
  /// Waits until at most `pending` groups of this thread's copies are under way.
  virtual void waitCopies(int64_t pending) = 0;

  //===-- Other CTAs and ranks ----------------------------------------------------------------===//
  // Counters are 64 bits of global memory.

  virtual Value loadAcquire(Value address, ScopeName scope) = 0;
  virtual Value loadRelaxed(Value address, ScopeName scope) = 0;
  virtual void storeRelease(Value address, Value value, ScopeName scope) = 0;
  virtual void storeRelaxed(Value address, Value value, ScopeName scope) = 0;
  /// Release: `mode` is "add" or "max".
  virtual void raiseRelease(Value address, llvm::StringRef mode, Value value, ScopeName scope) = 0;
  virtual void raiseRelaxed(Value address, llvm::StringRef mode, Value value, ScopeName scope) = 0;
  /// Adds: the value before.
  virtual Value addAcquireRelease(Value address, Value value, ScopeName scope) = 0;
  /// Adds 1 to 32 bits, from `last` (i32) to 0: the value before.
  virtual Value incrementAcquireRelease(Value address, Value last, ScopeName scope) = 0;
  /// The same where the mask holds, else 0, without an order. Nothing waits for the value before it
  /// is used.
  virtual Value countArrival(Value address, Value last, Value mask, ScopeName scope) = 0;
  /// loadRelaxed where the mask holds, else `otherwise`. Nothing waits for the value likewise.
  virtual Value loadWhere(Value address, Value mask, Value otherwise, ScopeName scope) = 0;
  /// Whether a condition holds in all lanes of the warp, which all come here.
  virtual Value holdsInWarp(Value condition) = 0;
  /// Nothing that follows happens before this value (i64, not 0) is known.
  virtual void need(Value value) = 0;
  /// Four words (i32), which every rank sees all together, where the mask holds (null: always).
  virtual void storePacket(Value address, llvm::ArrayRef<Value> words, Value mask) = 0;
  /// The words where the mask holds (null: always), else anything.
  virtual llvm::SmallVector<Value> loadPacket(Value address, Value mask) = 0;
  /// Acquire and release.
  virtual void fence(ScopeName scope) = 0;
  /// Nanoseconds (i64) of a clock of the whole device.
  virtual Value time() = 0;
  /// Writes a number and values (i64) from this word of a launch's status (!llvm.ptr) on.
  virtual void report(Value status, int64_t word, int64_t number, llvm::ArrayRef<Value> values) = 0;

protected:
  /// fromLane and shuffleXor of 32 bits.
  virtual Value wordFromLane(Value word, int64_t lane) = 0;
  virtual Value shuffleWord(Value word, int64_t mask) = 0;

  mlir::OpBuilder &b_;
  mlir::Location loc_;
};

} // namespace ditron::gpu
