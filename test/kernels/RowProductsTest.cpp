// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of few rows on CPUs: however many rows there are, and whether they are multiplied one after
// the other, in blocks, or in pieces of them, a row has the same bits.
#include "Harness.h"

namespace ditron::kernels {
namespace {

struct RowCase {
  std::string name, kernel, config;
  DType type;
};

class RowProducts : public testing::TestWithParam<RowCase> {
protected:
  const KernelEntry &entry_ = findKernel(GetParam().kernel);

  /// The arguments of B rows of these sizes, as a launch leaves them. `given`: inputs that are theirs,
  /// by number.
  std::vector<std::vector<std::byte>>
  multiplied(Dimensions sizes, int64_t B, const std::vector<std::vector<std::byte>> &given = {}) {
    sizes["B"] = B;
    Problem problem{sizes, GetParam().type, 1, 2};
    Config config = entry_.configure(problem, GetParam().config);
    Kernel kernel = entry_.kernel(problem.type, config);
    Inputs inputs(entry_, kernel, problem, 1);
    Outputs arguments = makeArguments(kernel, problem, inputs);
    for (size_t n = 0; n < given.size(); ++n)
      arguments[0][n] = given[n];
    launchKernel(kernel, problem, inputs, arguments);
    if (given.empty()) {
      Verdict verdict = judge(entry_, {problem, config, inputs}, kernel, arguments);
      EXPECT_TRUE(verdict.ok) << describe(entry_, problem, config) << verdict.failure;
    }
    return arguments[0];
  }
};

std::vector<std::byte> rowOf(const std::vector<std::byte> &matrix, int64_t row, int64_t rows) {
  auto bytes = std::ssize(matrix) / rows;
  return {matrix.begin() + row * bytes, matrix.begin() + (row + 1) * bytes};
}

TEST_P(RowProducts, HaveTheSameBitsInAnyBatch) {
  bool hasBlocks = GetParam().kernel != "gemv", isBlocked = GetParam().kernel == "blocked-gemv";
  for (int64_t terms : {40, 513, 1219}) {
    Dimensions sizes{{"N", 21}};
    if (isBlocked)
      sizes = {{"J", 3}};
    sizes[hasBlocks ? "G" : "K"] = hasBlocks ? (terms + 31) / 32 : terms;
    for (int64_t B : {2, 5, 13, 64}) {
      auto batch = multiplied(sizes, B);
      for (int64_t row : {int64_t(0), B / 2, B - 1}) {
        auto given = batch;
        given.pop_back(); // y
        given[0] = rowOf(batch[0], row, B);
        EXPECT_EQ(multiplied(sizes, 1, given).back(), rowOf(batch.back(), row, B))
            << "row " << row << " of " << B << ", " << terms << " terms";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RowProducts,
                         testing::Values(RowCase{"f32", "gemv", "", DType::f32},
                                         RowCase{"bf16", "gemv", "", DType::bf16},
                                         RowCase{"f16", "gemv", "", DType::f16},
                                         RowCase{"OddTerms", "gemv", "k=1219", DType::f32},
                                         RowCase{"Blocked", "blocked-gemv", "", DType::bf16},
                                         RowCase{"BlockedQ8", "blocked-gemv", "blocks=q8-0",
                                                 DType::bf16},
                                         RowCase{"Q8", "packed-gemv", "format=q8-0", DType::f32},
                                         RowCase{"Q4", "packed-gemv", "format=q4-1", DType::bf16}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace ditron::kernels
