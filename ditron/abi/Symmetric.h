// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symmetric memory at the sizes of a launch.
#pragma once
#include "ditron/abi/KernelInfo.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ditron::abi {

/// A symmetric buffer, or an array of signals, whose extents are known; row-major.
struct SymmetricArray {
  std::string name;
  SymmetricKind kind = SymmetricKind::buffer;
  int64_t elementBytes = 8;
  std::vector<int64_t> extents = {};
  bool isFixed = false; ///< at one place in all launches

  static SymmetricArray buffer(std::string name, int64_t bytes) {
    return {std::move(name), SymmetricKind::buffer, 1, {bytes}};
  }
  static SymmetricArray signals(std::string name, std::vector<int64_t> extents) {
    return {std::move(name), SymmetricKind::signals, 8, std::move(extents)};
  }

  bool isSignals() const { return kind == SymmetricKind::signals; }
  int64_t elements() const;
  int64_t bytes() const { return elements() * elementBytes; }
  bool operator==(const SymmetricArray &) const = default;
};

/// The strides of a row-major array.
std::vector<int64_t> denseStrides(const std::vector<int64_t> &extents);

/// What a launch of a kernel provides. CompileError naming the buffer where an extent cannot be
/// computed, is negative, or makes the buffer larger than any memory.
std::vector<SymmetricArray> symmetricAt(const KernelInfo &info, const LaunchValues &launch);

/// What a workspace is known by: the kernel's signature, who runs it together and these sizes, the
/// same on every rank.
std::string workspaceKey(const std::string &signature, const std::vector<SymmetricArray> &arrays,
                         const std::vector<int64_t> &team = {});

} // namespace ditron::abi
