// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Calls.h"

namespace serve {

using generate::DecoderCall;

void Calls::add(const DecoderCall &call) {
  std::lock_guard lock(mutex_);
  for (size_t rank = 1; rank < pending_.size(); ++rank)
    pending_[rank].push_back(call);
  changed_.notify_all();
}

void Calls::end() {
  std::lock_guard lock(mutex_);
  hasEnded_ = true;
  changed_.notify_all();
}

std::optional<DecoderCall> Calls::next(int rank) {
  std::unique_lock lock(mutex_);
  std::deque<DecoderCall> &own = pending_[size_t(rank)];
  changed_.wait(lock, [&] { return hasEnded_ || !own.empty(); });
  if (own.empty())
    return std::nullopt;
  DecoderCall call = std::move(own.front());
  own.pop_front();
  return call;
}

} // namespace serve
