// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions of PTX that LLVM has no IR for, one function each: those that the shared
// lowering asks for, whose contracts are in gpu/Instructions.h, and those of this backend alone.
#pragma once
#include "ditron/targets/gpu/Instructions.h"

namespace ditron::nvidia {

using gpu::ScopeName;

class Instructions : public gpu::Instructions {
public:
  Instructions(mlir::OpBuilder &b, mlir::Location loc, gpu::Meeting threads = {})
      : gpu::Instructions(b, loc), threads_(threads) {}

  Value thread() override;
  Value block() override;
  Value blocks() override;
  Value uniform(Value value) override;
  void meetInWarp() override;
  void barrier(bool ofAll = false) override;
  void stay() override;
  void exit() override;
  void stayRolled() override;
  /// PtxConversions.cpp says how.
  llvm::SmallVector<Value> bf16OfBytes(llvm::ArrayRef<Value> words) override;
  llvm::SmallVector<Value> loadGlobal(Value address, int64_t bytes, Value mask,
                                      llvm::ArrayRef<Value> otherwise,
                                      Place place = Place::here) override;
  void storeGlobal(Value address, llvm::ArrayRef<Value> values, Value mask) override;
  llvm::SmallVector<Value> loadStrong(Value address, int64_t bytes, Value mask,
                                      llvm::ArrayRef<Value> otherwise) override;
  void storeStrong(Value address, llvm::ArrayRef<Value> values, Value mask) override;
  void prefetch(Value address, Value mask) override;
  void copyAsync(Value shared, Value address, int64_t bytes, Value count) override;
  void commitCopies() override;
  void waitCopies(int64_t pending) override;
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
  /// The number stands in the text: what reports different ones shares no code, whose operands
  /// would stay in registers from the beginning on.
  void report(Value status, int64_t word, int64_t number, llvm::ArrayRef<Value> values) override;

  /// What this thread wrote to shared memory is seen by TMA and by products, and what it read from there comes before
  /// what these write.
  void fenceShared();

  /// ldmatrix.x4: four 8x8 matrices of 16-bit elements, whose rows the lanes point at.
  llvm::SmallVector<Value, 4> loadMatrices(Value shared, bool transposed);

  /// mma.sync: d = a * b + c of one fragment. `shape` and `types` as PTX spells them.
  llvm::SmallVector<Value, 4> multiply(llvm::StringRef shape, llvm::StringRef types,
                                       llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b,
                                       llvm::ArrayRef<Value> c);

  /// cvt.rna.tf32.f32: the bits (i32) of an f32 rounded to the mantissa of tf32.
  Value roundToTf32(Value bits);

  //===-- TMA and mbarriers -------------------------------------------------------------------===//
  // A barrier is 8 bytes of shared memory. Its phases have the parities 0, 1, 0, ...; a wait for
  // parity 1 of a new one returns at once.

  void initBarrier(Value barrier, int64_t arrivals);
  /// The end of a barrier, whose memory something else may use then.
  void dropBarrier(Value barrier);
  /// Initialised barriers are seen by TMA.
  void fenceBarriers();
  /// Waits until the phase of this parity (i32) is complete.
  void waitBarrier(Value barrier, Value parity);
  /// The same of one of two barriers.
  void waitEitherBarrier(Value barrier, Value parity, Value other, Value otherParity);
  /// The same, or until a word of shared memory is not 0: that word (i32), as it was then.
  Value waitBarrierUnless(Value barrier, Value parity, Value word);
  /// One arrival, if the mask holds.
  void arrive(Value barrier, Value mask);
  /// The same at the barrier (an address of mapToCta) of another CTA of the cluster.
  void arriveInCluster(Value barrier, Value mask);
  /// One arrival, which says that the phase also waits for this number of bytes.
  void arriveExpecting(Value barrier, int64_t bytes);
  void arriveExpecting(Value barrier, Value bytes);
  /// mbarrier.expect_tx: this number of bytes more, without an arrival.
  void expect(Value barrier, Value bytes);
  /// mbarrier.complete_tx: this number of bytes (i32) does not come.
  void forgo(Value barrier, Value bytes);
  /// A bulk copy of bytes, a multiple of 16, from an address to shared memory, which an mbarrier counts.
  void copyBulk(Value shared, Value address, int64_t bytes, Value barrier);
  /// The same of what is read once, which leaves L2 before all else; bytes: i32.
  void copyBulkOnce(Value shared, Value address, Value bytes, Value barrier);
  /// Asks L2 for bytes, a multiple of 16: i32.
  void askBulk(Value address, Value bytes);
  /// A bulk copy of shared memory to that of a CTA of the cluster, whose barrier counts its bytes; `to` and the
  /// barrier are addresses of mapToCta.
  void copyInCluster(Value to, Value shared, int64_t bytes, Value barrier);
  /// waitBarrier for what other CTAs of the cluster have copied here.
  void waitBarrierOfCluster(Value barrier, Value parity);
  /// Writes a word (i32) to shared memory, at once.
  void storeWord(Value shared, Value word);
  /// cp.async.bulk.tensor: the box at these coordinates (i32, innermost first) of what the tensor
  /// map (!llvm.ptr) describes, to shared memory; counted by the barrier.
  /// `ctas` above 1: a multicast into the shared memory of the CTAs of the cluster, at the same
  /// places, counted by the barrier of each. What is read once leaves L2 before all else.
  void copyTensor(Value shared, Value map, llvm::ArrayRef<Value> coords, Value barrier,
                  int64_t ctas = 1, bool isReadOnce = false);
  void prefetchTensorMap(Value map);

