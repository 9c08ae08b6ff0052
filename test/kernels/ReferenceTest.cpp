// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kernel of the registry in the reference interpreter.
#include "Harness.h"
#include "RegistryNames.h"
#include <gtest/gtest.h>

namespace ditron::kernels {
namespace {

class OnInterpreter : public testing::TestWithParam<std::string> {
protected:
  const KernelEntry &entry_ = findKernel(GetParam());
};

TEST_P(OnInterpreter, EveryShapeOnEveryNumberOfRanksAndCores) {
  for (const Dimensions &shape : entry_.testShapes)
    for (int64_t ranks : {1, 2, 3, 4})
      for (int64_t cores : {1, 2, 3})
        expectRight(Backend::reference, entry_, {shape, entry_.dtypes[0], ranks, cores});
}

TEST_P(OnInterpreter, EveryElementType) {
  for (DType type : entry_.dtypes)
    for (const Dimensions &shape : entry_.testShapes)
      expectRight(Backend::reference, entry_, {shape, type, 2, 2});
}

TEST_P(OnInterpreter, EveryVariant) {
  for (const std::string &variant : entry_.variants)
    for (const Dimensions &shape : entry_.testShapes)
      for (int64_t ranks : {1, 3})
        expectRight(Backend::reference, entry_, {shape, entry_.dtypes[0], ranks, 2}, variant);
}

TEST_P(OnInterpreter, SameBitsInEverySchedule) {
  Problem problem{entry_.testShapes.back(), entry_.dtypes[0], 3, 2};
  Config config = entry_.defaults(problem);
  Kernel kernel = entry_.kernel(problem.type, config);
  Inputs inputs(entry_, kernel, problem, 7);
  Outputs first = makeArguments(kernel, problem, inputs);
  interpretKernel(kernel, problem, inputs, first);
  for (uint64_t schedule : {1, 2, 3}) {
    Outputs again = makeArguments(kernel, problem, inputs);
    interpretKernel(kernel, problem, inputs, again, schedule);
    EXPECT_TRUE(again == first) << "schedule " << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnInterpreter, testing::ValuesIn(kernelNames()), testName);

} // namespace
} // namespace ditron::kernels
