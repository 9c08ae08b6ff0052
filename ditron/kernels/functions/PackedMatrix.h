// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of matrices whose rows are copied to whole 16 bytes before they are multiplied.
//
// TMA loads tiles of matrices whose rows are a multiple of 16 bytes apart. Rows of an odd number of
// elements are not; cores copy them once, which costs little beside a product that reads every row
// many times.
#pragma once
#include "ditron/kernels/functions/ElementTypes.h"
#include <optional>

namespace ditron::kernels {

/// Columns of a matrix that a core copies at a time: contiguous runs.
inline constexpr int kPackedColumns = 4096;

/// `columns` elements of T, and as many more as fill the last 16 bytes.
template <class T> Index packedColumns(const Index &columns) {
  const int elements = 16 / static_cast<int>(byteSize(kDType<T>));
  return ceilDiv(columns, elements) * elements;
}

/// A copy of a matrix of this rank, [rows, columns], for its cores alone.
template <class T> class PackedMatrix {
public:
  /// Cores copy `rows` rows at a time. `name`: of the copy, for messages.
  PackedMatrix(const View<T, 2, Access::read> &matrix, int rows, const char *name)
      : matrix_(matrix), rows_(rows),
        copy_(symmetric<T>({matrix.rows(), packedColumns<T>(matrix.cols())}, name)),
        copied_(signals(1, name)) {}

  /// All cores of the running role copy.
  void copy() const {
    auto from = matrix_.tiled(rows_, kPackedColumns);
    for (auto [i, j] : from.tiles()) {
      put(from(i, j), view(copy_.on(rank())).tiled(rows_, kPackedColumns)(i, j));
      notify(copied_(0));
    }
  }
  /// The copy, once all of it is there: tiles of it may be loaded behind this.
  View<T, 2, Access::read> whenCopied() const {
    auto from = matrix_.tiled(rows_, kPackedColumns);
    wait(copied_(0), from.rows() * from.cols());
    return View<T, 2, Access::read>(view(copy_).data());
  }

private:
  auto view(const auto &copy) const { return copy.slice(1, 0, matrix_.cols()); }

  View<T, 2, Access::read> matrix_;
  int rows_;
  Symmetric<T, 2> copy_;
  SignalArray<1, false> copied_;
};

/// An operand as a product reads it: as it is given, or a copy of it.
template <class T> class Operand {
public:
  Operand(const View<T, 2, Access::read> &matrix, bool packs, int rows, const char *name)
      : matrix_(matrix) {
    if (packs)
      packed_.emplace(matrix, rows, name);
  }

  /// All cores of the running role copy it, if it is copied.
  void prepare() const {
    if (packed_)
      packed_->copy();
  }
  View<T, 2, Access::read> whenReady() const { return packed_ ? packed_->whenCopied() : matrix_; }

private:
  View<T, 2, Access::read> matrix_;
  std::optional<PackedMatrix<T>> packed_;
};

} // namespace ditron::kernels
