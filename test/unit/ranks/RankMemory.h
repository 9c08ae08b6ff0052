// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of ranks that run a kernel of the library in an emulator: arguments, workspaces, statuses, and the words
// that launches pass.
#pragma once
#include "ditron/abi/LaunchWords.h"
#include "ditron/kernels/Registry.h"
#include <optional>
#include <string>
#include <vector>

namespace ditron::emulator {

/// How a kernel is run here.
struct LibraryRun {
  std::string kernel;
  kernels::Problem problem;
  std::string config;
  int cores = 2, launches = 3;
  bool tensorMaps = true;
  int64_t before = 0; ///< launches that all ranks have completed
};

class RankMemory {
public:
  /// `info`: what is said of the code that runs.
  RankMemory(const LibraryRun &run, const kernels::Config &config, const Kernel &kernel,
             abi::KernelInfo info);

  int ranks() const { return static_cast<int>(run_.problem.ranks); }
  const abi::WorkspaceLayout &layout() const { return *layout_; }
  const std::vector<int64_t> &status(int rank) const { return status_[size_t(rank)]; }
  int64_t head(int rank) const {
    auto base = reinterpret_cast<int64_t>(memory_.data());
    return (base + 1023) / 1024 * 1024 + rank * stride_;
  }
  int64_t stride() const { return stride_; }
  const kernels::Inputs &inputs(int launch) const { return inputs_[size_t(launch)]; }
  std::byte *argument(int rank, int launch, size_t n) {
    return arguments_[size_t(rank)][size_t(launch)][n].data();
  }

  /// Those of arguments, and all of a launch. Waits end, as failed ones, when the clock has been looked at `bound`
  /// times.
  std::vector<int64_t> argumentWords(int rank, int launch) const;
  std::vector<int64_t> words(int rank, int launch, int64_t bound) const;
  /// As many as the kernel asks for; of a kernel whose cores work together those of the run.
  int cores(int rank, int launch) const;

  /// No output is left of a run before.
  void clearOutputs();
  /// No core has noted a wait that it gave up, or a requirement that does not hold.
  void expectNoFailure() const;
  /// Every element of every output is what the reference says.
  void expectRight() const;

private:
  void addRank(int rank);
  void makeWorkspaces();
  bool isScalar(size_t n) const;

  LibraryRun run_;
  const kernels::KernelEntry &entry_;
  kernels::Config config_;
  Kernel kernel_;
  abi::KernelInfo info_;
  std::vector<kernels::Inputs> inputs_; ///< of each launch
  /// By rank, launch and number.
  std::vector<std::vector<std::vector<std::vector<std::byte>>>> arguments_;
  std::optional<abi::WorkspaceLayout> layout_;
  int64_t stride_ = 0;
  std::vector<int64_t> memory_;
  std::vector<std::vector<int64_t>> status_;
};

/// The configuration that a run names.
kernels::Config configOf(const LibraryRun &run);

} // namespace ditron::emulator
