// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overlap by placement. A kernel of one device, and where its arguments live on many: the compiler
// derives chunks, transfers, signals, waits and the order of the tiles.
//
//     Kernel first = distribute(gemm(DType::bf16), {{"A", gathered(0)}});
//         gemm(A[M,K], B[K,N]) -> C[R*M,N]: each rank has M rows of A and multiplies all of them
//     Kernel second = distribute(gemm(DType::bf16), {{"C", reduceScattered(0)}});
//         gemm(A[R*M,K], B[K,N]) -> C[M,N]: the sum over the ranks, each rank's rows on that rank
//     Kernel third = distribute(gemm(DType::bf16), {{"C", allReduced()}});
//         gemm(A[M,K], B[K,N]) -> C[M,N]: the sum over the ranks, on every rank
//     Kernel fourth = distribute(groupedGemm(DType::bf16), {{"A", exchanged("counts")}});
//         grouped-gemm(A[T,K], W[G,N,K], counts[R*G]) -> C[R*T,N]: rows of A go to the rank that has
//         their group
//
// `ditron compile --emit ir` shows the verbs, `ditron check` proves them.
//
#pragma once
#include "ditron/lang/Kernel.h"
#include <initializer_list>
#include <string>

namespace ditron {

/// Where an argument of a kernel lives.
struct Placement {
  enum class Kind { gathered, reduceScattered, allReduced, exchanged } kind;
  int dim = -1;
  int commCores = 1;
  Engine engine = Engine::core;
  int chunkCount = 1, waveSize = 0;
  int roundCount = 1;
  bool isRounded = false;
  bool isRing = false;
  Mesh axis = Mesh::world;
  std::string counts = {};

  /// The same with `count` cores of each rank to move a gathered input; 0: all do, before they
  /// compute. Then the own part stays where it is, and each of the others is waited for as a whole, but along a ring. On a GPU a
  /// warp beside the product may do that, while it is computed. Sums are moved by the cores that compute them, whatever `count` is.
  Placement cores(int count) const { return with(&Placement::commCores, count); }
  /// The same with that engine to move the data. What copy engines sum is dealt to the ranks by
  /// rows, and each sends a rank's part once all tiles of it are computed.
  Placement on(Engine mover) const { return with(&Placement::engine, mover); }
  /// The same with each rank's part of a sum in `count` chunks, 1 or more, that copy engines send
  /// one by one: the first while tiles of the second are computed.
  Placement chunks(int count) const { return with(&Placement::chunkCount, count); }
  /// The same where all cores together compute `tiles` tiles at a time: a wave. Nothing is left to
  /// compute while the last chunk of an all-reduced sum travels, so it has the tiles of the last wave
  /// only. 0: it is as the others.
  Placement wave(int tiles) const { return with(&Placement::waveSize, tiles); }
  /// The same where all ranks compute the rows of their parts in `count` rounds, 1 or more: an all-reduced sum of a round
  /// travels while the next one is computed, and not at the end. It is dealt to the ranks by rows then. From three rounds
  /// on, a rank computes its own part of a round behind the others' of the next one. Copy engines know two rounds, which
  /// are their two chunks. Parts along an axis of a mesh, and parts of results that are not matrices, are
  /// computed in one.
  Placement rounds(int count) const { return with(&Placement::roundCount, count); }
  /// The same with summands that travel in the type of the result, not in that of the sum, a float
  /// both: fewer bytes, and one rounding for each rank. They are added in the type of the sum.
  Placement rounded(bool yes = true) const { return with(&Placement::isRounded, yes); }
  /// The same with parts of a gathered input that go round a ring: a rank hands on what it has received
  /// to the rank before it, so that only neighbours talk. Every rank has its own part first, then those
  /// of the ranks behind it, one after the other.
  Placement ring(bool yes = true) const { return with(&Placement::isRing, yes); }
  /// The same among the ranks along that axis of the mesh: those that differ from this one along it
  /// only. The signature has R_row, the number of them along axis `row`, where extents grow.
  Placement along(Mesh line) const { return with(&Placement::axis, line); }

private:
  template <class T> Placement with(T Placement::*member, T value) const {
    Placement result = *this;
    result.*member = value;
    return result;
  }
};

/// Each rank has an equal part of dimension `dim` of an input, the kernel reads all of them.
inline Placement gathered(int dim) { return {Placement::Kind::gathered, dim}; }
/// The output is summed over the ranks; each keeps an equal part of dimension `dim`. What follows
/// the sum (bias, activation, residual) is applied once, by the rank that keeps the part: inputs
/// that only it reads have the part's extent.
inline Placement reduceScattered(int dim) { return {Placement::Kind::reduceScattered, dim}; }
/// The output is summed over the ranks, and every rank has all of it.
inline Placement allReduced() { return {Placement::Kind::allReduced}; }

/// Rows of a matrix, an input, go to other ranks: the tokens of experts. They are sorted by group;
/// `counts` names the input of i32 that says how many rows each group has. A rank has as many groups as
/// the kernel knows of, and is launched with the counts of all: those for the groups of rank 0, then
/// of rank 1, and so on, together no more than there are rows. The kernel sees the rows that all ranks
/// send to its groups, those of a group in the order of the ranks, and counts the same way: where it
/// has T rows, the ranks have up to R*T. Rows are moved by cores.
/// A kernel of one loop over tiles, which names its rows by slices that follow from the counts, begins
/// with the own rows and goes on with those of the next rank once they are there. Any other one, or one
/// whose cores all move rows (cores(0)), begins when all rows are there.
inline Placement exchanged(const std::string &counts) {
  Placement placement{Placement::Kind::exchanged, 0};
  placement.counts = counts;
  return placement;
}

/// Arguments by name, and where they live.
class Placements {
public:
  struct Entry {
    std::string argument;
    Placement placement;
  };
  Placements(std::initializer_list<Entry> entries) : entries_(entries) {}
  const std::vector<Entry> &entries() const { return entries_; }

private:
  std::vector<Entry> entries_;
};

/// The kernel for ranks that have its arguments as `placements` say. Its signature has R (the number
/// of ranks) where extents grow. CompileError at the caller's line where an argument is unknown or
/// cannot be placed so, with the line of the kernel and the reason.
Kernel distribute(const Kernel &kernel, const Placements &placements,
                  Location where = Location::current());
/// The same, called `name` in messages, traces and signatures.
Kernel distribute(const std::string &name, const Kernel &kernel, const Placements &placements,
                  Location where = Location::current());

} // namespace ditron
