// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/runtime/CoreContext.h"
#include "ditron/runtime/LaunchTasks.h"
#include "ditron/runtime/Rank.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ditron::runtime {

/// A kernel ready to run: what every core of every rank calls, with the same arguments.
struct KernelCode {
  std::string name;
  void (*entry)(CoreContext *context, const int64_t *arguments) = nullptr;
  size_t scratchBytes = 0; ///< that each core needs
  /// For request i of the workspace, the argument that takes its address in this launch.
  std::vector<size_t> symmetricArguments = {};
  bool recorded = false;    ///< compiled to be: the rank's observer is told of its launches
  bool copyEngines = false; ///< it has roles for them
  std::shared_ptr<const LaunchTasks> tasks = nullptr; ///< of a graph, that it does; null: none
};

/// Launches a kernel on this rank and returns when its cores are done. Ranks that share a workspace
/// launch it equally often, in the same order; one may be ahead of another by a launch. `arguments`
/// are 64-bit words; those named in `symmetricArguments` are filled in here.
///
/// RuntimeError where the launch ended early on any rank; the next call that involves other ranks
/// recovers from it (see Rank::enter). CompileError where `arguments` are fewer than the kernel
/// names.
LaunchStats launch(Rank &rank, const KernelCode &code, std::span<int64_t> arguments,
                   Workspace *workspace = nullptr);

} // namespace ditron::runtime
