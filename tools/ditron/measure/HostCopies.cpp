// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/measure/HostCopies.h"
#include "ditron/interop/Cuda.h"
#include "ditron/runtime/Gather.h"
#include "ditron/runtime/nvidia/GpuDevice.h"
#include <cstring>

namespace ditron::tools {

namespace {

class CpuCopies : public HostCopies {
public:
  CpuCopies(Context &context, size_t bytes) : rank_(context.runtimeRank()) {
    rank_.assemble();
    from_ = allocate(bytes), to_ = allocate(bytes);
    std::memset(from_, 1, bytes);
    std::memset(to_, 1, bytes);
    rank_.barrier();
  }
  void close() override {
    rank_.heap().free(to_);
    rank_.heap().free(from_);
  }
  void enqueue(size_t bytes) override {
    std::memcpy(rank_.heap().peer(to_, (rank_.rank() + 1) % rank_.size()), from_, bytes);
  }

private:
  std::byte *allocate(size_t bytes) {
    return static_cast<std::byte *>(rank_.heap().allocate(bytes, 64, "copies"));
  }
  runtime::Rank &rank_;
  std::byte *from_, *to_;
};

/// The memory is rank 0's object.
class GpuCopies : public HostCopies {
public:
  GpuCopies(Context &context, size_t bytes)
      : context_(context), device_(dynamic_cast<runtime::nvidia::GpuDevice &>(*context.device())) {
    if (context.rank() == 0) {
      std::vector<std::shared_ptr<runtime::nvidia::Gpu>> gpus;
      for (int rank = 0; rank < context.ranks(); ++rank)
        gpus.push_back(device_.group()->device(rank));
      memory_ = std::make_unique<runtime::nvidia::SymmetricMemory>(gpus, int64_t(2 * bytes));
      places_ = {memory_->address(0), uint64_t(memory_->stride()), bytes};
    } else {
      places_ = {0, 0, 0};
    }
    places_ = runtime::gather<uint64_t>(context.runtimeRank(), places_)[0];
  }
  void close() override {
    context_.sync();
    context_.assemble();
    memory_.reset();
  }
  void enqueue(size_t bytes) override {
    uint64_t next = uint64_t(context_.rank() + 1) % uint64_t(context_.ranks());
    uint64_t from = places_[0] + uint64_t(context_.rank()) * places_[1];
    uint64_t to = places_[0] + next * places_[1] + places_[2];
    DITRON_CUDA(device_.driver()->use(), cuMemcpyDtoDAsync_v2, to, from, bytes,
                cuda::handle(context_.stream()));
  }

private:
  Context &context_;
  runtime::nvidia::GpuDevice &device_;
  std::unique_ptr<runtime::nvidia::SymmetricMemory> memory_; ///< on rank 0
  std::vector<uint64_t> places_; ///< rank 0's memory, the distance to the next, what is written
};

} // namespace

std::unique_ptr<HostCopies> makeHostCopies(Context &context, size_t bytes) {
  if (context.device()->isHostAccessible())
    return std::make_unique<CpuCopies>(context, bytes);
  return std::make_unique<GpuCopies>(context, bytes);
}

} // namespace ditron::tools
