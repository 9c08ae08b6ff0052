// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products as the newest chips compute them, executed by the emulator: tiles from TMA,
// warpgroups that multiply them, ragged edges, and the order of all that.
#include "Emulator.h"
#include "ditron/driver/Compile.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/DType.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace ditron {
namespace {

struct Sizes {
  int64_t M, N, K;
};

/// A kernel that takes A and B, both of one type, and perhaps scales, and gives C.
struct Subject {
  Kernel kernel;
  DType type, result;
  bool transB;
};

/// A matrix in memory, with a margin of poison around it.
class Matrix {
public:
  Matrix(DType type, int64_t rows, int64_t columns)
      : type_(type), rows_(rows), columns_(columns), bytes_(static_cast<int64_t>(byteSize(type))),
        memory_(static_cast<size_t>((rows * columns + 2 * kMargin) * bytes_), kPoison) {}

  void fill(unsigned seed) {
    std::mt19937 random(seed);
    for (int64_t n = 0; n < rows_ * columns_; ++n)
      storeElement(type_, place(n),
                   isFloat(type_) ? double(random() % 4096) / 2048 - 1 : double(random() % 17) - 8);
  }
  void poison() { std::ranges::fill(memory_, kPoison); }
  double at(int64_t row, int64_t column) const {
    return loadElement(type_, const_cast<Matrix *>(this)->place(row * columns_ + column));
  }
  bool isIntactAround() const {
    auto margin = static_cast<ptrdiff_t>(kMargin * bytes_);
    auto isPoison = [](std::byte byte) { return byte == kPoison; };
    return std::all_of(memory_.begin(), memory_.begin() + margin, isPoison) &&
           std::all_of(memory_.end() - margin, memory_.end(), isPoison);
  }
  void addTo(emulator::Launch &launch) {
    for (int64_t word :
         {reinterpret_cast<int64_t>(place(0)), rows_, columns_, columns_, int64_t(1)})
      launch.words.push_back(word);
  }
  emulator::TensorMap map(const abi::TensorMap &map) {
    return {
        reinterpret_cast<uint8_t *>(place(0)),    bytes_,          {rows_, columns_}, {columns_, 1},
        map.boxFor(std::vector{rows_, columns_}), map.roundsToTf32};
  }

private:
  static constexpr int64_t kMargin = 64;
  static constexpr std::byte kPoison{0x7f}; // not a number

  std::byte *place(int64_t n) { return memory_.data() + (kMargin + n) * bytes_; }

  DType type_;
  int64_t rows_, columns_, bytes_;
  std::vector<std::byte> memory_;
};

class Problem {
public:
  Problem(Subject subject, Sizes sizes, bool tensorStores = true, bool tensorMaps = true,
          const char *chip = "sm_90a")
      : subject_(std::move(subject)), sizes_(sizes), a_(subject_.type, sizes.M, sizes.K),
        b_(subject_.type, subject_.transB ? sizes.N : sizes.K, subject_.transB ? sizes.K : sizes.N),
        c_(subject_.result, sizes.M, sizes.N) {
    a_.fill(1);
    b_.fill(2);
    setenv("DITRON_CACHE", "0", 1);
    CompileRequest request = requestFor(subject_.kernel, chip);
    request.tensorMaps = tensorMaps, request.tensorStores = tensorStores;
    code_ = buildKernel(subject_.kernel, request);
  }

  const BuiltKernel &code() const { return code_; }
  void setCode(std::string ptx) { code_.code = std::move(ptx); }

  void run(int blocks, uint64_t seed) {
    c_.poison();
    emulator::Launch launch{{},
                            {},
                            blocks,
                            int(code_.info.threads),
                            int(code_.info.sharedBytes),
                            seed,
                            int(code_.info.cluster)};
    a_.addTo(launch);
    b_.addTo(launch);
    for (size_t n = 3; n < subject_.kernel.parameters().size(); ++n)
      for (int64_t word : {reinterpret_cast<int64_t>(&scale_), int64_t(1), int64_t(1)})
        launch.words.push_back(word);
    c_.addTo(launch);
    launch.words.push_back(reinterpret_cast<int64_t>(status_)); // the status
    for (const abi::TensorMap &map : code_.info.tensorMaps)
      launch.maps.push_back((map.argument == 0 ? a_ : map.argument == 1 ? b_ : c_).map(map));
    emulator::execute(code_.code, launch);
  }

