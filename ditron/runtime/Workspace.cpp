// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Workspace.h"
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/Wait.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cstring>

namespace ditron::runtime {

namespace {

constexpr size_t kLine = 64, kPage = 4096;

size_t roundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/// FNV-1a of what the ranks must agree about.
uint64_t tagOf(const std::string &key, const std::vector<BufferRequest> &requests) {
  uint64_t hash = 14695981039346656037u;
  auto add = [&](const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
      hash = (hash ^ static_cast<const unsigned char *>(data)[i]) * 1099511628211u;
  };
  add(key.data(), key.size());
  for (const BufferRequest &request : requests) {
    add(request.name.data(), request.name.size());
    add(&request.bytes, sizeof(request.bytes));
    add(&request.kind, sizeof(request.kind));
  }
  return hash;
}

} // namespace

Workspace::Workspace(Rank &rank, std::string key, std::vector<BufferRequest> requests)
    : rank_(rank), key_(std::move(key)), requests_(std::move(requests)) {
  layOut();
  memory_ = static_cast<std::byte *>(
      rank_.heap().allocateTagged(bytes_, kPage, key_, tagOf(key_, requests_)));
  heapOperation_ = rank_.heap().operations();
  bases_.resize(kSignalPages * cellCount_);
  writeHead();
  reset();
}

void Workspace::layOut() {
  offsets_.resize(requests_.size());
  for (size_t i = 0; i < requests_.size(); ++i) {
    const BufferRequest &request = requests_[i];
    if (request.kind == BufferRequest::Kind::signals) {
      offsets_[i] = cellCount_ * sizeof(SignalCell);
      cellCount_ += request.bytes / sizeof(SignalCell);
    } else {
      offsets_[i] = roundUp(bufferBytes_, request.bytes >= 16 * kPage ? kPage : kLine);
      bufferBytes_ = offsets_[i] + request.bytes;
    }
  }
  bufferPages_ = rank_.options().poison ? 4 : 2;
  bufferBytes_ = roundUp(bufferBytes_, bufferBytes_ >= kPage ? kPage : kLine);
  signalStart_ =
      roundUp(sizeof(WorkspaceHead) + requests_.size() * sizeof(WorkspaceHead::Array), kLine);
  signalStride_ = roundUp(cellCount_ * sizeof(SignalCell), kLine);
  bufferStart_ = roundUp(signalStart_ + kSignalPages * signalStride_ + stampDistance(),
                         bufferBytes_ >= kPage ? kPage : kLine);
  bytes_ = bufferStart_ + bufferPages_ * bufferBytes_;
}

void Workspace::writeHead() {
  WorkspaceHead &head = this->head();
  head.counters = cellCount_;
  head.pageBytes = signalStride_;
  head.signalStart = signalStart_;
  head.arrays = 0;
  for (size_t i = 0; i < requests_.size(); ++i) {
    const BufferRequest &request = requests_[i];
    if (request.kind != BufferRequest::Kind::signals)
      continue;
    WorkspaceHead::Array &array = head.array[head.arrays++];
    array = {{}, offsets_[i] / sizeof(SignalCell), request.bytes / sizeof(SignalCell), 0, {}};
    request.name.copy(array.name, sizeof(array.name) - 1);
    if (request.extents.size() <= std::size(array.extents)) {
      array.dims = request.extents.size();
      std::copy(request.extents.begin(), request.extents.end(), array.extents);
    }
  }
}

void Workspace::reset() {
  epoch_ = 0;
  std::fill(bases_.begin(), bases_.end(), 0);
  completed().store(0, std::memory_order_relaxed);
  for (uint64_t page = 0; page < kSignalPages; ++page)
    for (size_t i = 0; i < cellCount_; ++i)
      for (SignalCell *cells :
           {cellsOf(page), cellsOf(page) + stampDistance() / sizeof(SignalCell)})
        cells[i].store(0, std::memory_order_relaxed);
  if (rank_.options().poison)
    for (uint64_t page = 0; page < bufferPages_; ++page)
      poison(page);
}

void Workspace::poison(uint64_t page) {
  std::memset(memory_ + bufferStart_ + page * bufferBytes_, 0xFF, bufferBytes_);
}

SignalCell *Workspace::cellsOf(uint64_t epoch) const {
  return reinterpret_cast<SignalCell *>(memory_ + signalStart_ +
                                        epoch % kSignalPages * signalStride_);
}

const uint64_t *Workspace::bases() const {
  return bases_.data() + epoch_ % kSignalPages * cellCount_;
}

std::byte *Workspace::addressIn(size_t index, uint64_t epoch) const {
  size_t offset = offsets_.at(index);
  if (requests_[index].kind == BufferRequest::Kind::signals)
    return reinterpret_cast<std::byte *>(cellsOf(epoch)) + offset;
  return memory_ + bufferStart_ + epoch % bufferPages_ * bufferBytes_ + offset;
}

uint64_t Workspace::heapOffset() const { return uint64_t(memory_ - rank_.heap().base()); }

void Workspace::begin() {
  uint64_t next = epoch_ + 1, needed = next < 2 ? 0 : next - 2;
  for (int peer = 0; peer < rank_.size(); ++peer) {
    SignalCell &theirs = *rank_.heap().peer(&completed(), peer);
    if (theirs.load(std::memory_order_acquire) >= needed)
      continue;
    CoreRecord &record = rank_.watch().core(0);
    record.wait(CoreRecord::launch, 0, heapOffset(), needed, next);
    auto result = waitUntil([&] { return theirs.load(std::memory_order_acquire) >= needed; },
                            [&] { return rank_.control().stopped(); }, rank_.meetingTimeout(),
                            rank_.crowded());
    if (result == WaitResult::stopped)
      rank_.throwError();
    if (result == WaitResult::timedOut)
      rank_.fail(reportLateWait(rank_.control(), rank_.options().waitTimeout));
    record.set(CoreRecord::done);
  }
  epoch_ = next;
}

void Workspace::end() {
  if (epoch_ >= 2) {
    uint64_t resting = epoch_ - 2;
    uint64_t *bases = bases_.data() + resting % kSignalPages * cellCount_;
    for (size_t i = 0; i < cellCount_; ++i)
      bases[i] = cellsOf(resting)[i].load(std::memory_order_relaxed);
    if (rank_.options().poison)
      poison(resting % bufferPages_);
  }
  completed().store(epoch_, std::memory_order_release);
}

} // namespace ditron::runtime
