// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the library for AMD GPUs, executed on the CPU: what each computes is what its reference says.
#include "RankMemory.h"
#include "Workgroup.h"
#include "ditron/driver/Compile.h"
#include "ditron/support/DType.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ditron {
namespace {

using emulator::LibraryRun;
using emulator::RankMemory;
using kernels::Config;
using kernels::KernelEntry;
using kernels::Problem;

std::string llvmOf(const Kernel &kernel, const std::string &chip) {
  CompileRequest request = requestFor(kernel, chip);
  request.emit = Emit::llvm;
  return compileTo(kernel, request);
}

Problem problemOf(DType type, const Dimensions &shape, const std::string &chip, int64_t ranks = 1) {
  Problem problem;
  problem.type = type;
  problem.dims = shape;
  problem.ranks = ranks;
  problem.target = traitsOf(chip);
  return problem;
}

void expectRight(const std::string &chip, const LibraryRun &run) {
  const Problem &problem = run.problem;
  SCOPED_TRACE(fmt::format("{} {} {} of {} ranks {}", chip, run.kernel, name(problem.type),
                           problem.ranks, run.config));
  const KernelEntry &entry = kernels::findKernel(run.kernel);
  Config config = entry.configure(problem, run.config);
  Kernel kernel = entry.kernel(problem.type, config);
  amd_emulator::Code code(llvmOf(kernel, chip));
  RankMemory memory(run, config, kernel, abi::fromText(code.info()));
  std::vector<std::vector<amd_emulator::Launch>> launches(size_t(problem.ranks));
  for (int rank = 0; rank < memory.ranks(); ++rank)
    for (int launch = 0; launch < run.launches; ++launch)
      launches[size_t(rank)].push_back(
          {memory.words(rank, launch, /*bound=*/1'000'000), memory.cores(rank, launch)});
  code.execute(launches, 1);
  memory.expectNoFailure();
  memory.expectRight();
}

/// Launched once on one rank.
void expectRight(const std::string &chip, const std::string &name, DType type,
                 const Dimensions &shape, const std::string &config = "") {
  LibraryRun run{name, problemOf(type, shape, chip), config};
  run.launches = 1;
  expectRight(chip, run);
}

const std::vector<std::string> kChips = {"gfx942", "gfx90a"};

/// Rows of A or B that are neighbours in memory or not, and extents that leave parts of tiles.
TEST(AmdKernels, Products) {
  for (const std::string &chip : kChips)
    for (DType type : {DType::bf16, DType::f16, DType::f32, DType::i8})
      for (const char *config : {"", "transB=yes"})
        expectRight(chip, "gemm", type, {{"M", 150}, {"N", 200}, {"K", 136}}, config);
}

struct Library : testing::TestWithParam<size_t> {};

/// Variants of the first type that these chips have no room for.
bool isRefused(const std::string &kernel, const std::string &variant) {
  return kernel == "flash-attention" && variant.starts_with("m=16,n=48,d=144");
}

TEST_P(Library, Kernel) {
  const KernelEntry &entry = kernels::registry()[GetParam()];
  for (DType type : entry.dtypes)
    expectRight("gfx942", entry.name, type, entry.testShapes.back());
  for (const std::string &variant : entry.variants)
    if (isRefused(entry.name, variant))
      EXPECT_THROW(
          expectRight("gfx942", entry.name, entry.dtypes.front(), entry.testShapes.back(), variant),
          CompileError)
          << variant;
    else
      expectRight("gfx942", entry.name, entry.dtypes.front(), entry.testShapes.back(), variant);
}

std::vector<size_t> ofOneRank() {
  std::vector<size_t> numbers;
  for (size_t n = 0; n < kernels::registry().size(); ++n)
    if (!kernels::registry()[n].isDistributed)
      numbers.push_back(n);
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(Amd, Library, testing::ValuesIn(ofOneRank()), [](const auto &info) {
  std::string name = kernels::registry()[info.param].name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// Verbs between ranks: counters, packets with flags, products whose parts travel.
TEST(AmdRanks, Kernels) {
  const std::string packets = "engine=cores,protocol=ll,rows=2,columns=8";
  for (auto [kernel, type, config] :
       std::initializer_list<std::tuple<const char *, DType, std::string>>{
           {"all-gather", DType::f32, "engine=cores,protocol=simple,rows=2,columns=8"},
           {"all-gather", DType::bf16, packets},
           {"reduce-scatter", DType::bf16, packets},
           {"broadcast", DType::f16, packets},
           {"dense-all-to-all", DType::f32, packets},
           {"all-reduce", DType::f32, "shots=two," + packets},
           {"all-reduce", DType::f32, "engine=cores,protocol=simple,shots=one,rows=2,columns=8"}})
    for (int64_t ranks : {2, 3})
      expectRight("gfx942",
                  {kernel, problemOf(type, {{"M", 5}, {"N", 12}}, "gfx942", ranks), config});
}

TEST(AmdRanks, Products) {
  for (const char *kernel : {"ag-gemm", "gemm-rs", "gemm-ar"})
    for (const char *form : {"comm=1", "comm=0"})
      expectRight("gfx942",
                  {kernel, problemOf(DType::bf16, {{"M", 40}, {"N", 72}, {"K", 48}}, "gfx942", 2),
                   std::string("engine=cores,m=32,n=64,k=32,group=1,") + form});
}

} // namespace
} // namespace ditron
