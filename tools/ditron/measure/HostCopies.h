// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies from a rank to the next one that no kernel makes: on GPUs those of the driver, which its copy
// engines carry out; on CPUs memcpy by the thread of the rank.
#pragma once
#include "ditron/driver/Context.h"
#include <memory>

namespace ditron::tools {

class HostCopies {
public:
  virtual ~HostCopies() = default;
  /// Enqueues a copy of the first `bytes` bytes to the next rank.
  virtual void enqueue(size_t bytes) = 0;
  /// Gives the memory back; collective, where no rank copies.
  virtual void close() = 0;
};

/// Between memory of `bytes` bytes of each rank, ranks being threads; collective.
std::unique_ptr<HostCopies> makeHostCopies(Context &context, size_t bytes);

} // namespace ditron::tools
