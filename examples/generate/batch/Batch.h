// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences that take their steps together. They join and leave between two steps. A step has a row
// for each sequence whose next token is asked for, and the rows that are left take in prompts, those
// of the sequences that joined first first. What a sequence gets does not depend on the others, bit
// for bit.
#pragma once
#include "Sampler.h"
#include "batch/Pages.h"
#include "model/Decoder.h"
#include <list>
#include <optional>
#include <string>

namespace generate {

/// A token that a step has made, of the sequence at this place. There is none where its logits are no
/// numbers, and there will be none: it is for the caller to have the sequence leave.
struct Made {
  int64_t place;
  std::optional<Token> token;
  std::string fault = {}; ///< Decoder::faultOf where there is none
};

class Batch {
public:
  explicit Batch(Decoder &decoder);

  /// A place for a sequence of this prompt (one token or more) and up to `most` tokens behind it, or
  /// nothing where no place or too few pages are free. It has all its pages from the beginning, so
  /// that it always comes to its end. Both together are up to DecoderSize::positions.
  std::optional<int64_t> join(std::vector<Token> prompt, int64_t most, const Sampler &sampler);
  /// Frees the place and its pages.
  void leave(int64_t place);
  int64_t size() const { return std::ssize(sequences_); }
  int64_t freePages() const { return pages_.left(); }

  /// A step of all that are here. Sequences whose prompts are not all in yet make no token.
  std::vector<Made> step();

private:
  struct Sequence {
    int64_t place;
    Sampler sampler;
    std::vector<Token> pending; ///< tokens that no step has taken in
    std::vector<int64_t> pages;
    int64_t position = 0; ///< of the first of them
  };

  std::vector<Row> nextRows();
  std::optional<Token> tokenOf(Sequence &sequence, int64_t wanted);

  Decoder &decoder_;
  Pages pages_;
  std::vector<int64_t> freePlaces_;
  std::list<Sequence> sequences_; ///< as they joined
};

} // namespace generate
