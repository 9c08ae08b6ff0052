// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch/Batch.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <utility>

namespace generate {

Batch::Batch(Decoder &decoder) : decoder_(decoder), pages_(decoder.size().allPages()) {
  for (int64_t place = decoder.size().sequences - 1; place >= 0; --place)
    freePlaces_.push_back(place);
}

std::optional<int64_t> Batch::join(std::vector<Token> prompt, int64_t most,
                                   const Sampler &sampler) {
  int64_t positions = std::ssize(prompt) + most;
  if (prompt.empty() || positions > decoder_.size().positions)
    throw ditron::InternalError("a sequence that does not fit the cache");
  if (freePlaces_.empty())
    return std::nullopt;
  std::optional<std::vector<int64_t>> pages = pages_.take(decoder_.size().pagesOf(positions));
  if (!pages)
    return std::nullopt;
  int64_t place = freePlaces_.back();
  freePlaces_.pop_back();
  decoder_.setPages(place, *pages);
  sequences_.push_back({place, sampler, std::move(prompt), std::move(*pages)});
  return place;
}

void Batch::leave(int64_t place) {
  auto found = std::ranges::find(sequences_, place, &Sequence::place);
  if (found == sequences_.end())
    throw ditron::InternalError("a sequence that is not here leaves");
  pages_.giveBack(found->pages);
  freePlaces_.push_back(place);
  sequences_.erase(found);
}

/// Takes them from what is pending.
std::vector<Row> Batch::nextRows() {
  std::vector<Row> rows;
  // Each may have one row; those that are left go to the first sequences with more.
  int64_t left = DecoderSize::kRows - size();
  for (Sequence &sequence : sequences_) {
    int64_t more = std::min(left, std::ssize(sequence.pending) - 1);
    left -= more;
    auto end = sequence.pending.begin() + more + 1;
    for (auto token = sequence.pending.begin(); token != end; ++token)
      rows.push_back(
          {*token, sequence.position++, sequence.place, token + 1 == sequence.pending.end()});
    sequence.pending.erase(sequence.pending.begin(), end);
  }
  return rows;
}

std::optional<Token> Batch::tokenOf(Sequence &sequence, int64_t wanted) {
  if (sequence.sampler.isGreedy())
    return decoder_.best(wanted);
  std::optional<std::vector<float>> logits = decoder_.logits(wanted);
  return logits ? std::optional(sequence.sampler.choose(*logits)) : std::nullopt;
}

std::vector<Made> Batch::step() {
  std::vector<Made> made;
  std::vector<Row> rows = nextRows();
  if (rows.empty())
    return made;
  decoder_.step(rows);
  for (Sequence &sequence : sequences_)
    if (sequence.pending.empty()) {
      std::optional<Token> token = tokenOf(sequence, std::ssize(made));
      if (token)
        sequence.pending.push_back(*token);
      made.push_back(
          {sequence.place, token, token ? std::string() : decoder_.faultOf(std::ssize(made))});
    }
  return made;
}

} // namespace generate
