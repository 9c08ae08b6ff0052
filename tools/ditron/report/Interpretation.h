// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel of a file is to compute: no reference is written for it, so the interpreter, which
// defines what the IR means, is asked.
#pragma once
#include "ditron/kernels/Reference.h"
#include "ditron/runtime/Mesh.h"
#include "ditron/runtime/TensorMemory.h"
#include <memory>
#include <string>
#include <vector>

namespace ditron::tools {

class Interpretation {
public:
  Interpretation(const Kernel &kernel, const runtime::MeshShape &mesh);
  ~Interpretation();
  Interpretation(Interpretation &&) noexcept;

  /// The memory of an argument of a rank behind a launch on these inputs, which are interpreted once
  /// for all ranks of the process. Threads may ask at once. Errors are those of the kernel.
  runtime::Tensor expected(const kernels::Inputs &inputs, int64_t rank, size_t argument) const;

  /// How far an element may be from the interpreter's, in parts of the largest one of the argument:
  /// sums are added in other orders, and functions approximated otherwise.
  double tolerance(DType type) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace ditron::tools
