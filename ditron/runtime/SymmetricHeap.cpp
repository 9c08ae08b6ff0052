// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/SymmetricHeap.h"
#include "ditron/runtime/Memory.h"
#include "ditron/runtime/Rank.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sizes.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace ditron::runtime {

OffsetAllocator::OffsetAllocator(size_t capacity) : capacity_(capacity) {
  if (capacity > 0)
    holes_[0] = capacity;
}

std::optional<size_t> OffsetAllocator::allocate(size_t bytes, size_t align) {
  bytes = std::max<size_t>(bytes, 1);
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    auto [start, size] = *hole;
    size_t offset = (start + align - 1) & ~(align - 1);
    size_t padding = offset - start;
    if (padding > size || size - padding < bytes)
      continue;
    holes_.erase(hole);
    if (padding > 0)
      holes_[start] = padding;
    if (size - padding > bytes)
      holes_[offset + bytes] = size - padding - bytes;
    blocks_[offset] = bytes;
    used_ += bytes;
    return offset;
  }
  return std::nullopt;
}

size_t OffsetAllocator::free(size_t offset) {
  auto block = blocks_.find(offset);
  if (block == blocks_.end())
    return 0;
  size_t bytes = block->second, size = bytes;
  blocks_.erase(block);
  used_ -= bytes;
  auto next = holes_.lower_bound(offset);
  if (next != holes_.end() && next->first == offset + size) {
    size += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return bytes;
    }
  }
  holes_[offset] = size;
  return bytes;
}

size_t OffsetAllocator::largestFree() const {
  size_t largest = 0;
  for (auto [offset, size] : holes_)
    largest = std::max(largest, size);
  return largest;
}

SymmetricHeap::SymmetricHeap(Rank &rank)
    : rank_(rank), base_(rank.control().heap(rank.rank())), stride_(rank.control().heapBytes()),
      rankIndex_(rank.rank()), allocator_(stride_), previous_(stride_) {}

std::optional<int> SymmetricHeap::ownerOf(const void *address) const {
  const std::byte *first = base_ - rankIndex_ * intptr_t(stride_);
  size_t rank = size_t(static_cast<const std::byte *>(address) - first) / stride_;
  return rank < size_t(rank_.size()) ? std::optional(int(rank)) : std::nullopt;
}

void *SymmetricHeap::allocate(size_t bytes, size_t align, std::string_view name) {
  return allocateTagged(bytes, align, name, 0);
}

void *SymmetricHeap::allocateTagged(size_t bytes, size_t align, std::string_view name,
                                    uint64_t tag) {
  if (align == 0 || (align & (align - 1)) != 0 || align > 4096)
    throw CompileError(fmt::format(
        "symmetric allocation '{}': alignment {} is no power of two up to 4096", name, align));
  Request request{.kind = Request::allocate, .bytes = bytes, .align = align, .tag = tag};
  copyText(request.name, name);
  OffsetAllocator next = allocator_;
  std::optional<size_t> offset = next.allocate(bytes, align);
  std::string what = fmt::format("symmetric allocation '{}'", name);
  std::string refusal;
  if (!offset)
    refusal = fmt::format("{}: {} bytes asked for, but the symmetric heap of {} bytes a rank has "
                          "{} in use and {} at most in one piece (DITRON_HEAP_BYTES sets its size)",
                          what, bytes, capacity(), used(), allocator_.largestFree());
  else
    refusal = memoryRefusal(saturatingProduct(bytes, size_t(rank_.size())),
                            fmt::format("{} on {} ranks", what, rank_.size()));
  request.refused = !refusal.empty();
  copyText(request.text, refusal);
  rank_.meet(request);
  commit(std::move(next));
  if (rank_.options().poison) {
    std::memset(base_ + *offset, 0xFF, bytes);
    rank_.barrier(); // nobody writes before it is poisoned
  }
  return base_ + *offset;
}

void SymmetricHeap::free(void *memory) {
  Request request{.kind = Request::free};
  request.tag = uint64_t(static_cast<std::byte *>(memory) - base_);
  OffsetAllocator next = allocator_;
  if (!contains(memory) || next.free(request.tag) == 0) {
    request.refused = 1;
    copyText(request.text,
             fmt::format("rank {} frees memory that it did not allocate from the symmetric heap",
                         rank_.rank()));
  }
  rank_.meet(request);
  commit(std::move(next));
}

void SymmetricHeap::commit(OffsetAllocator next) {
  previous_ = std::exchange(allocator_, std::move(next));
  ++operations_;
  rank_.control().slot(rank_.rank()).heapOperations.store(operations_, std::memory_order_release);
}

void SymmetricHeap::rollBackTo(uint64_t operations) {
  if (operations_ == operations)
    return;
  if (operations_ != operations + 1)
    throw InternalError(
        fmt::format("symmetric heaps are {} and {} operations old", operations_, operations));
  allocator_ = previous_;
  operations_ = operations;
  rank_.control().slot(rank_.rank()).heapOperations.store(operations_, std::memory_order_release);
}

} // namespace ditron::runtime