  void expectRight() const {
    EXPECT_TRUE(c_.isIntactAround()) << "beyond C";
    EXPECT_EQ(countWrong([](const std::string &what) { ADD_FAILURE() << what; }), 0);
  }
  bool isRight() const {
    return countWrong([](const std::string &) {}) == 0;
  }

private:
  int countWrong(const std::function<void(std::string)> &report) const {
    int wrong = 0;
    double scale = subject_.kernel.parameters().size() > 3 ? double(scale_) * double(scale_) : 1;
    double loss = subject_.type == DType::f32 ? 0x1p-9 : 1e-5;
    for (int64_t i = 0; i < sizes_.M; ++i)
      for (int64_t j = 0; j < sizes_.N; ++j) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < sizes_.K; ++k) {
          double term = scale * a_.at(i, k) * (subject_.transB ? b_.at(j, k) : b_.at(k, j));
          sum += term;
          size += std::abs(term);
        }
        double found = c_.at(i, j), allowed = std::abs(sum) / 128 + size * loss;
        if (subject_.type == DType::i8)
          allowed = 0;
        bool isRight = std::abs(found - sum) <= allowed;
        if (!isRight && wrong++ < 5)
          report(fmt::format("C[{}, {}] is {}, expected {}", i, j, found, sum));
      }
    return wrong;
  }

  Subject subject_;
  Sizes sizes_;
  Matrix a_, b_, c_;
  float scale_ = 0.75;
  int64_t status_[32] = {};
  BuiltKernel code_;
};

kernels::GemmConfig tile(int m, int n, int k) {
  kernels::GemmConfig config;
  config.m = m, config.n = n, config.k = k;
  return config;
}

kernels::GemmConfig weights(int m, int n, int k) {
  kernels::GemmConfig config = tile(m, n, k);
  config.transB = true;
  config.accuracy = kernels::Accuracy::fast;
  return config;
}

void expectProduct(const Subject &subject, Sizes sizes, int blocks = 1, bool tensorStores = true,
                   int cluster = 1) {
  SCOPED_TRACE(testing::Message() << name(subject.type) << " " << sizes.M << "x" << sizes.N << "x"
                                  << sizes.K);
  Problem problem(subject, sizes, tensorStores);
  ASSERT_GE(problem.code().info.tensorMaps.size(), 2u);
  ASSERT_EQ(problem.code().info.cluster, cluster);
  for (uint64_t seed : {1, 2}) {
    problem.run(blocks, seed);
    problem.expectRight();
  }
}

Subject gemmOf(DType type, const kernels::GemmConfig &config) {
  DType result = type == DType::i8 ? DType::i32 : byteSize(type) == 1 ? DType::bf16 : type;
  return {kernels::gemm(type, config), type, result, config.transB};
}

void expectGemm(DType type, const kernels::GemmConfig &config, Sizes sizes, int blocks = 1) {
  SCOPED_TRACE(testing::Message() << config.m << "x" << config.n << "x" << config.k);
  int cluster = config.pairs == kernels::Pairs::none ? 1 : 2;
  expectProduct(gemmOf(type, config), sizes, blocks, /*tensorStores=*/true, cluster);
}

void expectFp8(int m, int n, Sizes sizes) {
  kernels::Fp8GemmConfig config;
  config.m = m, config.n = n, config.k = 128;
  DType type = DType::f8e4m3;
  expectProduct({kernels::fp8Gemm(type, config), type, DType::bf16, true}, sizes);
}

TEST(Gemm, OneTile) {
  expectGemm(DType::bf16, tile(64, 64, 64), {64, 64, 64});
  expectGemm(DType::bf16, tile(128, 256, 64), {128, 256, 64});
}

TEST(Gemm, MoreTermsThanSlots) {
  expectGemm(DType::bf16, tile(128, 64, 64), {128, 64, 448});
  expectGemm(DType::f16, tile(128, 64, 64), {128, 64, 448});
}

TEST(Gemm, SeveralPanelsAndBlocks) {
  expectGemm(DType::bf16, tile(256, 128, 64), {256, 128, 192});
  expectGemm(DType::bf16, tile(128, 128, 128), {128, 128, 384});
  expectGemm(DType::bf16, tile(128, 192, 64), {128, 192, 128});
}

