// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the entries of products across ranks share: parameters, defaults, shapes.
#pragma once
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Distribute.h"

namespace ditron::kernels {

/// Columns of A that ag-gemm sends at a time: contiguous runs that no cache holds twice.
inline constexpr int kChunkColumns = 4096;

/// The parameters of a FusedGemmConfig, and a good choice where a rank multiplies `rows` rows at a
/// time. `sums`: tiles of the result are also summed, by the cores that move data.
std::vector<ConfigParameter> fusedParameters();
Config fusedDefaults(const Problem &problem, int64_t rows, bool sums = false);
FusedGemmConfig fusedConfig(const Config &config);
/// Whether a configuration asks for `gemm` with a placed argument, and that kernel.
bool isPlaced(const Config &config);
Kernel placedGemm(DType type, const Config &config, const char *argument,
                  const Placement &placement);
std::vector<Dimensions> fusedTestShapes();
std::vector<CheckCase> fusedCheckCases();

} // namespace ditron::kernels
