// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Answer.h"
#include "text/Utf8.h"
#include <algorithm>

namespace serve {

Answer::Answer(std::vector<std::string> stops, int64_t most)
    : stops_(std::move(stops)), most_(most) {}

Answer::State Answer::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

Answer::State Answer::waitForMore(size_t seen, std::chrono::milliseconds time) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time,
                    [&] { return state_.finish != Finish::none || state_.text.size() > seen; });
  return state_;
}

/// How many bytes at the end of the text may be the beginning of a stop text.
static size_t beginningOfStop(const std::string &text, const std::vector<std::string> &stops) {
  size_t longest = 0;
  for (const std::string &stop : stops)
    for (size_t length = std::min(stop.size() - 1, text.size()); length > longest; --length)
      if (text.ends_with(std::string_view(stop).substr(0, length)))
        longest = length;
  return longest;
}

/// What of the bytes is to be read.
void Answer::update() {
  size_t end = std::string::npos;
  for (const std::string &stop : stops_) // it may have begun in what has been searched
    end = std::min(end, bytes_.find(stop, searched_ - std::min(searched_, stop.size() - 1)));
  searched_ = bytes_.size();
  if (end != std::string::npos) {
    bytes_.resize(end);
    state_.finish = Finish::stop;
  }
  size_t held = state_.finish != Finish::none
                    ? 0
                    : std::max(beginningOfStop(bytes_, stops_), generate::incompleteBytes(bytes_));
  // Both begin where a character does, so that what is read of the bytes is what will be read of all of them.
  size_t certain = bytes_.size() - held;
  if (certain <= taken_)
    return;
  state_.text += generate::repairUtf8(std::string_view(bytes_).substr(taken_, certain - taken_));
  taken_ = certain;
}

bool Answer::append(const std::string &bytes) {
  std::lock_guard lock(mutex_);
  bytes_ += bytes;
  if (++state_.tokens == most_)
    state_.finish = Finish::length;
  update();
  changed_.notify_all();
  return state_.finish != Finish::none;
}

void Answer::finish(Finish why, const std::string &error) {
  std::lock_guard lock(mutex_);
  if (state_.finish != Finish::none)
    return;
  state_.finish = why;
  state_.error = error;
  update();
  changed_.notify_all();
}

void Answer::abandon() {
  std::lock_guard lock(mutex_);
  isAbandoned_ = true;
}

bool Answer::isAbandoned() const {
  std::lock_guard lock(mutex_);
  return isAbandoned_;
}

} // namespace serve