TEST(Gemm, WidthsThatAreNoPanels) {
  expectGemm(DType::bf16, tile(128, 176, 64), {128, 352, 192});
  expectGemm(DType::bf16, tile(64, 80, 64), {128, 168, 72});
  expectGemm(DType::f16, tile(128, 224, 64), {136, 456, 64});
}

TEST(Gemm, Weights) {
  expectGemm(DType::bf16, weights(128, 256, 64), {128, 256, 192});
  expectGemm(DType::bf16, weights(128, 176, 64), {200, 360, 200}, 2);
  expectGemm(DType::f16, weights(64, 56, 128), {1, 112, 264});
  expectGemm(DType::bf16, weights(64, 8, 64), {67, 24, 1160});
}

TEST(Gemm, WhatTmaDoesNotStore) {
  for (Sizes sizes : {Sizes{64, 136, 72}, {67, 83, 72}})
    expectProduct(gemmOf(DType::bf16, weights(64, 64, 64)), sizes, 1, /*tensorStores=*/false);
}

// Tiles that no tensor core takes, so that the threads multiply what they have copied: rows 16
// bytes apart, words, and neither.
TEST(Gemm, CopiesOfThreads) {
  for (int64_t K : {48, 50, 51}) {
    SCOPED_TRACE(K);
    Problem problem(gemmOf(DType::bf16, weights(8, 8, 16)), {13, 11, K}, true, false);
    EXPECT_NE(problem.code().code.find("cp.async.ca.shared.global"), std::string::npos);
    problem.run(2, 1);
    problem.expectRight();
  }
}

/// By the code for older chips: one warp's products of tiles that the threads have copied.
void expectByWarps(DType type, const kernels::GemmConfig &config, Sizes sizes, int blocks = 1) {
  SCOPED_TRACE(testing::Message() << name(type) << " " << config.m << "x" << config.n << "x"
                                  << config.k << ", " << sizes.M << "x" << sizes.N << "x"
                                  << sizes.K);
  Problem problem(gemmOf(type, config), sizes, true, true, "sm_80");
  EXPECT_NE(problem.code().code.find("mma.sync"), std::string::npos);
  for (uint64_t seed : {1, 2}) {
    problem.run(blocks, seed);
    problem.expectRight();
  }
}

TEST(Gemm, OlderChips) {
  for (DType type : {DType::bf16, DType::f16, DType::i8, DType::f8e4m3}) {
    expectByWarps(type, tile(64, 64, 32), {64, 64, 160});
    expectByWarps(type, tile(32, 64, 32), {67, 131, 72}, 2);
    expectByWarps(type, weights(64, 32, 64), {65, 40, 150});
  }
  expectByWarps(DType::bf16, tile(128, 128, 64), {128, 128, 256});
  expectByWarps(DType::f32, weights(64, 64, 16), {70, 64, 100});
}

// 184 rows of B are dealt to 8 threads, so each row is to many of them, in runs shorter than 16
// bytes.
TEST(Gemm, RowsInShortRuns) {
  Problem problem(gemmOf(DType::f8e4m3, weights(16, 184, 64)), {20, 190, 70}, true, true, "sm_80");
  problem.run(1, 1);
  problem.expectRight();
}

TEST(Gemm, PairsOfCores) {
  auto paired = [](kernels::GemmConfig config, kernels::Pairs pairs) {
    config.pairs = pairs, config.group = 4;
    return config;
  };
  using enum kernels::Pairs;
  // An odd number of rows or columns of tiles: a core of the last pair has none.
  expectGemm(DType::bf16, paired(weights(64, 64, 64), rows), {320, 136, 1100}, 2);
  expectGemm(DType::bf16, paired(weights(64, 96, 64), columns), {130, 360, 328}, 4);
  expectGemm(DType::f16, paired(tile(128, 64, 64), rows), {200, 104, 136}, 2);
  expectGemm(DType::f8e4m3, paired(weights(64, 64, 128), columns), {64, 72, 400}, 2);
  // Fewer tiles than cores; parts that are no whole groups of 8 rows, which each loads itself.
  expectGemm(DType::bf16, paired(weights(64, 72, 64), rows), {64, 72, 200}, 4);
}

