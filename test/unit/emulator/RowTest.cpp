// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory-bound kernels, executed by the emulator: rows that are whole tiles and ragged ones,
// and launches of aligned tensors beside those of any.
#include "Emulator.h"
#include "Scalar.h"
#include "ditron/driver/Compile.h"
#include "ditron/kernels/kernels.h"
#include <bit>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

namespace ditron {
namespace {

using Row = std::vector<double>;

/// What is promised of all tensors: their alignment in bytes, 0: none.
CompileRequest promised(const Kernel &kernel, const Schedule &schedule, int64_t alignment) {
  CompileRequest request = requestFor(kernel, "sm_90a", schedule);
  request.alignment.assign(kernel.parameters().size(), alignment);
  return request;
}

/// Launches a kernel with a core for each tile; the code.
BuiltKernel execute(const Kernel &kernel, const std::vector<KernelArgument> &arguments,
                    const CompileRequest &request) {
  setenv("DITRON_CACHE", "0", 1);
  BuiltKernel code = buildKernel(kernel, request);
  emulator::Launch launch{{}, {}, 0, int(code.info.threads), int(code.info.sharedBytes), 1};
  for (const KernelArgument &argument : arguments) {
    if (const auto *number = std::get_if<double>(&argument)) {
      launch.words.push_back(std::bit_cast<int32_t>(float(*number)));
      continue;
    }
    const Tensor &tensor = std::get<Tensor>(argument);
    launch.words.push_back(reinterpret_cast<int64_t>(tensor.data()));
    launch.words.insert(launch.words.end(), tensor.shape().begin(), tensor.shape().end());
    launch.words.insert(launch.words.end(), tensor.strides().begin(), tensor.strides().end());
  }
  launch.blocks = int(code.info.cores({launch.words, 1}));
  int64_t status[32] = {};
  launch.words.push_back(reinterpret_cast<int64_t>(status));
  emulator::execute(code.code, launch);
  return code;
}
BuiltKernel execute(const Kernel &kernel, const std::vector<KernelArgument> &arguments,
                    int64_t alignment, const Schedule &schedule = {}) {
  return execute(kernel, arguments, promised(kernel, schedule, alignment));
}

/// A kernel y[T,width] = f(x[T,given]) of rows of bf16 or f32.
class Problem {
public:
  Problem(DType type, const Kernel &kernel, int64_t rows, int64_t given, int64_t width)
      : type_(type), kernel_(kernel), rows_(rows), given_(given), width_(width),
        y_(bytes(rows * width) + kMargin, std::byte(0xff)) {
    std::mt19937 random(7);
    x_.resize(bytes(rows * given));
    for (int64_t n = 0; n < rows * given; ++n)
      storeElement(type, x_.data() + bytes(n), float(random() % 4096) / 256 - 8);
  }

  /// With a core for each tile, as launches have; in place: y is written over x.
  void run(int64_t alignment, bool isInPlace = false) {
    if (isInPlace)
      std::copy(x_.begin(), x_.end(), y_.begin());
    BuiltKernel code =
        execute(kernel_,
                {Tensor::borrow((isInPlace ? y_ : x_).data(), type_, {rows_, given_}),
                 Tensor::borrow(y_.data(), type_, {rows_, width_})},
                alignment);
    EXPECT_EQ(code.info.tiles.size(), 1U);
    auto loads = [&](const char *how) { return code.code.find(how) != std::string::npos; };
    bool isAny = alignment == 0;
    EXPECT_EQ(loads("ld.global.v4"), isAny || alignment == 16) << alignment;
    EXPECT_EQ(loads("ld.global.v2"), alignment == 8) << alignment;
    EXPECT_EQ(loads("ld.global.b16") || loads("ld.global.b32"), isAny || alignment <= 4)
        << alignment;
  }

