// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel of several ranks on GPUs is timed beside: the libraries' collective and product, one
// after the other, and the product alone.
#pragma once
#include "ditron/driver/Context.h"
#include "tools/baselines/Work.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ditron::baselines {

struct RanksBaseline {
  /// Enqueues on a stream of the rank's context, which may be one that a graph records.
  using Launch = std::function<void(const ditron::Stream &)>;

  std::string name; ///< of the sequence: "ncclAllGather, cublasGemmEx"
  Launch sequence;  ///< computes what the kernel does, into its outputs; empty: there is none
  Launch product;   ///< of cuBLAS, of as many rows as the kernel computes; empty: there is none
  double movedBytes = 0; ///< that a rank receives from others, at least
  /// Whether the sequence may add in the type of the result, which rounds every sum.
  bool roundsSums = false;
  /// Whether its outputs are the kernel's: false where the kernel does more to them.
  bool isSameWork = true;
  std::map<std::string, std::string> versions; ///< of the libraries: "NCCL" is "2.28.9"
  std::vector<std::string> missing;            ///< what the machine lacks for more
};

/// The baseline of a kernel on the operands of this rank, on the GPU:
///   a product with a collective   cuBLAS and NCCL, in the kernel's order
///   a collective                  NCCL's
/// Collective, and what there is is the same on all ranks.
RanksBaseline makeRanksBaseline(Context &context, const Work &work,
                                const std::vector<KernelArgument> &operands);

} // namespace ditron::baselines
