// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of placed kernels, compared element by element with what they are to compute.
#pragma once
#include "ditron/checker/Check.h"
#include "ditron/driver/Context.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Distribute.h"
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>

namespace ditron::kernels {

using Place = std::vector<int64_t>;

/// A small integer for each element of an input of a rank: sums of products are exact.
double element(int64_t rank, size_t argument, const Place &at);

/// Calls `fn` with every element of a shape.
void forEach(const Place &shape, const std::function<void(const Place &at)> &fn);

struct Run {
  int ranks = 1, cores = 1;
  std::string backend = "cpu";
  int nodes = 1;
  std::string mesh = ""; ///< its axes, where they have names
};

/// What element `at` of the output of a rank is to be; NaN: it is not written.
using Expectation = std::function<double(int64_t rank, const Place &at)>;

/// The value of an input; element() where it is empty.
using Source = std::function<double(int64_t rank, size_t argument, const Place &at)>;

/// Launches the kernel three times, back to back, and compares its output.
void expectOutput(const Kernel &kernel, Dimensions dims, const Run &run,
                  const Expectation &expected, const Source &source = element,
                  double tolerance = 0);

/// How a gathered argument travels.
struct Ways {
  bool isRing;
  Engine engine;
  int cores;
  Placement of(const Placement &placement) const {
    return placement.ring(isRing).on(engine).cores(cores);
  }
};
inline constexpr Ways kWays[] = {{false, Engine::core, 1}, {false, Engine::copy, 1},
                                 {true, Engine::core, 1},  {true, Engine::core, 2},
                                 {true, Engine::core, 0},  {true, Engine::copy, 1}};

/// `ditron check` proves the kernel.
void expectProved(const Kernel &kernel, int ranks, const Dimensions &shape);

} // namespace ditron::kernels
