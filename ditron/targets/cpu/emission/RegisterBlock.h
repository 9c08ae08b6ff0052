// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of a product is in vector registers at a time.
#pragma once
#include <cstdint>

namespace ditron::cpu {

/// Rows and vectors of columns of a product that the micro-kernel keeps in registers; by rows, a
/// vector for each column.
struct RegisterBlock {
  int64_t rows, vectors;
};

/// A product of m rows and n columns, in vectors of `lanes` elements, on a core with `registers` vector registers.
struct ProductShape {
  int64_t m, n, lanes, registers;
};

/// The block that wastes least of a tile of m rows: acc, one row of rhs and one element of lhs in
/// registers.
RegisterBlock chooseBlock(const ProductShape &shape);
/// Columns for all rows of a tile at once, as many as the registers hold; none if there are many rows.
RegisterBlock chooseDirect(const ProductShape &shape);
/// Where a product of rows by rows reads them.
struct RowReads {
  int64_t mostColumns; ///< rows of rhs that may be read side by side
  bool isFar;          ///< rows of lhs are in the second-level cache, whose reads count twice
};

/// The block of rows of both sides with the fewest reads a product: its sums, and a vector of each
/// row.
RegisterBlock chooseRows(const ProductShape &shape, const RowReads &reads);

/// All rows, where the registers hold all vectors of them beside the sums of a row of rhs at a time, and
/// how many rows of rhs come one after the other; none if there are too many.
RegisterBlock chooseHeld(const ProductShape &shape, int64_t vectorsOfRow);

/// Whether a row is short, by the number of its vectors.
bool isShortRow(int64_t vectors);

} // namespace ditron::cpu
