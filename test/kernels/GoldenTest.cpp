// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of small integers, exact in every order, on every number of ranks.
#include "Harness.h"
#include <gtest/gtest.h>

namespace ditron::kernels {
namespace {

constexpr int64_t M = 64, N = 48, K = 96;

/// Sums over a matrix whose first row is row `first` of the whole product.
struct Golden {
  double sum = 0, squares = 0, weighted = 0;
  void add(const std::vector<std::byte> &memory, DType type, int64_t first, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < N; ++j) {
        double c = loadElement(type, memory.data() + (i * N + j) * byteSize(type));
        sum += c;
        squares += c * c;
        weighted += c * double((first + i + 1) * (j + 1));
      }
  }
};

void expectGolden(const Golden &golden) {
  EXPECT_EQ(golden.sum, -7);
  EXPECT_EQ(golden.squares, 159681);
  EXPECT_EQ(golden.weighted, 9555);
}

/// Runs a kernel of the family on given matrices; the arguments afterwards.
Outputs run(const KernelEntry &entry, const Problem &problem, const Inputs::Function &value,
            const std::string &variant) {
  Config config = entry.defaults(problem);
  config.parse(variant, entry.parameters);
  SCOPED_TRACE(describe(entry, problem, config));
  Kernel kernel = entry.kernel(problem.type, config);
  Inputs inputs(entry, kernel, problem, value);
  Outputs arguments = makeArguments(kernel, problem, inputs);
  interpretKernel(kernel, problem, inputs, arguments);
  return arguments;
}

TEST(Golden, Gemm) {
  auto value = [](int64_t, size_t argument, int64_t n) {
    return argument == 0 ? goldenA(n / K, n % K) : goldenB(n / N, n % N);
  };
  Problem problem{{{"M", M}, {"N", N}, {"K", K}}, DType::f32, 1, 2};
  for (DType type : {DType::f32, DType::f16, DType::i8}) {
    problem.type = type;
    for (const char *tile : {"", "m=10,n=9,k=20", "m=1,n=1,k=7"}) {
      Outputs arguments = run(findKernel("gemm"), problem, value, tile);
      Golden golden;
      golden.add(arguments[0][2], type == DType::i8 ? DType::i32 : type, 0, M);
      expectGolden(golden);
    }
  }
}

TEST(Golden, AllGatherGemm) {
  for (int64_t ranks : {1, 2, 4}) {
    int64_t rows = M / ranks;
    auto value = [&](int64_t rank, size_t argument, int64_t n) {
      return argument == 0 ? goldenA(rank * rows + n / K, n % K) : goldenB(n / N, n % N);
    };
    Problem problem{{{"M", rows}, {"N", N}, {"K", K}}, DType::f32, ranks, 2};
    Outputs arguments = run(findKernel("ag-gemm"), problem, value, "m=10,n=9,k=20,comm=1");
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Golden golden;
      golden.add(arguments[rank][2], DType::f32, 0, M);
      expectGolden(golden);
    }
  }
}

/// A and B of the ranks when K is split over them.
Inputs::Function splitK(int64_t ranks) {
  int64_t part = K / ranks;
  return [part](int64_t rank, size_t argument, int64_t n) {
    return argument == 0 ? goldenA(n / part, rank * part + n % part)
                         : goldenB(rank * part + n / N, n % N);
  };
}

TEST(Golden, GemmReduceScatter) {
  for (int64_t ranks : {1, 2, 4}) {
    Problem problem{{{"M", M / ranks}, {"N", N}, {"K", K / ranks}}, DType::f32, ranks, 2};
    Outputs arguments = run(findKernel("gemm-rs"), problem, splitK(ranks), "m=10,n=9,k=20,comm=1");
    Golden all;
    std::vector<double> blocks;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Golden block;
      block.add(arguments[rank][2], DType::f32, rank * M / ranks, M / ranks);
      blocks.push_back(block.sum);
      all.add(arguments[rank][2], DType::f32, rank * M / ranks, M / ranks);
    }
    expectGolden(all);
    if (ranks == 4)
      EXPECT_EQ(blocks, (std::vector<double>{-15, 8, 1, -1}));
  }
}

TEST(Golden, GemmAllReduce) {
  for (int64_t ranks : {1, 2, 3, 4}) {
    Problem problem{{{"M", M}, {"N", N}, {"K", K / ranks}}, DType::f32, ranks, 3};
    Outputs arguments = run(findKernel("gemm-ar"), problem, splitK(ranks), "m=10,n=9,k=20,comm=1");
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Golden golden;
      golden.add(arguments[rank][2], DType::f32, 0, M);
      expectGolden(golden);
    }
  }
}

} // namespace
} // namespace ditron::kernels