  /// Shared memory that this thread sees is what TMA sees from here on.
  void fenceCopies();
  /// cp.async.bulk.tensor: the box in shared memory to these coordinates, as copyTensor; part of
  /// this thread's next group. All if the mask holds.
  void storeTensor(Value shared, Value map, llvm::ArrayRef<Value> coords, Value mask);
  /// Ends a group of this thread's, of none or more stores, if the mask holds.
  void commitStores(Value mask);
  /// Waits until at most `pending` groups of this thread's have something left to read in shared
  /// memory, if the mask holds.
  void waitStoresRead(int64_t pending, Value mask);
  /// Waits until this thread's groups are done.
  void waitStores();
  /// bar.sync: `threads` threads meet at the barrier of this number (i32).
  void meet(Value number, int64_t threads);
  /// bar.arrive: these threads count there too, and go on.
  void arriveAtBarrier(Value number, int64_t threads);
  /// stmatrix.x4: four 8x8 matrices of 16-bit elements, whose rows the lanes point at.
  void storeMatrices(Value shared, llvm::ArrayRef<Value> words);

  //===-- Clusters ----------------------------------------------------------------------------===//

  /// The rank of this CTA in its cluster (i32).
  Value clusterRank();
  /// mapa: the address (i32) at which the cluster knows a place in the shared memory of the CTA of
  /// this rank (i32).
  Value mapToCta(Value shared, Value rank);
  /// All threads of the cluster meet, and see each other's shared memory. `isWhole`: warps come
  /// here with all their threads together.
  void meetInCluster(bool isWhole);

  //===-- Warpgroups --------------------------------------------------------------------------===//

  /// setmaxnreg: this warpgroup takes registers up to `count` a thread, or leaves those above.
  void takeRegisters(int64_t count);
  void leaveRegisters(int64_t count);
  /// Before products that add to these registers, which other instructions have written. They are
  /// in the values.
  llvm::SmallVector<Value> fenceProducts(llvm::ArrayRef<Value> values);
  void commitProducts();
  /// Waits until at most `pending` groups are under way; the values, in the registers where the
  /// products left them, are read after that only.
  llvm::SmallVector<Value> waitProducts(int64_t pending, llvm::ArrayRef<Value> values);

  /// An operand of wgmma: its descriptor (i64), and whether it is K-major.
  struct Panels {
    Value descriptor;
    bool isKMajor;
  };
  /// The left one: there, or in four registers (i32) of each thread.
  struct Left {
    Panels panels;
    llvm::SmallVector<Value, 4> registers;
  };
  /// The type as PTX spells it, terms that are added up and columns of b.
  struct PanelProduct {
    llvm::StringRef type;
    int64_t depth, columns;
  };
  /// wgmma.mma_async: begins acc += a * b of 64 rows of a; `isFirst`: acc = a * b, whatever acc
  /// was. The results are in the registers of `acc`.
  llvm::SmallVector<Value> multiplyPanels(const PanelProduct &product, const Left &a,
                                          const Panels &b, bool isFirst, llvm::ArrayRef<Value> acc);

  //===-- Launches, and other roles ----------------------------------------------------------===//

  /// fence.proxy.async: what this thread has acquired, or seen, of global memory TMA sees too.
  void fenceAsyncProxy();
  /// griddepcontrol: what was launched before is done and seen; and the next launch may begin.
  void waitForGridDependency();
  void releaseGridDependents();

private:
  /// Assembly through which values pass in the registers where they are, in pieces; `isLast`: the
  /// text stands in the last one, else in the first.
  llvm::SmallVector<Value> pass(llvm::StringRef text, llvm::ArrayRef<Value> values, bool isLast);
  /// Assembly with results of the given types.
  llvm::SmallVector<Value> assemble(llvm::StringRef text, llvm::StringRef constraints,
                                    llvm::ArrayRef<Value> operands, mlir::TypeRange results,
                                    bool hasEffects = true);

  /// Accesses of global memory, `how` being what stands between the instruction and its type.
  llvm::SmallVector<Value> loadAs(llvm::StringRef how, Value address, int64_t bytes, Value mask,
                                  llvm::ArrayRef<Value> otherwise, bool hasEffects);
  void storeAs(llvm::StringRef how, Value address, llvm::ArrayRef<Value> values, Value mask);

  Value wordFromLane(Value word, int64_t lane) override;
  Value shuffleWord(Value word, int64_t mask) override;

  gpu::Meeting threads_;
};

} // namespace ditron::nvidia
