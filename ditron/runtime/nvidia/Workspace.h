// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a kernel of several ranks has on every GPU: see abi/Workspace.h for what lies
// in it and how launches follow one another there.
#pragma once
#include "ditron/abi/Workspace.h"
#include "ditron/runtime/nvidia/Gpu.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ditron::runtime::nvidia {

/// What a counter is, by its distance from the beginning of the workspace: "signal 'ready'[1, 0]".
std::string nameOf(const abi::WorkspaceLayout &layout, int64_t offset);

/// Memory of the same size on the GPU of every rank, mapped for all of them, so that rank r's
/// begins at address() + r * stride(). A GPU may have several ranks.
class SymmetricMemory {
public:
  /// UnavailableError where a GPU cannot map memory or cannot reach another one's, RuntimeError
  /// where there is not enough. The memory is zero.
  SymmetricMemory(std::vector<std::shared_ptr<Gpu>> devices, int64_t bytes);
  ~SymmetricMemory();
  SymmetricMemory(const SymmetricMemory &) = delete;
  SymmetricMemory &operator=(const SymmetricMemory &) = delete;

  uint64_t address(int rank) const { return base_ + uint64_t(rank) * stride_; }
  int64_t stride() const { return static_cast<int64_t>(stride_); }

private:
  void map(size_t rank);
  void release() noexcept;

  std::vector<std::shared_ptr<Gpu>> devices_;
  uint64_t base_ = 0, stride_ = 0;
  size_t mapped_ = 0;
};

} // namespace ditron::runtime::nvidia