  void expect(const std::function<Row(const Row &)> &function) const {
    int wrong = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      Row x;
      for (int64_t n = 0; n < given_; ++n)
        x.push_back(loadElement(type_, x_.data() + bytes(row * given_ + n)));
      Row expected = function(x);
      for (int64_t n = 0; n < width_; ++n) {
        double found = loadElement(type_, y_.data() + bytes(row * width_ + n));
        double wanted = expected[size_t(n)], error = std::abs(found - wanted);
        double allowed = std::abs(wanted) * (type_ == DType::bf16 ? 0x1p-8 : 1e-6) + 1e-30;
        if (!(error <= allowed) && wrong++ < 5)
          ADD_FAILURE() << "y[" << row << ", " << n << "] is " << found << ", expected " << wanted;
      }
    }
    EXPECT_EQ(wrong, 0);
    for (size_t n = size_t(bytes(rows_ * width_)); n < y_.size(); ++n)
      wrong += y_[n] != std::byte(0xff);
    EXPECT_EQ(wrong, 0) << "beyond y";
  }

private:
  static constexpr size_t kMargin = 256;

  size_t bytes(int64_t elements) const { return size_t(elements) * byteSize(type_); }

  DType type_;
  Kernel kernel_;
  int64_t rows_, given_, width_;
  std::vector<std::byte> x_, y_;
};

Row softmax(const Row &x) {
  double top = *std::max_element(x.begin(), x.end()), sum = 0;
  Row y;
  for (double value : x)
    sum += std::exp(value - top);
  for (double value : x)
    y.push_back(std::exp(value - top) / sum);
  return y;
}

Row siluMul(const Row &x) {
  size_t half = x.size() / 2;
  Row y;
  for (size_t n = 0; n < half; ++n)
    y.push_back(x[n] / (1 + std::exp(-x[n])) * x[half + n]);
  return y;
}

constexpr DType kTypes[] = {DType::bf16, DType::f32};

TEST(Rows, SoftmaxOfOneTile) {
  for (DType type : kTypes) {
    for (int64_t alignment : {16, 8, 0}) {
      Problem whole(type, kernels::softmax(type, {2, 256}), 9, 256, 256);
      whole.run(alignment);
      whole.expect(softmax);
      Problem ragged(type, kernels::softmax(type, {2, 256}), 5, 208, 208);
      ragged.run(alignment);
      ragged.expect(softmax);
    }
    for (int64_t alignment : {int64_t(byteSize(type)), int64_t(0)}) {
      Problem odd(type, kernels::softmax(type, {1, 256}), 3, 131, 131);
      odd.run(alignment);
      odd.expect(softmax);
    }
    Problem even(type, kernels::softmax(type, {4, 192}), 6, 132, 132);
    even.run(4);
    even.expect(softmax);
  }
}

TEST(Rows, SoftmaxOfTwoWalks) {
  for (DType type : kTypes)
    for (int64_t alignment : {16, 0}) {
      Problem walks(type, kernels::softmax(type, {1, 256}), 5, 608, 608);
      walks.run(alignment);
      walks.expect(softmax);
    }
}

TEST(Rows, SiluMul) {
  for (DType type : kTypes)
    for (int64_t alignment : {16, 8, 4, 0}) {
      Problem problem(type, kernels::siluMul(type, {2, 256}), 7, 2 * 336, 336);
      problem.run(alignment);
      problem.expect(siluMul);
    }
}

/// Rows of a norm, and what it multiplies and, if it subtracts the mean, adds.
struct NormData {
  NormData(DType type, int64_t rows, int64_t width, bool hasMean)
      : type(type), rows(rows), width(width), hasMean(hasMean) {
    std::mt19937 random(11);
    auto filled = [&](int64_t count) {
      std::vector<std::byte> memory(size_t(count) * byteSize(type));
      for (int64_t n = 0; n < count; ++n)
        storeElement(type, memory.data() + size_t(n) * byteSize(type),
                     float(random() % 2048) / 256 - 3);
      return memory;
    };
    x = filled(rows * width), w = filled(width), b = filled(width);
    y.assign(x.size() + kMargin, std::byte(0xff));
  }

