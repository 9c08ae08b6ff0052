// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the entries of products across ranks share: parameters, defaults, shapes.
#pragma once
#include "ditron/heuristics/OverlapModel.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Distribute.h"

namespace ditron::kernels {

/// Columns of A that ag-gemm sends at a time: contiguous runs that no cache holds twice.
inline constexpr int kChunkColumns = 4096;

using heuristics::Exchange;

/// Values of the parameter `engine`: what moves data.
inline constexpr int64_t kCores = 0, kCopyEngines = 1, kDirect = 2;

/// Values of the parameter `form`: where verbs come from.
inline constexpr int64_t kExplicitForm = 0, kPlacedForm = 1, kEitherForm = 2;

/// The parameters of a FusedGemmConfig, and a good choice for a problem.
std::vector<ConfigParameter> fusedParameters(Exchange exchange);
Config fusedDefaults(const Problem &problem, Exchange exchange);
void retileFused(const Problem &problem, Config &config, Exchange exchange);
/// What the model of time says of a configuration.
heuristics::Prediction predictFused(const Problem &problem, const Config &config,
                                    Exchange exchange);
/// Changes what moves data, and whether operands are packed, to the way that is predicted to take
/// least.
void chooseWay(const Problem &problem, Config &config, Exchange exchange);
FusedGemmConfig fusedConfig(const Config &config);
/// The number of rows below `rows` that `most` or fewer cover evenly: chunks of a group of rows.
int evenRows(int rows, int most);
std::vector<std::string> fusedVariants();
/// Whether all cores send what they have at once, in a configuration that has the choice.
bool isDirect(const Config &config);
/// Whether cores send each tile of a sum as it is computed, to the rank that adds it.
bool sendsTiles(const Config &config);
/// Whether operands are copied before they are multiplied, likewise.
bool isPacked(const Config &config);
/// Whether a configuration asks for `gemm` with a placed argument, and that kernel, called `name`.
bool isPlaced(const Config &config);
Kernel placedGemm(const char *name, DType type, const Config &config, const char *argument,
                  const Placement &placement);
std::vector<Dimensions> fusedTestShapes();
std::vector<CheckCase> fusedCheckCases();
/// The same and those of direct forms.
std::vector<std::string> directVariants();
std::vector<CheckCase> directCheckCases();
/// The same and those of sums whose tiles cores send.
std::vector<std::string> summedVariants();
std::vector<CheckCase> summedCheckCases();

} // namespace ditron::kernels
