// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a kernel of several ranks has on every GPU: see abi/WorkspaceLayout.h for what lies
// in it and how launches follow one another there.
#pragma once
#include "ditron/abi/WorkspaceLayout.h"
#include "ditron/runtime/nvidia/Gpu.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::runtime {
class Rank;
}

namespace ditron::runtime::nvidia {

/// What a counter is, by its distance from the beginning of the workspace: "signal 'ready'[1, 0]".
std::string nameOf(const abi::WorkspaceLayout &layout, int64_t offset);

/// UnavailableError where a GPU cannot use the memory of another one of this process.
void requireReach(const Gpu &from, int number);
/// UnavailableError where a GPU cannot share memory with other processes.
void requireSharing(const Gpu &device);
/// The bytes that memory of a GPU is a multiple of, where its addresses are chosen.
/// UnavailableError where they cannot be.
size_t granularityOf(const Gpu &device, bool isShared);

class Pages;

/// Memory of the same size on the GPU of every rank, mapped for all of them, so that rank r's
/// begins at address() + r * stride(). A GPU may have several ranks.
class SymmetricMemory {
public:
  /// Of ranks of this process, each on one of `devices`. UnavailableError where a GPU cannot map
  /// memory or cannot reach another one's, RuntimeError where there is not enough. The memory is
  /// zero.
  SymmetricMemory(std::vector<std::shared_ptr<Gpu>> devices, int64_t bytes);
  /// Of ranks that are processes, this one being `rank` on `device`. Each makes its own part, hands
  /// it to the others as an open file, and maps theirs. Collective, with the same `name`, `bytes`
  /// and `granularity`: what fails on one rank is a RuntimeError on all.
  SymmetricMemory(Rank &rank, const std::shared_ptr<Gpu> &device, std::string_view name,
                  int64_t bytes, size_t granularity);
  ~SymmetricMemory();
  SymmetricMemory(const SymmetricMemory &) = delete;
  SymmetricMemory &operator=(const SymmetricMemory &) = delete;

  uint64_t address(int rank) const { return base_ + uint64_t(rank) * stride_; }
  int64_t stride() const { return static_cast<int64_t>(stride_); }
  /// How far into its memory an address is that rank `rank` has of it.
  int64_t offsetAt(int rank, int64_t address) const;

private:
  SymmetricMemory(std::vector<std::shared_ptr<Gpu>> devices, int64_t bytes, size_t granularity);
  void reserve();
  void map(const Pages &pages);
  void zero(size_t rank) const;
  void release() noexcept;

  std::vector<std::shared_ptr<Gpu>> devices_; ///< of this process, by rank
  size_t granularity_;
  uint64_t base_ = 0, stride_;
  std::vector<uint64_t> bases_; ///< of other processes, by rank; empty: there are none
  size_t mapped_ = 0;
};

} // namespace ditron::runtime::nvidia
