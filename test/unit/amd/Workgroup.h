// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels for AMD GPUs, executed on the CPU: the LLVM IR that the code generator gets is compiled for the host, and
// what only those chips have is computed here. Each thread of a workgroup is a fiber. Lanes of a wavefront meet at
// what they do together, with others than those that are somewhere else left out, as the chip leaves them out.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ditron::amd_emulator {

/// The arguments of a kernel, a word each (of shorter ones the low bits), and its workgroups.
struct Launch {
  std::vector<int64_t> words;
  int workgroups = 1;
};

/// A kernel as `ditron compile --emit llvm` has it.
class Code {
public:
  /// std::runtime_error where the IR has what is not known here.
  explicit Code(const std::string &llvm);
  ~Code();
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;

  const std::string &info() const; ///< the kernel's description, as text
  /// Launches of ranks, those of each one behind the other. The workgroups of a launch, and those of other ranks, run at
  /// the same time. `seed`: of the order in which threads go on. std::runtime_error where threads wait for ever; who looks
  /// at the clock meanwhile does not.
  void execute(const std::vector<std::vector<Launch>> &byRank, unsigned seed) const;

private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

} // namespace ditron::amd_emulator