  /// In place: y is written over x.
  std::vector<KernelArgument> arguments(bool isInPlace) {
    if (isInPlace)
      std::copy(x.begin(), x.end(), y.begin());
    std::vector<KernelArgument> all{Tensor::borrow((isInPlace ? y : x).data(), type, {rows, width}),
                                    Tensor::borrow(w.data(), type, {width})};
    if (hasMean)
      all.emplace_back(Tensor::borrow(b.data(), type, {width}));
    all.emplace_back(kEps);
    all.emplace_back(Tensor::borrow(y.data(), type, {rows, width}));
    return all;
  }

  double at(const std::vector<std::byte> &memory, int64_t n) const {
    return loadElement(type, memory.data() + size_t(n) * byteSize(type));
  }

  void expect() const {
    int wrong = 0;
    for (int64_t row = 0; row < rows; ++row) {
      double mean = 0, squares = 0;
      for (int64_t n = 0; hasMean && n < width; ++n)
        mean += at(x, row * width + n) / double(width);
      for (int64_t n = 0; n < width; ++n)
        squares += std::pow(at(x, row * width + n) - mean, 2);
      double scale = 1 / std::sqrt(squares / double(width) + kEps);
      for (int64_t n = 0; n < width; ++n) {
        double wanted = (at(x, row * width + n) - mean) * scale * at(w, n);
        wanted += hasMean ? at(b, n) : 0;
        double unit = type == DType::f32 ? 0x1p-23 : type == DType::f16 ? 0x1p-11 : 0x1p-8;
        double error = std::abs(at(y, row * width + n) - wanted);
        if (!(error <= unit * std::abs(wanted) + 2e-5) && wrong++ < 5)
          ADD_FAILURE() << "y[" << row << ", " << n << "] is " << at(y, row * width + n)
                        << ", expected " << wanted;
      }
    }
    for (size_t n = x.size(); n < y.size(); ++n)
      wrong += y[n] != std::byte(0xff);
    EXPECT_EQ(wrong, 0) << rows << " x " << width;
  }

