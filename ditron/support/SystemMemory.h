// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <istream>
#include <string>
#include <string_view>

namespace ditron {

/// Bytes that this process can still take: the kernel's MemAvailable, or what the control groups
/// leave where that is less. Limits on address space (ulimit -v) are others.
size_t availableMemory();

/// RuntimeError where the limit on address space leaves less than `bytes`, which `what` takes: MLIR
/// ends the process by a signal where it gets no memory.
void requireAddressSpace(size_t bytes, std::string_view what);

/// Bytes of memory of the machine.
size_t totalMemory();

/// What the control groups of a process leave, of version 2 or 1: `memberships` is its
/// /proc/PID/cgroup, `root` where they are mounted. The largest size_t where nothing limits them.
size_t memoryOfGroups(std::istream &memberships, const std::string &root);

} // namespace ditron
