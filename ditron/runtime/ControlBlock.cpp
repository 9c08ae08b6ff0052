// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/ControlBlock.h"
#include "ditron/abi/Symmetric.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <sched.h>

namespace ditron::runtime {

namespace {

constexpr size_t kPage = 4096;

size_t roundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

size_t slotsOffset() { return roundUp(sizeof(ControlBlock), alignof(RankSlot)); }

size_t barriersOffset(int ranks) { return slotsOffset() + size_t(ranks) * sizeof(RankSlot); }

size_t recordsOffset(int ranks, int cores) {
  size_t cells = size_t(cores) * size_t(cores) * size_t(ranks);
  return roundUp(barriersOffset(ranks) + cells * sizeof(uint64_t), alignof(RankRecord));
}

/// The copy engines have a record too.
size_t recordBytes(int cores) {
  return sizeof(RankRecord) + size_t(cores + 1) * sizeof(CoreRecord);
}

/// Writes the slot unless it is taken; then waits until its message can be read.
void writeOnce(ErrorSlot &slot, std::string_view message, Fault fault) {
  uint32_t expected = ErrorSlot::none;
  if (slot.state.compare_exchange_strong(expected, ErrorSlot::writing)) {
    size_t length = std::min(message.size(), sizeof(slot.message) - 1);
    std::memcpy(slot.message, message.data(), length);
    slot.message[length] = 0;
    slot.fault = fault;
    slot.state.store(ErrorSlot::set, std::memory_order_release);
    return;
  }
  // A writer that dies halfway must hold nobody up: the message then stays empty.
  for (int i = 0; i < 100000 && slot.state.load(std::memory_order_acquire) != ErrorSlot::set; ++i)
    sched_yield();
}

Failure read(const ErrorSlot &slot) {
  if (slot.state.load(std::memory_order_acquire) != ErrorSlot::set)
    return {"a rank died while it reported an error"};
  return {slot.message, slot.fault};
}

} // namespace

std::string describe(const Request &request) {
  switch (request.kind) {
  case Request::allocate:
    if (std::string_view kernel = abi::kernelOfKey(request.name); !kernel.empty())
      return fmt::format("launches kernel '{}', which has {} bytes of symmetric memory", kernel,
                         request.bytes);
    return fmt::format("allocates {} bytes for '{}'", request.bytes, request.name);
  case Request::free:
    return fmt::format("frees the memory at offset {}", request.tag);
  case Request::launch:
    return fmt::format("launches kernel '{}'", request.name);
  default:
    return "is at a barrier";
  }
}

size_t Control::controlBytes(int ranks, int cores) {
  return roundUp(recordsOffset(ranks, cores) + size_t(ranks) * recordBytes(cores), kPage);
}

size_t Control::regionBytes(int ranks, int cores, size_t heapBytes) {
  return controlBytes(ranks, cores) + size_t(ranks) * heapBytes;
}

void Control::initialise(int ranks, int cores, size_t heapBytes) {
  block().ranks = ranks;
  block().cores = cores;
  block().heapBytes = heapBytes;
}

std::byte *Control::heap(int rank) const {
  return region_ + controlBytes(ranks(), cores()) + size_t(rank) * heapBytes();
}

RankSlot &Control::slot(int rank) const {
  return reinterpret_cast<RankSlot *>(region_ + slotsOffset())[rank];
}

std::atomic<uint64_t> &Control::barrierRounds(int first, int count, int rank) const {
  auto *cells = reinterpret_cast<std::atomic<uint64_t> *>(region_ + barriersOffset(ranks()));
  size_t place = size_t(first) * size_t(cores()) + size_t(count - 1);
  return cells[place * size_t(ranks()) + size_t(rank)];
}

RankRecord &Control::rankRecord(int rank) const {
  std::byte *records = region_ + recordsOffset(ranks(), cores());
  return *reinterpret_cast<RankRecord *>(records + size_t(rank) * recordBytes(cores()));
}

CoreRecord &Control::coreRecord(int rank, int core) const {
  return reinterpret_cast<CoreRecord *>(&rankRecord(rank) + 1)[core];
}

void Control::raise(std::string_view message, Fault fault) const {
  writeOnce(block().error, message, fault);
  block().stop.store(1, std::memory_order_release);
}

void Control::raiseFatal(std::string_view message, Fault fault) const {
  writeOnce(block().fatal, message, fault);
  block().stop.store(1, std::memory_order_release);
}

Failure Control::failure() const { return read(dead() ? block().fatal : block().error); }

void Control::finishRecovery() const {
  ControlBlock &shared = block();
  shared.error.state.store(ErrorSlot::none, std::memory_order_release);
  shared.stop.store(0, std::memory_order_seq_cst);
  if (shared.fatal.state.load(std::memory_order_seq_cst) != ErrorSlot::none)
    shared.stop.store(1, std::memory_order_release);
  shared.recoveries.fetch_add(1, std::memory_order_release);
}

} // namespace ditron::runtime
