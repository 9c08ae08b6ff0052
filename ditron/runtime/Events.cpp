// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Events.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <utility>

namespace ditron::runtime {

EventLog::EventLog(size_t capacity) {
  void *memory = mmap(nullptr, capacity * sizeof(Event), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw RuntimeError(fmt::format("address space for {} events of a core is refused: {} "
                                   "(DITRON_EVENTS sets their number)",
                                   capacity, std::strerror(errno)));
  next_ = events_ = static_cast<Event *>(memory);
  limit_ = events_ + capacity;
}

EventLog::EventLog(EventLog &&other) noexcept
    : next_(other.next_), limit_(other.limit_), events_(std::exchange(other.events_, nullptr)),
      takesCpuTime_(other.takesCpuTime_), cpu_(other.cpu_), begin_(other.begin_), end_(other.end_),
      beginTicks_(other.beginTicks_), endTicks_(other.endTicks_), dropped_(other.dropped_),
      firstDropped_(other.firstDropped_) {}

uint64_t EventLog::timeOf(uint64_t ticks) const {
  if (endTicks_ <= beginTicks_ || ticks <= beginTicks_)
    return begin_;
  double part = double(ticks - beginTicks_) / double(endTicks_ - beginTicks_);
  return begin_ + uint64_t(std::min(part, 1.0) * double(end_ - begin_));
}

EventLog::~EventLog() {
  if (events_)
    munmap(events_, capacity() * sizeof(Event));
}

} // namespace ditron::runtime
