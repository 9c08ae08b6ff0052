// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of matrices whose rows are copied to whole 16 bytes before they are multiplied.
//
// TMA loads tiles of matrices whose rows are a multiple of 16 bytes apart. Rows of an odd number of
// elements are not; cores copy them once, which costs little beside a product that reads every row
// many times. What the copy has beyond the matrix is 0 and adds nothing to a sum.
#pragma once
#include "ditron/kernels/functions/ElementTypes.h"
#include <optional>
#include <string>

namespace ditron::kernels {

/// Columns of a matrix that a core copies at a time, and rows where nothing says another number.
inline constexpr int kPackedColumns = 1024, kPackedRows = 8;

/// A copy of a matrix of this rank, or of several, for its cores alone.
template <class T, int rank = 2> class PackedMatrix {
public:
  /// `copy`: symmetric memory of the extents of `matrix`, the last one as packedColumns() gives it.
  /// Cores copy `rows` rows at a time. `name`: of the copy, for messages.
  PackedMatrix(const View<T, rank, Access::read> &matrix, const Symmetric<T, rank> &copy, int rows,
               const char *name)
      : from_(matrix.tiled(rows, kPackedColumns)), copy_(copy),
        to_(copy.tiled(rows, kPackedColumns)),
        copied_(signals(1, (std::string(name) + ".copied").c_str())) {}

  /// All cores of the running role copy.
  void copy() const {
    for (auto at : to_.tiles()) {
      std::apply(to_, at) = std::apply(from_, at);
      notify(copied_(0));
    }
  }
  /// Waits until all of it is there: behind this, tiles of the view may be loaded.
  void waitUntilCopied() const {
    Index tiles = to_.rows() * to_.cols();
    for (int d = 0; d + 2 < rank; ++d)
      tiles = tiles * copy_.dim(d);
    wait(copied_(0), tiles);
  }
  View<T, rank, Access::read> view() const { return View<T, rank, Access::read>(copy_.data()); }

private:
  Tiled<T, rank, 2, Access::read> from_;
  Symmetric<T, rank> copy_;
  Tiled<T, rank, 2, Access::readWrite> to_;
  SignalArray<1, false> copied_;
};

/// A matrix, [rows, columns], and its copy.
template <class T>
PackedMatrix<T> packedMatrix(const View<T, 2, Access::read> &matrix, int rows, const char *name) {
  auto copy = symmetric<T>({matrix.rows(), packedColumns<T>(matrix.cols())}, name);
  return {matrix, copy, rows, name};
}

/// An operand as a product reads it: as it is given, or a copy of it.
template <class T, int rank = 2> class Operand {
public:
  explicit Operand(const View<T, rank, Access::read> &given) : view_(given) {}
  explicit Operand(const PackedMatrix<T, rank> &packed) : view_(packed.view()), packed_(packed) {}

  /// All cores of the running role copy it, if it is copied.
  void prepare() const {
    if (packed_)
      packed_->copy();
  }
  /// Tiles of the view may be loaded behind this.
  void waitUntilReady() const {
    if (packed_)
      packed_->waitUntilCopied();
  }
  const View<T, rank, Access::read> &view() const { return view_; }

private:
  View<T, rank, Access::read> view_;
  std::optional<PackedMatrix<T, rank>> packed_;
};

/// A matrix, [rows, columns], or a copy of it that cores make `rows` rows at a time.
template <class T>
Operand<T> operandOf(const View<T, 2, Access::read> &matrix, bool packs, int rows,
                     const char *name) {
  return packs ? Operand<T>(packedMatrix<T>(matrix, rows, name)) : Operand<T>(matrix);
}

/// The operands of a product, each copied if `packs`, `rows` rows at a time.
template <class T> struct Operands {
  Operand<T> left, right;

  Operands(const View<T, 2, Access::read> &A, const View<T, 2, Access::read> &B, bool packs,
           int rows)
      : left(operandOf<T>(A, packs, rows, "packedA")),
        right(operandOf<T>(B, packs, rows, "packedB")) {}

  /// All cores of the running role copy what is copied.
  void prepare() const {
    left.prepare();
    right.prepare();
  }
  /// Tiles of both may be loaded behind this.
  void waitUntilReady() const {
    left.waitUntilReady();
    right.waitUntilReady();
  }
};

} // namespace ditron::kernels
