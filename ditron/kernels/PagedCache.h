// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache in pages: keys[P,G,S,D] has P pages of S positions, pages[B,L] says which pages a sequence
// has, in its order. A row of a step is the token at positions[t] of sequence sequences[t]; a
// position of -1 is that of no token.
#pragma once
#include "ditron/kernels/Reference.h"
#include <optional>

namespace ditron::kernels {

/// The row of a step that a core works on.
class PagedRow {
public:
  /// Row t; pages have S positions. Ends the launch where the table has no such position or
  /// sequence.
  PagedRow(const In<i32, 1> &positions, const In<i32, 1> &sequences, const In<i32> &pages, Index t,
           Index S)
      : pages_(pages), position_(toIndex(positions.read({t}))),
        sequence_(toIndex(sequences.read({t}))) {
    // One requirement: both numbers are on their way together.
    Bool isPlace = position_ >= -1 && position_ < pages.cols() * S;
    require(
        isPlace && sequence_ >= 0 && sequence_ < pages.rows(),
        "row {} is at position {} of sequence {}, and there are {} sequences, of {} pages of {}",
        {t, position_, sequence_, pages.rows(), pages.cols(), S});
  }

  Index position() const { return position_; }
  Index sequence() const { return sequence_; }
  /// Those that its query sees.
  Index numKeys() const { return position_ + 1; }
  /// Page j of its sequence.
  Index page(Index j) const { return toIndex(pages_.read({sequence_, j})); }

private:
  In<i32> pages_;
  Index position_, sequence_;
};

//===-- References ----------------------------------------------------------------------------===//

/// The arguments that say where rows are, by number.
struct PagedArguments {
  size_t positions, sequences, pages;
};
/// Rows of all sequences in turn, each at another place, the last one of several being of no token;
/// pages in no order, each of one sequence. Nothing for other arguments.
std::optional<double> pagedInput(const Problem &problem, const PagedArguments &arguments,
                                 size_t argument, int64_t element);
/// Where position j of the sequence of row t is.
struct PagedPlace {
  int64_t page, row;
};
PagedPlace placeOf(const Case &run, const PagedArguments &arguments, int64_t rank, int64_t t,
                   int64_t j);
/// UsageError unless there are as many pages as the sequences have, and as many places as rows.
void checkPaged(const Problem &problem, const char *kernel);

} // namespace ditron::kernels
