// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of a kernel that is given as text: what a backend of programs makes of the interpreter.
#pragma once
#include "ditron/runtime/device/Device.h"
#include "ditron/support/MeshAxes.h"
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ditron::reference {

/// What one rank brings to a launch.
struct LaunchPart {
  std::string kernel;                    ///< its name
  std::shared_ptr<const std::string> ir; ///< the same on every rank
  std::vector<runtime::KernelArgument> arguments;
};
using LaunchParts = std::vector<const LaunchPart *>; ///< by rank

/// A kernel in an MLIR context of its own.
class ParsedKernel {
public:
  /// InternalError where the text is no kernel.
  explicit ParsedKernel(const std::string &ir);
  ~ParsedKernel();

  /// Whether all ranks launch it together: see device::isOfRanks. Of another one, a launch has one
  /// part.
  bool isOfRanks() const;

  /// Interprets one launch of all ranks, each of `cores` cores and as many on every node of the mesh,
  /// in an interleaving that follows from the seed (0: in turns). What is odd about it: see Result. CompileError where the program is
  /// wrong or the ranks launch different kernels, RuntimeError where they wait for ever or take
  /// longer than `time`.
  std::vector<std::string> launch(const LaunchParts &parts, int cores, int nodes,
                                  const MeshAxes &mesh, uint64_t seed,
                                  std::chrono::milliseconds time) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace ditron::reference