TEST(Gemm, FewRows) {
  expectGemm(DType::bf16, weights(8, 64, 128), {1, 136, 264});
  expectGemm(DType::f16, weights(16, 128, 64), {13, 128, 200});
  expectGemm(DType::bf16, tile(32, 64, 64), {32, 72, 136});
  expectGemm(DType::i8, weights(8, 64, 128), {3, 80, 144});
}

TEST(Gemm, OtherTypes) {
  expectGemm(DType::i8, weights(128, 96, 128), {136, 112, 304});
  expectGemm(DType::f32, weights(128, 72, 32), {130, 80, 100});
  expectGemm(DType::f8e4m3, weights(128, 64, 128), {136, 72, 400});
  expectGemm(DType::f8e5m2, weights(64, 64, 128), {64, 64, 128});
}

TEST(Gemm, Scaled8BitFloats) {
  expectFp8(128, 96, {136, 104, 528});
  // In parts: of rows, and of columns, the last one narrower.
  expectFp8(256, 64, {136, 104, 264});
  expectFp8(128, 216, {136, 224, 264});
}

TEST(Gemm, SeveralTilesACore) {
  expectGemm(DType::bf16, tile(64, 64, 64), {192, 128, 192});
  expectGemm(DType::bf16, tile(128, 64, 64), {256, 192, 320}, 2);
}

std::string without(std::string program, const std::string &text, const std::string &instead) {
  for (size_t at; (at = program.find(text)) != std::string::npos;)
    program.replace(at, text.size(), instead);
  return program;
}

/// What the emulator finds in a program; nothing: "".
std::string faultOf(Problem &problem, const std::string &program) {
  problem.setCode(program);
  try {
    problem.run(1, 1);
  } catch (const emulator::Fault &found) {
    return found.what();
  }
  return "";
}

/// The program without what keeps it right is seen to be wrong.
TEST(Emulator, FindsWhatIsMissing) {
  Problem problem(gemmOf(DType::bf16, tile(64, 64, 64)), {64, 64, 1024});
  std::string right = problem.code().code;
  auto fault = [&](const std::string &text, const std::string &instead) {
    return faultOf(problem, without(right, text, instead));
  };
  EXPECT_EQ(fault("wgmma.wait_group.sync.aligned 0;", ""),
            "a register of a product that is under way is read");
  // The slot's release.
  EXPECT_EQ(fault("mbarrier.arrive.shared::cta.b64 _,", "prefetch.global.L2"),
            "all threads wait for ever");
}

/// A launch that begins early waits for those before it, in all threads, before it reads.
TEST(Emulator, FindsLaunchesThatDoNotWait) {
  const std::string wait = "griddepcontrol.wait;";
  for (bool hasRoles : {false, true}) {
    Problem problem(gemmOf(DType::bf16, tile(64, 64, 64)), {64, 64, 64}, hasRoles, hasRoles);
    std::string right = problem.code().code, ends = right, late = right;
    ends.insert(right.find(wait), "ret;\n");
    EXPECT_EQ(faultOf(problem, ends),
              "a thread ends before it has waited for the launches before its own");
    late.erase(right.find(wait), wait.size());
    late.insert(late.rfind("ret;"), wait + "\n");
    EXPECT_NE(faultOf(problem, late).find("memory is accessed before the launches before"),
              std::string::npos);
    EXPECT_EQ(faultOf(problem, right), "");
  }
}

TEST(Emulator, FindsCopiesThatAreNotWaitedFor) {
  Problem problem(gemmOf(DType::bf16, tile(32, 32, 32)), {32, 32, 96}, true, true, "sm_80");
  problem.setCode(without(problem.code().code, "cp.async.wait_group", "prefetch.global.L2"));
  problem.run(1, 1);
  EXPECT_FALSE(problem.isRight());
}

TEST(Gemm, RaggedEdges) {
  expectGemm(DType::bf16, tile(128, 64, 64), {200, 104, 136});
  expectGemm(DType::bf16, tile(128, 64, 64), {1, 8, 8});
  expectGemm(DType::f16, tile(64, 128, 64), {67, 72, 200});
}

} // namespace
} // namespace ditron
