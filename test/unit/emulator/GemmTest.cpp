// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products as the newest chips compute them, executed by the emulator: tiles from the copy engine,
// warpgroups that multiply them, ragged edges, and the order of all that.
#include "Emulator.h"
#include "Scalar.h"
#include "ditron/driver/Compile.h"
#include "ditron/kernels/kernels.h"
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

namespace ditron {
namespace {

struct Sizes {
  int64_t M, N, K;
};

class Problem {
public:
  Problem(DType type, const kernels::GemmConfig &config, Sizes sizes)
      : name_(type == DType::bf16 ? "bf16" : "f16"), sizes_(sizes),
        kernel_(kernels::gemm(type, config)), a_(random(sizes.M * sizes.K, 1)),
        b_(random(sizes.K * sizes.N, 2)),
        c_(static_cast<size_t>(sizes.M * sizes.N + 2 * kMargin), kPoison) {
    setenv("DITRON_CACHE", "0", 1);
    code_ = loadGpuCode(kernel_, {}, {{true, true, true}, true}, "sm_90a");
  }

  const GpuCode &code() const { return code_; }
  void setCode(std::string ptx) { code_.ptx = std::move(ptx); }

  void run(int blocks, uint64_t seed) {
    emulator::Launch launch{{}, {}, blocks, code_.threads, code_.sharedBytes, seed};
    auto [M, N, K] = sizes_;
    addView(launch, a_.data(), {M, K});
    addView(launch, b_.data(), {K, N});
    addView(launch, c_.data() + kMargin, {M, N});
    launch.words.push_back(0); // the status
    for (const GpuCode::TensorMap &map : code_.tensorMaps)
      launch.maps.push_back(map.argument == 0
                                ? emulator::TensorMap{a_.data(), 2, {M, K}, {K, 1}, map.box}
                                : emulator::TensorMap{b_.data(), 2, {K, N}, {N, 1}, map.box});
    emulator::execute(code_.ptx, launch);
  }

  void expectRight() const {
    int wrong = 0;
    for (int64_t n = 0; n < kMargin; ++n)
      wrong += c_[size_t(n)] != kPoison || c_[c_.size() - 1 - size_t(n)] != kPoison;
    EXPECT_EQ(wrong, 0) << "beyond C";
    for (int64_t i = 0; i < sizes_.M; ++i)
      for (int64_t j = 0; j < sizes_.N; ++j) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < sizes_.K; ++k) {
          double term = double(at(a_, i * sizes_.K + k)) * double(at(b_, k * sizes_.N + j));
          sum += term;
          size += std::abs(term);
        }
        float found = at(c_, kMargin + i * sizes_.N + j);
        bool isRight = std::abs(found - sum) <= std::abs(sum) / 128 + size * 1e-5;
        if (!isRight && wrong++ < 5)
          ADD_FAILURE() << std::hex << c_[size_t(kMargin + i * sizes_.N + j)] << std::dec << " C["
                        << i << ", " << j << "] is " << found << ", expected " << sum;
      }
    EXPECT_EQ(wrong, 0);
  }

private:
  static constexpr int64_t kMargin = 64;
  static constexpr uint16_t kPoison = 0x7fff; // not a number

  std::vector<uint16_t> random(int64_t size, unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<uint16_t> result;
    for (int64_t n = 0; n < size; ++n)
      result.push_back(emulator::narrow(name_, float(random() % 4096) / 2048 - 1));
    return result;
  }
  float at(const std::vector<uint16_t> &memory, int64_t n) const {
    return emulator::widen(name_, memory[size_t(n)]);
  }
  static void addView(emulator::Launch &launch, const void *memory, std::vector<int64_t> extents) {
    launch.words.push_back(reinterpret_cast<int64_t>(memory));
    launch.words.insert(launch.words.end(), extents.begin(), extents.end());
    launch.words.push_back(extents[1]);
    launch.words.push_back(1);
  }

  std::string name_;
  Sizes sizes_;
  Kernel kernel_;
  std::vector<uint16_t> a_, b_, c_;
  GpuCode code_;
};

kernels::GemmConfig tile(int m, int n, int k) {
  kernels::GemmConfig config;
  config.m = m, config.n = n, config.k = k;
  return config;
}

void expectGemm(DType type, const kernels::GemmConfig &config, Sizes sizes, int blocks = 1) {
  SCOPED_TRACE(testing::Message() << config.m << "x" << config.n << "x" << config.k << " of "
                                  << sizes.M << "x" << sizes.N << "x" << sizes.K);
  Problem problem(type, config, sizes);
  ASSERT_EQ(problem.code().tensorMaps.size(), 2u);
  for (uint64_t seed : {1, 2}) {
    problem.run(blocks, seed);
    problem.expectRight();
  }
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

TEST(Gemm, SeveralTilesACore) {
  expectGemm(DType::bf16, tile(64, 64, 64), {192, 128, 192});
  expectGemm(DType::bf16, tile(128, 64, 64), {256, 192, 320}, 2);
}

/// The program without what keeps it right is seen to be wrong.
TEST(Emulator, FindsWhatIsMissing) {
  Problem problem(DType::bf16, tile(64, 64, 64), {64, 64, 512});
  std::string right = problem.code().ptx;
  auto fault = [&](const std::string &text, const std::string &instead) {
    std::string wrong = right;
    wrong.replace(wrong.find(text), text.size(), instead);
    problem.setCode(wrong);
    try {
      problem.run(1, 1);
    } catch (const emulator::Fault &found) {
      return std::string(found.what());
    }
    return std::string();
  };
  EXPECT_EQ(fault("wgmma.wait_group.sync.aligned 0;", ""),
            "a register of a product that is under way is read");
  // The slot's release.
  EXPECT_EQ(fault("mbarrier.arrive.shared::cta.b64 _,", "prefetch.global.L2"),
            "all threads wait for ever");
}

TEST(Gemm, RaggedEdges) {
  expectGemm(DType::bf16, tile(128, 64, 64), {200, 104, 136});
  expectGemm(DType::bf16, tile(128, 64, 64), {1, 8, 8});
  expectGemm(DType::f16, tile(64, 128, 64), {67, 72, 200});
}

} // namespace
} // namespace ditron
