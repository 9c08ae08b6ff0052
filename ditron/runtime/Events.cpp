// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Events.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>

namespace ditron::runtime {

/// Places behind those of the events that are kept.
static constexpr size_t kSpare = 2;

EventLog::EventLog(size_t capacity) {
  void *memory = mmap(nullptr, (capacity + kSpare) * sizeof(Event), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw RuntimeError(fmt::format("address space for {} events of a core is refused: {} "
                                   "(DITRON_EVENTS sets their number)",
                                   capacity, std::strerror(errno)));
  events_ = static_cast<Event *>(memory);
  last_ = capacity + 1;
}

uint64_t EventLog::timeOf(uint64_t ticks) const {
  if (endTicks_ <= beginTicks_ || ticks <= beginTicks_)
    return begin_;
  double part = double(ticks - beginTicks_) / double(endTicks_ - beginTicks_);
  return begin_ + uint64_t(std::min(part, 1.0) * double(end_ - begin_));
}

EventLog::~EventLog() {
  if (events_)
    munmap(events_, (capacity() + kSpare) * sizeof(Event));
}

} // namespace ditron::runtime
