// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The symmetric heap: memory that every rank has at the same offset, so that an address of one rank
// names the matching memory of any other:
//
//   peer(p, r) = p + (r - rank) * heapBytes
//
// Nothing is exchanged to keep the offsets equal. Every rank runs the same allocator over the same
// sequence of requests, and that is what is checked: an allocation is a meeting of all ranks, which
// compare what each of them asks for before any of them moves. A rank that asks for something else
// is a RuntimeError on every rank, with the same text, and leaves the heaps as they were.
//
// Memory is taken from the machine when it is first touched. Contents are undefined, or 0xFF bytes
// with Options::poison.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ditron::runtime {

class Rank;

/// First-fit over offsets [0, capacity), with coalescing. Knows no memory: the same calls give the
/// same offsets everywhere.
class OffsetAllocator {
public:
  explicit OffsetAllocator(size_t capacity);

  /// The lowest offset with room, or nothing. `align` is a power of two. Takes at least one byte.
  std::optional<size_t> allocate(size_t bytes, size_t align);
  /// Bytes given back; 0 where `offset` is no allocation.
  size_t free(size_t offset);
  size_t capacity() const { return capacity_; }
  size_t used() const { return used_; }
  size_t largestFree() const;

private:
  size_t capacity_, used_ = 0;
  std::map<size_t, size_t> holes_, blocks_; // offset -> bytes
};

class SymmetricHeap {
public:
  explicit SymmetricHeap(Rank &rank);

  /// Collective: every rank asks for the same bytes, alignment and name, and gets memory at the
  /// same offset. RuntimeError on every rank where they differ, where the heap is full, or where
  /// the machine has not that much memory for all ranks.
  void *allocate(size_t bytes, size_t align = 64, std::string_view name = "");
  /// Collective: gives back what `allocate` returned.
  void free(void *memory);

  /// The matching address on `rank`.
  template <class T> T *peer(T *address, int rank) const {
    return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(address) +
                                 (intptr_t(rank) - rankIndex_) * intptr_t(stride_));
  }
  /// Whether the address lies in this rank's own heap.
  bool contains(const void *address) const {
    return size_t(static_cast<const std::byte *>(address) - base_) < stride_;
  }
  /// The rank whose heap the address lies in; nothing where it is none's.
  std::optional<int> ownerOf(const void *address) const;
  /// The address in this rank's heap that matches one in that of `owner`.
  const std::byte *own(const std::byte *address, int owner) const {
    return address - (intptr_t(owner) - rankIndex_) * intptr_t(stride_);
  }
  size_t capacity() const { return allocator_.capacity(); }
  size_t used() const { return allocator_.used(); }
  /// Distance in bytes between the heaps of neighbouring ranks.
  size_t stride() const { return stride_; }
  std::byte *base() const { return base_; }

private:
  friend class Rank;
  friend class Workspace;
  /// `tag` must be equal on all ranks too.
  void *allocateTagged(size_t bytes, size_t align, std::string_view name, uint64_t tag);
  /// Allocations and frees done; in a recovery the ranks that are one ahead undo it.
  uint64_t operations() const { return operations_; }
  void rollBackTo(uint64_t operations);
  void commit(OffsetAllocator next);

  Rank &rank_;
  std::byte *base_;
  size_t stride_;
  intptr_t rankIndex_;
  OffsetAllocator allocator_, previous_;
  uint64_t operations_ = 0;
};

} // namespace ditron::runtime
