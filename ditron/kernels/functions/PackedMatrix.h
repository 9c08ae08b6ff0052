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

/// Columns of a matrix that a core copies at a time.
inline constexpr int kPackedColumns = 1024;

/// `columns` elements of T, and as many more as fill the last 16 bytes.
template <class T> Index packedColumns(const Index &columns) {
  const int elements = 16 / static_cast<int>(byteSize(kDType<T>));
  return ceilDiv(columns, elements) * elements;
}

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
template <class T> class Operand {
public:
  Operand(const View<T, 2, Access::read> &matrix, bool packs, int rows, const char *name)
      : matrix_(matrix) {
    if (packs)
      packed_.emplace(packedMatrix<T>(matrix, rows, name));
  }

  /// All cores of the running role copy it, if it is copied.
  void prepare() const {
    if (packed_)
      packed_->copy();
  }
  /// Waits until it is there.
  View<T, 2, Access::read> whenReady() const {
    if (!packed_)
      return matrix_;
    packed_->waitUntilCopied();
    return packed_->view();
  }

private:
  View<T, 2, Access::read> matrix_;
  std::optional<PackedMatrix<T>> packed_;
};

} // namespace ditron::kernels
