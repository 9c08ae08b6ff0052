// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kernel of the registry, compiled for this machine, its ranks being threads.
#include "Harness.h"
#include "RegistryNames.h"

namespace ditron::kernels {
namespace {

class OnCpu : public testing::TestWithParam<std::string> {
protected:
  const KernelEntry &entry_ = findKernel(GetParam());
};

TEST_P(OnCpu, EveryShapeOnEveryNumberOfRanks) {
  for (const Dimensions &shape : entry_.testShapes)
    for (int64_t ranks : {1, 2, 3, 4, 8})
      expectRight(Backend::cpu, entry_, {shape, entry_.dtypes[0], ranks, 1});
}

TEST_P(OnCpu, ManyCores) {
  for (const Dimensions &shape : entry_.testShapes)
    expectRight(Backend::cpu, entry_, {shape, entry_.dtypes[0], 3, 4});
}

TEST_P(OnCpu, EveryElementType) {
  for (DType type : entry_.dtypes)
    expectRight(Backend::cpu, entry_, {entry_.testShapes.back(), type, 2, 2});
}

TEST_P(OnCpu, EveryVariant) {
  for (const std::string &variant : entry_.variants)
    for (int64_t ranks : {1, 3})
      expectRight(Backend::cpu, entry_, {entry_.testShapes.back(), entry_.dtypes[0], ranks, 2},
                  variant);
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnCpu, testing::ValuesIn(kernelNames()), testName);

} // namespace
} // namespace ditron::kernels
