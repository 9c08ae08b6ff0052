// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symmetric memory at the sizes of a launch.
#pragma once
#include "ditron/abi/KernelInfo.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ditron::abi {

/// A symmetric buffer, an array of signals, or the words of an inbox, whose extents are known; row-major.
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

/// What a workspace is known by: the kernel's signature, the types of its arguments, who runs it
/// together, its barriers, and what these arrays are, the same on every rank. Kernels of one key use
/// the memory in the same way, so one may be launched behind the other.
std::string workspaceKey(const std::string &signature, const KernelInfo &info,
                         const std::vector<SymmetricArray> &arrays);

/// The signature in such a key; empty where the text is none.
std::string_view kernelOfKey(std::string_view key);

/// How the keys of one kernel differ first.
struct KeyDifference {
  std::string_view what;       ///< "sizes"
  std::string_view whose;      ///< "its symmetric memory is"
  std::string_view one, other; ///< "full:2[4,70]"
};
/// Nothing where they are the same, or no keys of one kernel.
std::optional<KeyDifference> differenceOfKeys(std::string_view one, std::string_view other);

} // namespace ditron::abi
