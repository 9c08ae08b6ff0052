// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a kernel of several ranks has on every GPU: see abi/GpuLaunch.h for what lies
// in it and how launches follow one another there.
#pragma once
#include "ditron/abi/GpuLaunch.h"
#include "ditron/abi/Symmetric.h"
#include "ditron/runtime/nvidia/Device.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ditron::runtime::nvidia {

/// Where everything lies in the workspace of a rank. Knows no GPU.
class WorkspaceLayout {
public:
  /// `barriers`: of the kernel; each takes two counters behind the signals.
  WorkspaceLayout(std::vector<abi::SymmetricArray> arrays, int64_t barriers);

  const std::vector<abi::SymmetricArray> &arrays() const { return arrays_; }
  /// Bytes from the beginning to the first page of an array.
  int64_t offset(size_t array) const { return offsets_[array]; }
  int64_t signalPage() const { return signalPage_; } ///< bytes
  int64_t bufferPage() const { return bufferPage_; } ///< bytes
  int64_t bufferStart() const { return bufferStart_; }
  int64_t cells() const { return cells_; } ///< of a page
  int64_t bytes() const { return bufferStart_ + gpu::kBufferPages * bufferPage_; }
  /// What a counter is, by its distance from the beginning of the workspace: "signal 'ready'[1,
  /// 0]".
  std::string nameOf(int64_t offset) const;

private:
  std::vector<abi::SymmetricArray> arrays_;
  std::vector<int64_t> offsets_;
  int64_t cells_ = 0, signalPage_ = 0, bufferPage_ = 0, bufferStart_ = 0;
};

/// Memory of the same size on the GPU of every rank, mapped for all of them, so that rank r's
/// begins at address() + r * stride(). A GPU may have several ranks.
class SymmetricMemory {
public:
  /// UnavailableError where a GPU cannot map memory or cannot reach another one's, RuntimeError
  /// where there is not enough. The memory is zero.
  SymmetricMemory(std::vector<std::shared_ptr<Device>> devices, int64_t bytes);
  ~SymmetricMemory();
  SymmetricMemory(const SymmetricMemory &) = delete;
  SymmetricMemory &operator=(const SymmetricMemory &) = delete;

  uint64_t address(int rank) const { return base_ + uint64_t(rank) * stride_; }
  int64_t stride() const { return static_cast<int64_t>(stride_); }

private:
  void map(size_t rank);
  void release() noexcept;

  std::vector<std::shared_ptr<Device>> devices_;
  uint64_t base_ = 0, stride_ = 0;
  size_t mapped_ = 0;
};

} // namespace ditron::runtime::nvidia
