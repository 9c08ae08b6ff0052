// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of the library are proved clean, and no mistake in them is missed.
#include "ditron/kernels/Registry.h"
#include "../../kernels/RegistryNames.h"
#include "ditron/checker/Check.h"
#include <gtest/gtest.h>

namespace ditron::kernels {
namespace {

/// Calls `use` with every case of a kernel.
template <class Use> void forEachCase(const KernelEntry &entry, int64_t ranks, const Use &use) {
  EXPECT_FALSE(entry.checkCases.empty()) << entry.name;
  for (const CheckCase &one : entry.checkCases) {
    Problem problem{one.shape, entry.dtypes.front(), ranks, 2};
    Config config = entry.defaults(problem);
    config.parse(one.config, entry.parameters);
    Kernel kernel = entry.kernel(problem.type, config);
    Inputs inputs(entry, kernel, problem, 1);
    CheckOptions options{.ranks = ranks, .shape = one.shape};
    for (const ScalarDefault &scalar : entry.scalarsOf(kernel))
      options.scalars.emplace_back(scalar.name, scalar.value);
    if (entry.input)
      options.input = [&](int64_t rank, size_t argument, int64_t element) {
        return inputs.at(rank, argument, element);
      };
    use(kernel, options);
  }
}

class EveryKernel : public testing::TestWithParam<std::string> {
protected:
  const KernelEntry &entry_ = findKernel(GetParam());
};

TEST_P(EveryKernel, IsProvedClean) {
  for (int64_t ranks : {1, 2, 3, 4, 8})
    forEachCase(entry_, ranks, [&](const Kernel &kernel, const CheckOptions &options) {
      ditron::Verdict verdict = check(kernel, options);
      EXPECT_TRUE(verdict.clean()) << verdict.text();
      EXPECT_EQ(verdict.method, Method::proved) << verdict.text();
    });
}

TEST_P(EveryKernel, HidesNoMutant) {
  for (int64_t ranks : {2, 3, 4}) {
    std::vector<Mutant> mutants;
    forEachCase(entry_, ranks, [&](const Kernel &kernel, const CheckOptions &options) {
      unite(mutants, mutate(kernel, options));
    });
    size_t killed = 0;
    for (const Mutant &mutant : mutants) {
      EXPECT_NE(mutant.outcome, Mutant::Outcome::missed)
          << entry_.name << ", " << ranks << " ranks: " << mutant.kind << " at " << mutant.source;
      killed += mutant.outcome == Mutant::Outcome::killed;
    }
    if (entry_.isDistributed) {
      EXPECT_GE(killed, 7u) << entry_.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryKernel, testing::ValuesIn(kernelNames()), testName);

} // namespace
} // namespace ditron::kernels
