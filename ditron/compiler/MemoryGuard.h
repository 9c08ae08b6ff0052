// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM and MLIR are built without exceptions: where they get no memory, or find themselves broken,
// they end the process, and an exception of ours would leave them with locks that nobody opens. So
//
//   1. a compilation that has too little memory in front of it is an error before it begins;
//   2. one that runs out of it all the same ends the process, with one line and no core file.
#pragma once
#include <cstddef>
#include <string>

namespace ditron {

/// Around a compilation, on its thread.
class MemoryGuard {
public:
  /// Bytes that compiling a kernel takes, and loading one.
  static constexpr size_t kToCompile = size_t(96) << 20, kToLoad = size_t(16) << 20;

  /// RuntimeError where limits on memory (ulimit -v, a control group) leave less than `room` bytes.
  explicit MemoryGuard(size_t room = kToCompile);
  ~MemoryGuard();
  MemoryGuard(const MemoryGuard &) = delete;
  MemoryGuard &operator=(const MemoryGuard &) = delete;
};

/// For the begin of a program, before objects of LLVM's are made: from here on a process that gets no
/// memory ends as in a compilation, until beginMain.
void guardStart();
/// How the line with which a process ends is told; on stderr, where nothing is said.
using TellEnd = void (*)(const std::string &message);
void beginMain(TellEnd tell = nullptr);

} // namespace ditron
