// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a gemv is to give, by packed weights, too.
#pragma once
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

WeightFormat weightFormatOf(const Config &config);
/// "gemv", or as it is called with weights in this format.
const char *gemvName(WeightFormat format);
RowNorm rowNormOf(const Config &config);

/// An element of an input.
double gemvInput(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                 int64_t element);
/// A row of an output.
std::vector<Expected> gemvReference(const Case &run, const OutputRow &row);

} // namespace ditron::kernels
