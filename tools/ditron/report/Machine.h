// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What this machine is, from the files that the kernel of Linux keeps about it.
#pragma once
#include <string>
#include <vector>

namespace ditron::tools {

struct Cache {
  int level;
  std::string type; ///< "Data", "Instruction", "Unified"
  size_t bytes;     ///< of one instance
  int sharedBy;     ///< CPUs
};

struct Machine {
  std::string cpu;                   ///< the model's name
  std::vector<std::string> features; ///< the vector extensions that kernels may use
  int cpus = 0;                      ///< of the machine
  int usable = 0;                    ///< that this process may run on
  int nodes = 0;                     ///< of memory (NUMA)
  size_t memory = 0, availableMemory = 0;
  std::vector<Cache> caches;

  static Machine inspect();
  /// "amd-epyc-9654-x2": the model and the number of CPUs, fit for a file's name.
  std::string slug() const;
};

/// "NVIDIA H100" as "nvidia-h100", fit for a file's name.
std::string slugOf(const std::string &name);

} // namespace ditron::tools
