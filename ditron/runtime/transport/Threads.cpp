// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that are threads of one process: the region is anonymous memory, and no rank can die alone.
#include "ditron/runtime/Memory.h"
#include "ditron/runtime/transport/Transport.h"
#include "ditron/support/Error.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ditron::runtime {

namespace {

class ThreadsTransport final : public Transport {
public:
  ThreadsTransport(int ranks, int cores, size_t heapBytes)
      : region_(Control::regionBytes(ranks, cores, heapBytes), -1) {
    control_ = Control(region_.data());
    control_.initialise(ranks, cores, heapBytes);
    for (int rank = 0; rank < ranks; ++rank)
      control_.slot(rank).process.store(getpid(), std::memory_order_relaxed);
  }
  std::string_view name() const override { return "threads"; }

private:
  Region region_;
};

} // namespace

Region::Region(size_t bytes, int file) : bytes_(bytes) {
  int flags = MAP_NORESERVE | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (data == MAP_FAILED)
    throw RuntimeError(
        fmt::format("mapping {} bytes for the symmetric heaps is refused: {} (DITRON_HEAP_BYTES "
                    "sets the bytes of one)",
                    bytes, std::strerror(errno)));
  madvise(data, bytes, MADV_HUGEPAGE); // a hint
  data_ = static_cast<std::byte *>(data);
}

Region::~Region() { munmap(data_, bytes_); }

size_t heapBytesFor(const Options &options, int ranks) {
  constexpr size_t kPage = 4096, kHugePage = size_t(2) << 20, kMost = size_t(1) << 46;
  if (options.heapBytes > kMost)
    throw UsageError(fmt::format("heapBytes is {}: expected at most {}", options.heapBytes, kMost));
  if (options.heapBytes > 0)
    return (options.heapBytes + kPage - 1) / kPage * kPage;
  return std::max(totalMemory() / size_t(ranks) / kHugePage * kHugePage, kHugePage);
}

std::shared_ptr<Transport> makeThreads(const Options &options) {
  if (options.ranks < 1 || options.ranks > 1024)
    throw UsageError(fmt::format("ranks is {}: expected 1 to 1024", options.ranks));
  checkOptions(options);
  options.mesh.of(options.ranks); // an error here, not on every rank
  return std::make_shared<ThreadsTransport>(options.ranks, options.cores,
                                            heapBytesFor(options, options.ranks));
}

} // namespace ditron::runtime
