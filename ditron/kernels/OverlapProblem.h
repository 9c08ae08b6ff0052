// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with collectives, as the model of time takes them.
#pragma once
#include "ditron/heuristics/OverlapModel.h"
#include "ditron/kernels/Registry.h"

namespace ditron::kernels {

/// What a problem exchanges with this configuration's tiles (m, n). The dimensions are those of ag-gemm,
/// gemm-rs and gemm-ar: M, N, K. `result`: the type of what is summed, or of C.
heuristics::OverlapProblem overlapProblem(const Problem &problem, heuristics::Exchange exchange,
                                          const Config &config, DType result);

} // namespace ditron::kernels
