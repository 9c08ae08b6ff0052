// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Workspace.h"
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/Wait.h"
#include "ditron/runtime/transport/Transport.h"
#include <algorithm>
#include <cstring>

namespace ditron::runtime {

namespace {

constexpr size_t kPage = 4096;

/// FNV-1a of what the ranks must agree about.
uint64_t tagOf(const std::string &key, const std::vector<abi::SymmetricArray> &arrays) {
  uint64_t hash = 14695981039346656037u;
  auto add = [&](const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
      hash = (hash ^ static_cast<const unsigned char *>(data)[i]) * 1099511628211u;
  };
  add(key.data(), key.size());
  for (const abi::SymmetricArray &array : arrays) {
    int64_t bytes = array.bytes();
    add(array.name.data(), array.name.size());
    add(&bytes, sizeof(bytes));
    add(&array.kind, sizeof(array.kind));
  }
  return hash;
}

size_t directoryBytes(const abi::WorkspaceLayout &layout) {
  constexpr size_t kAlignment = abi::Head::kAlignment;
  size_t bytes =
      sizeof(WorkspaceDirectory) + layout.arrays().size() * sizeof(WorkspaceDirectory::Array);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

abi::WorkspaceOptions optionsOf(const Rank &rank, const std::optional<MeshAxes::Line> &team) {
  return {.ranks = rank.size(),
          .team = team,
          .bufferPages = rank.options().poison ? 4 : abi::kBufferPages,
          .hasStamps = true};
}

} // namespace

Workspace::Workspace(Rank &rank, std::string key, std::vector<abi::SymmetricArray> arrays,
                     const std::optional<MeshAxes::Line> &team)
    : rank_(rank), key_(std::move(key)), layout_(std::move(arrays), optionsOf(rank, team)) {
  size_t bytes = directoryBytes(layout_) + size_t(layout_.bytes());
  memory_ = static_cast<std::byte *>(
      rank_.heap().allocateTagged(bytes, kPage, key_, tagOf(key_, layout_.arrays())));
  heapOperation_ = rank_.heap().operations();
  writeDirectory();
  reset();
}

void Workspace::writeDirectory() {
  WorkspaceDirectory &directory = this->directory();
  directory.head = directoryBytes(layout_);
  directory.pageBytes = uint64_t(layout_.signalPage());
  directory.signalStart = directory.head + uint64_t(layout_.signalStart());
  directory.arrays = 0;
  uint64_t first = 0;
  for (const abi::SymmetricArray &one : layout_.arrays()) {
    if (!one.isSignals())
      continue;
    WorkspaceDirectory::Array &array = directory.array[directory.arrays++];
    array = {{}, first, uint64_t(one.elements()), 0, {}};
    first += array.count;
    one.name.copy(array.name, sizeof(array.name) - 1);
    if (one.extents.size() <= std::size(array.extents)) {
      array.dims = one.extents.size();
      std::copy(one.extents.begin(), one.extents.end(), array.extents);
    }
  }
}

std::byte *Workspace::head() const { return memory_ + directoryBytes(layout_); }

SignalCell &Workspace::completed(int rank) const {
  return reinterpret_cast<SignalCell *>(head() + abi::Head::kCompleted)[rank];
}

SignalCell *Workspace::cellsOf(uint64_t epoch) const {
  uint64_t page = epoch % abi::kSignalPages;
  return reinterpret_cast<SignalCell *>(head() + layout_.signalStart() +
                                        page * uint64_t(layout_.signalPage()));
}

std::byte *Workspace::addressIn(size_t index, uint64_t epoch) const {
  bool isSignals = arrays().at(index).isSignals();
  uint64_t page = isSignals
                      ? epoch % abi::kSignalPages * uint64_t(layout_.signalPage())
                      : epoch % uint64_t(layout_.bufferPages()) * uint64_t(layout_.bufferPage());
  return head() + layout_.offset(index) + page;
}

uint64_t Workspace::heapOffset() const { return uint64_t(memory_ - rank_.heap().base()); }

void Workspace::reset() {
  epoch_ = 0;
  for (int peer = 0; peer < rank_.size(); ++peer)
    completed(peer).store(uint64_t(layout_.completedAtFirst(rank_.rank(), peer)),
                          std::memory_order_relaxed);
  size_t stamps = stampDistance() / sizeof(SignalCell);
  for (uint64_t page = 0; page < abi::kSignalPages; ++page)
    for (size_t i = 0; i < cellCount(); ++i)
      for (SignalCell *cell : {cellsOf(page) + i, cellsOf(page) + stamps + i})
        cell->store(0, std::memory_order_relaxed);
  if (rank_.options().poison)
    for (int64_t page = 0; page < layout_.bufferPages(); ++page)
      poison(uint64_t(page));
}

void Workspace::poison(uint64_t page) {
  std::memset(head() + layout_.bufferStart() + page * uint64_t(layout_.bufferPage()), 0xFF,
              size_t(layout_.bufferPage()));
}

void Workspace::awaitCompletion(uint64_t needed, uint64_t next) {
  int peer = 0;
  auto ready = [&] {
    while (peer < rank_.size() && completed(peer).load(std::memory_order_acquire) >= needed)
      ++peer;
    return peer == rank_.size();
  };
  if (ready())
    return;
  CoreRecord &record = rank_.watch().core(0);
  record.wait(CoreRecord::launch, 0, heapOffset(), needed, next);
  auto result = waitUntil(
      ready, [&] { return rank_.control().stopped(); }, rank_.meetingTimeout(), rank_.crowded());
  if (result == WaitResult::stopped)
    rank_.throwError();
  if (result == WaitResult::timedOut)
    rank_.fail(rank_.reportLateWait());
  record.set(CoreRecord::done);
}

void Workspace::begin() {
  uint64_t next = epoch_ + 1;
  if (next > 2) {
    awaitCompletion(next - 2, next);
    SignalCell *resting = cellsOf(next - 2);
    for (size_t i = 0; i < cellCount(); ++i)
      if (resting[i].load(std::memory_order_relaxed)) // what nobody notified stays in their caches
        resting[i].store(0, std::memory_order_relaxed);
  }
  epoch_ = next;
}

void Workspace::end() {
  if (epoch_ >= 2 && rank_.options().poison)
    poison((epoch_ - 2) % uint64_t(layout_.bufferPages()));
  for (int peer = 0; peer < rank_.size(); ++peer)
    if (layout_.areTogether(rank_.rank(), peer))
      rank_.reach().notify({rank_.rank(), 0}, peer, &completed(rank_.rank()),
                           {.raises = true, .value = epoch_});
}

} // namespace ditron::runtime
