// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/PagedCache.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>

namespace ditron::kernels {

std::optional<double> pagedInput(const Problem &problem, const PagedArguments &arguments,
                                 size_t argument, int64_t element) {
  int64_t B = problem["B"], T = problem["T"];
  if (argument == arguments.sequences)
    return double(element % B);
  if (argument == arguments.pages)
    return double(B * problem["L"] - 1 - element);
  if (argument != arguments.positions)
    return std::nullopt;
  if (T > 1 && element == T - 1)
    return -1;
  // The last places, those of a sequence one before the other.
  return double(problem["L"] * problem["S"] - 1 - element / B);
}

PagedPlace placeOf(const Case &run, const PagedArguments &arguments, int64_t rank, int64_t t,
                   int64_t j) {
  int64_t S = run.problem["S"];
  auto sequence = static_cast<int64_t>(run.inputs.at(rank, arguments.sequences, t));
  return {static_cast<int64_t>(run.inputs.at(rank, arguments.pages, sequence, j / S)), j % S};
}

void checkPaged(const Problem &problem, const char *kernel) {
  int64_t B = problem["B"], L = problem["L"], S = problem["S"];
  auto expect = [&](const char *dim, int64_t found, const char *relation, int64_t bound) {
    throw UsageError(
        fmt::format("{}: {} is {}, expected {} {}", kernel, dim, found, relation, bound));
  };
  if (problem["P"] < B * L)
    expect("P", problem["P"], "B * L or more:", B * L);
  if (problem["T"] > B * L * S)
    expect("T", problem["T"], "B * L * S or less:", B * L * S);
}

} // namespace ditron::kernels
