// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/tune/TuningRecords.h"
#include <fstream>
#include <gtest/gtest.h>

using namespace ditron;
using namespace ditron::tune;
using kernels::Problem;

namespace {

TEST(ShapeClass, SmallExtentsAreTheirOwn) {
  for (int64_t extent = 1; extent <= 16; ++extent)
    EXPECT_EQ(classOf(extent), extent);
}

TEST(ShapeClass, RoundsUpByLessThanHalf) {
  EXPECT_EQ(classOf(17), 24);
  EXPECT_EQ(classOf(24), 24);
  EXPECT_EQ(classOf(25), 32);
  EXPECT_EQ(classOf(2752), 3072);
  EXPECT_EQ(classOf(4096), 4096);
  EXPECT_EQ(classOf(4097), 6144);
  for (int64_t extent = 17; extent < 5000; ++extent) {
    EXPECT_GE(classOf(extent), extent);
    EXPECT_LT(double(classOf(extent)), 1.5 * double(extent));
    EXPECT_EQ(classOf(classOf(extent)), classOf(extent));
  }
}

class RecordsTest : public testing::Test {
protected:
  RecordsTest() {
    problem.dims = {{"M", 500}, {"N", 512}, {"K", 512}};
    std::filesystem::remove_all(folder);
  }
  ~RecordsTest() override { std::filesystem::remove_all(folder); }
  Records records(const std::string &device = "cpu-x2") const {
    return Records(device, KernelCache(folder));
  }

  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tune-records-" + std::to_string(getpid()));
  const kernels::KernelEntry &gemm = kernels::findKernel("gemm");
  Problem problem;
};

TEST_F(RecordsTest, AreFoundAgain) {
  EXPECT_EQ(records().find(gemm, problem), std::nullopt);
  records().store(gemm, problem, "m=64,n=32");
  EXPECT_EQ(records().find(gemm, problem), "m=64,n=32");
  problem.dims["M"] = 512; // of the same class
  EXPECT_EQ(records().find(gemm, problem), "m=64,n=32");
  records().store(gemm, problem, "m=128");
  problem.dims["M"] = 500;
  EXPECT_EQ(records().find(gemm, problem), "m=128");
}

TEST_F(RecordsTest, BelongToTheirTask) {
  records().store(gemm, problem, "m=64");
  EXPECT_EQ(records("cpu-x4").find(gemm, problem), std::nullopt);
  EXPECT_EQ(records().find(kernels::findKernel("ag-gemm"), problem), std::nullopt);
  for (auto change :
       {+[](Problem &p) { p.dims["K"] = 513; }, +[](Problem &p) { p.cores = 2; },
        +[](Problem &p) { p.ranks = 2; }, +[](Problem &p) { p.type = DType::bf16; }}) {
    Problem other = problem;
    change(other);
    EXPECT_EQ(records().find(gemm, other), std::nullopt);
  }
}

TEST_F(RecordsTest, ADamagedOneIsNone) {
  records().store(gemm, problem, "m=64");
  for (const auto &file : std::filesystem::recursive_directory_iterator(folder))
    if (file.is_regular_file())
      std::ofstream(file.path(), std::ios::in | std::ios::ate).put('!');
  Records damaged = records();
  EXPECT_EQ(damaged.find(gemm, problem), std::nullopt);
  EXPECT_NE(damaged.problem(), "");
}

} // namespace