  static constexpr size_t kMargin = 256;
  static constexpr double kEps = 1e-5;
  DType type;
  int64_t rows, width;
  bool hasMean;
  std::vector<std::byte> x, w, b, y;
};

std::string runNorm(bool hasMean, DType type, const kernels::RowConfig &tile, int64_t rows,
                    int64_t width, int64_t alignment, const Schedule &schedule = {},
                    bool isInPlace = false) {
  NormData data(type, rows, width, hasMean);
  Kernel kernel = hasMean ? kernels::layerNorm(type, tile) : kernels::rmsNorm(type, tile);
  BuiltKernel code = execute(kernel, data.arguments(isInPlace), alignment, schedule);
  data.expect();
  return code.code;
}

/// Weights are read behind the sums, part by part between the stores.
TEST(Rows, Norms) {
  for (DType type : {DType::bf16, DType::f16, DType::f32})
    for (bool hasMean : {false, true}) {
      auto element = int64_t(byteSize(type));
      for (int64_t alignment : {int64_t(16), element, int64_t(0)}) {
        runNorm(hasMean, type, {1, 2048}, 2, 2048, alignment);
        runNorm(hasMean, type, {4, 512}, 6, 480, alignment);  // ragged both ways
        runNorm(hasMean, type, {1, 512}, 2, 1200, alignment); // read twice
      }
      runNorm(hasMean, type, {1, 512}, 3, 387, element);
      runNorm(hasMean, type, {2, 256}, 3, 387, element);
    }
}

TEST(Rows, InPlace) {
  for (DType type : kTypes)
    for (int width : {256, 512}) { // read twice; once
      for (bool hasMean : {false, true})
        runNorm(hasMean, type, {1, width}, 3, 480, 16, {}, /*isInPlace=*/true);
      Problem problem(type, kernels::softmax(type, {1, width}), 3, 480, 480);
      problem.run(16, /*isInPlace=*/true);
      problem.expect(softmax);
    }
}

/// Where a CTA is alone on its SM and waits often, the assembler may order the loads.
TEST(Rows, NormAlone) {
  std::string ptx = runNorm(true, DType::f32, {1, 8192}, 1, 8000, 16, {.warps = 4, .ctasPerSm = 1});
  EXPECT_NE(ptx.find("ld.global.nc.v4"), std::string::npos);
  EXPECT_EQ(ptx.find("griddepcontrol"), std::string::npos); // what is read is not to be written
  ptx = runNorm(true, DType::f32, {1, 8192}, 1, 8000, 16, {.warps = 4, .ctasPerSm = 2});
  EXPECT_EQ(ptx.find("ld.global.nc"), std::string::npos);
  EXPECT_NE(ptx.find("griddepcontrol.wait"), std::string::npos);
}

/// The weights of a graph come nearer while its launch waits for those before it.
TEST(Rows, ConstantsAreAskedForAhead) {
  Kernel kernel = kernels::rmsNorm(DType::f32, {1, 512});
  for (bool isConstant : {false, true}) {
    NormData data(DType::f32, 2, 1200, /*hasMean=*/false);
    CompileRequest request = promised(kernel, {}, 16);
    request.graphArguments = {{}, {.isConstant = isConstant}};
    std::string ptx = execute(kernel, data.arguments(/*isInPlace=*/false), request).code;
    data.expect();
    size_t asked = ptx.find("prefetch.global.L2"), waits = ptx.find("griddepcontrol.wait");
    EXPECT_EQ(asked < waits, isConstant);
    EXPECT_EQ(asked == std::string::npos, !isConstant);
    EXPECT_LT(ptx.find("griddepcontrol.launch_dependents"), waits);
  }
}

/// Heads of T tokens, each turned by the angles of the token's position.
void expectTurned(int64_t alignment, int64_t T, int64_t N, int64_t H,
                  const kernels::RopeConfig &tile) {
  constexpr int64_t P = 11;
  std::mt19937 random(5);
  auto filled = [&](int64_t count) {
    std::vector<float> values(size_t(count), 0.0F);
    for (float &value : values)
      value = float(random() % 512) / 256 - 1;
    return values;
  };
  std::vector<float> x = filled(T * N * 2 * H), cosines = filled(P * H), sines = filled(P * H);
  std::vector<float> y(x.size() + 64, NAN);
  std::vector<int32_t> positions(size_t(T), 0);
  for (int32_t &position : positions)
    position = int32_t(random() % P);

  Kernel kernel = kernels::rope(DType::f32, tile);
  std::vector<KernelArgument> arguments{Tensor::borrow(x.data(), DType::f32, {T, N, 2 * H}),
                                        Tensor::borrow(positions.data(), DType::i32, {T}),
                                        Tensor::borrow(cosines.data(), DType::f32, {P, H}),
                                        Tensor::borrow(sines.data(), DType::f32, {P, H}),
                                        Tensor::borrow(y.data(), DType::f32, {T, N, 2 * H})};
  execute(kernel, arguments, alignment);

  int wrong = 0;
  for (int64_t n = 0; n < T * N * 2 * H; ++n) {
    int64_t column = n % (2 * H), pair = column % H, other = n - column + (column + H) % (2 * H);
    auto place = size_t(positions[size_t(n / (N * 2 * H))] * H + pair);
    float sine = column < H ? -sines[place] : sines[place];
    float wanted = x[size_t(n)] * cosines[place] + x[size_t(other)] * sine;
    wrong += !(std::abs(y[size_t(n)] - wanted) <= 1e-6F);
  }
  EXPECT_EQ(wrong, 0) << T << " tokens, " << N << " heads of " << 2 * H << ", aligned to "
                      << alignment;
  for (size_t n = x.size(); n < y.size(); ++n)
    EXPECT_TRUE(std::isnan(y[n])) << "beyond y";
}

TEST(Rows, Rope) {
  for (int64_t alignment : {16, 8, 0}) {
    expectTurned(alignment, 3, 5, 16, {.heads = 2, .width = 16}); // ragged along the heads
    expectTurned(alignment, 2, 4, 48, {.heads = 4, .width = 32}); // and along the pairs
    expectTurned(alignment, 1, 1, 64, {.heads = 8, .width = 64});
  }
  for (int64_t alignment : {4, 0})
    expectTurned(alignment, 2, 3, 5, {.heads = 2, .width = 8});
}

} // namespace
} // namespace ditron
