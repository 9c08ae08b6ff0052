// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What launches with the same arguments do once, and what they do again: on the fake driver of this
// folder, which counts its calls.
#include "ditron/interop/Cuda.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include <bit>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace ditron {
namespace {

/// A function that only the fake driver has.
template <class Function> Function *fake(const char *name) {
  static void *library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function *>(library ? dlsym(library, name) : nullptr);
}
int encodings() { return fake<int()>("fakeEncodings")(); }
int launches() { return fake<int()>("fakeLaunches")(); }
/// A parameter of the last launch.
int64_t parameter(size_t number) {
  return *static_cast<int64_t *>(fake<void **()>("fakeParameters")()[number]);
}

class Launches : public testing::Test {
protected:
  void SetUp() override { ASSERT_NE(fake<int()>("fakeLaunches"), nullptr) << "another driver"; }

  /// Elements of bf16 at an address of the GPU, which nobody reads here.
  Tensor matrix(uint64_t address, int64_t rows, int64_t columns) const {
    return cuda::tensor(gpu, address, DType::bf16, {rows, columns});
  }

  static Context open() {
    Options options;
    options.backend = "nvidia";
    return Context::init(options);
  }

  Context gpu = open();
};

constexpr uint64_t kA = 1ull << 52, kB = 2ull << 52, kC = 3ull << 52, kElsewhere = 4ull << 52;

TEST_F(Launches, OfCodeForOlderGpus) {
  auto target = [] {
    std::string code = fake<const char *()>("fakeCode")();
    return code.substr(code.find(".target ") + 8, 5);
  };
  std::vector<KernelArgument> arguments{matrix(kA, 256, 256), matrix(kB, 256, 256),
                                        matrix(kC, 256, 256)};
  gpu.compile(kernels::gemm(DType::bf16, {})).prepare(arguments);
  EXPECT_EQ(target(), "sm_90");
  setenv("DITRON_GPU", "sm_80", 1);
  auto program = gpu.compile(kernels::gemm(DType::bf16, {}));
  int before = encodings(), launched = launches();
  program.launch(arguments);
  unsetenv("DITRON_GPU");
  EXPECT_EQ(target(), "sm_80");
  EXPECT_EQ(launches() - launched, 1);
  EXPECT_EQ(encodings() - before, 0); // of tensor maps, which those have not
}

TEST_F(Launches, EncodeTensorMapsOnceForTheSameArguments) {
  kernels::GemmConfig tile;
  tile.m = tile.n = 128, tile.k = 64;
  auto program = gpu.compile(kernels::gemm(DType::bf16, tile));
  std::vector<KernelArgument> arguments{matrix(kA, 256, 256), matrix(kB, 256, 256),
                                        matrix(kC, 256, 256)};
  int before = encodings(), launched = launches();
  program.launch(arguments);
  int once = encodings() - before;
  EXPECT_GT(once, 0);
  for (int n = 0; n < 10; ++n)
    program.launch(arguments);
  EXPECT_EQ(encodings() - before, once);
  EXPECT_EQ(launches() - launched, 11);

  std::vector<KernelArgument> others = arguments;
  others[0] = matrix(kElsewhere, 256, 256);
  program.launch(others);
  EXPECT_EQ(encodings() - before, 2 * once);
  EXPECT_EQ(parameter(0), int64_t(kElsewhere));
  program.launch(arguments);
  EXPECT_EQ(encodings() - before, 2 * once);
  EXPECT_EQ(parameter(0), int64_t(kA));
}

TEST_F(Launches, TakeWhatHasChanged) {
  auto program = gpu.compile(kernels::rmsNorm(DType::bf16, {.rows = 1, .width = 256}));
  auto launch = [&](uint64_t address, int64_t rows, int64_t columns, double eps) {
    program.launch({matrix(address, rows, columns), cuda::tensor(gpu, kB, DType::bf16, {columns}),
                    eps, matrix(kC, rows, columns)});
  };
  constexpr size_t kRows = 1, kColumns = 2, kEps = 8; // of x, and behind x and w
  launch(kA, 16, 256, 0.5);
  EXPECT_EQ(parameter(kRows), 16);
  EXPECT_EQ(parameter(kEps), std::bit_cast<int32_t>(0.5F));
  launch(kA, 16, 256, 0.25);
  EXPECT_EQ(parameter(kEps), std::bit_cast<int32_t>(0.25F));
  launch(kA, 8, 256, 0.25);
  EXPECT_EQ(parameter(kRows), 8);
  launch(kA + 2, 8, 255, 0.25); // another variant
  EXPECT_EQ(parameter(0), int64_t(kA + 2));
  EXPECT_EQ(parameter(kColumns), 255);
  launch(kA, 16, 256, 0.5);
  EXPECT_EQ(parameter(0), int64_t(kA));
  EXPECT_EQ(parameter(kRows), 16);
}

TEST_F(Launches, TakeCodeForTheAlignmentOfTheirTensors) {
  auto access = [&](uint64_t address, int64_t columns) {
    gpu.compile(kernels::softmax(DType::bf16, {.rows = 1, .width = 512}))
        .prepare({matrix(address, 16, columns), matrix(kB, 16, columns)});
    std::string code = fake<const char *()>("fakeCode")(), found;
    for (const char *how : {"v4.b32", "v2.b32", "b32", "b16"})
      if (code.find(std::string("ld.global.") + how) != std::string::npos)
        found += std::string(found.empty() ? "" : " ") + how;
    return found;
  };
  EXPECT_EQ(access(kA, 256), "v4.b32");
  EXPECT_EQ(access(kA, 264), "v2.b32"); // half a row is 264 bytes
  EXPECT_EQ(access(kA, 260), "b32");
  EXPECT_EQ(access(kA, 258), "b16");
  EXPECT_EQ(access(kA, 257), "b16");
  EXPECT_EQ(access(kA + 8, 256), "v2.b32");
  EXPECT_EQ(access(kA + 2, 256), "b16");
}

TEST_F(Launches, TakeTheSameCodeForListsOfAnyLength) {
  auto program = gpu.compile(kernels::rope(DType::bf16, {.heads = 2, .width = 64}));
  int before = fake<int()>("fakeModules")();
  for (int64_t tokens : {1, 2, 4, 8, 16, 7}) {
    Tensor positions = cuda::tensor(gpu, kElsewhere, DType::i32, {tokens});
    Tensor cosines = cuda::tensor(gpu, kB, DType::f32, {128, 64});
    program.prepare({cuda::tensor(gpu, kA, DType::bf16, {tokens, 4, 128}), positions, cosines,
                     cosines, cuda::tensor(gpu, kC, DType::bf16, {tokens, 4, 128})});
  }
  EXPECT_EQ(fake<int()>("fakeModules")() - before, 1);
}

TEST_F(Launches, AskWhereOnlyTheEndOfVectorsIsRagged) {
  auto vector = [&](uint64_t address, int64_t count) {
    return cuda::tensor(gpu, address, DType::bf16, {count});
  };
  auto program = gpu.compile(kernels::vectorAdd(DType::bf16));
  program.prepare({vector(kA, 1001), vector(kB, 1001), vector(kC, 1001)});
  std::string code = fake<const char *()>("fakeCode")();
  EXPECT_NE(code.find("ld.global.v4.b32"), std::string::npos);
  EXPECT_NE(code.find("ld.global.b16"), std::string::npos);
}

TEST_F(Launches, HaveACoreForEachTile) {
  auto program = gpu.compile(kernels::softmax(DType::bf16, {.rows = 4, .width = 256}));
  auto cores = [&](int64_t rows) {
    program.launch({matrix(kA, rows, 256), matrix(kB, rows, 256)});
    EXPECT_EQ(program.cores(), int(fake<unsigned()>("fakeCores")()));
    return program.cores();
  };
  EXPECT_EQ(cores(1), 1);
  EXPECT_EQ(cores(4), 1);
  EXPECT_EQ(cores(5), 2);
  EXPECT_EQ(cores(1 << 20), 1 << 18);
  EXPECT_EQ(cores(5), 2);
  try {
    cores(int64_t(1) << 40);
    FAIL() << "more cores than a launch can have";
  } catch (const CompileError &error) {
    EXPECT_NE(std::string(error.what()).find("274877906944 tiles of these extents"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Launches, OfProductsHaveAsManyCoresAsFit) {
  kernels::GemmConfig tile;
  tile.m = tile.n = 128, tile.k = 64;
  auto program = gpu.compile(kernels::gemm(DType::bf16, tile));
  program.launch({matrix(kA, 4096, 4096), matrix(kB, 4096, 4096), matrix(kC, 4096, 4096)});
  EXPECT_EQ(program.cores(), gpu.cores());
}

TEST_F(Launches, AreRefusedAfterOnesThatWereNot) {
  auto program = gpu.compile(kernels::softmax(DType::bf16, {.rows = 1, .width = 256}));
  Tensor x = matrix(kA, 16, 256), y = matrix(kB, 16, 256);
  program.launch({x, y});
  int launched = launches();
  for (int n = 0; n < 2; ++n) {
    EXPECT_THROW(program.launch({x, matrix(kB, 16, 128)}), CompileError);
    EXPECT_THROW(program.launch({x, y, y}), CompileError);
    EXPECT_THROW(program.launch({x, int64_t(kB)}), CompileError);
    EXPECT_THROW(program.launch({x, cuda::tensor(gpu, kB, DType::f16, {16, 256})}), CompileError);
  }
  EXPECT_EQ(launches(), launched);
  program.launch({x, y});
  EXPECT_EQ(launches(), launched + 1);
}

TEST_F(Launches, AreRefusedForMemoryThatTheGpuDoesNotReach) {
  auto program = gpu.compile(kernels::softmax(DType::bf16, {.rows = 1, .width = 256}));
  Tensor host = Tensor::own(DType::bf16, {16, 256});
  try {
    program.launch({host, matrix(kB, 16, 256)});
    FAIL() << "memory of the host";
  } catch (const CompileError &error) {
    EXPECT_NE(std::string(error.what()).find("x is in the memory of the host, expected that of"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(matrix(kA, 4, 4).at({0, 0}), CompileError);
}

/// What a call throws; empty: nothing.
template <class Call> std::string errorOf(Call &&call) {
  try {
    call();
  } catch (const RuntimeError &error) {
    return error.what();
  }
  return "";
}

TEST_F(Launches, AreWaitedForNoLongerThanTheirBound) {
  Options options;
  options.backend = "nvidia";
  options.launchTimeout = std::chrono::milliseconds(50);
  Context context = Context::init(options);
  auto program = context.compile(kernels::vectorAdd(DType::f32));
  auto memory = [&] { return context.tensor(DType::f32, {64}); };
  Tensor a = memory(), b = memory(), c = memory();
  setenv("FAKE_CUDA", "late", 1);
  program(a, b, c);
  Event behind = context.stream().record();
  std::string error = errorOf([&] { context.stream().wait(); });
  EXPECT_EQ(error,
            "kernel 'vector-add' on rank 0: a launch on Fake GPU runs for longer than 50 ms, the "
            "bound of a launch (DITRON_LAUNCH_TIMEOUT_MS), and computes on");
  EXPECT_EQ(errorOf([&] { context.stream().wait(); }), error);
  EXPECT_NE(errorOf([&] { behind.wait(); }), "");
  EXPECT_NE(errorOf([&] { (void)c.toHost(); }), "");
  a = b = c = memory();  // the driver would wait for all if it was to free them
  unsetenv("FAKE_CUDA"); // the launch ends
  EXPECT_EQ(errorOf([&] { context.stream().wait(); }), "");
  EXPECT_EQ(errorOf([&] { behind.wait(); }), "");
}

TEST_F(Launches, WaitForTheirCodeNoLongerThanTheirBound) {
  Options options;
  options.backend = "nvidia";
  options.launchTimeout = std::chrono::milliseconds(50);
  Context context = Context::init(options);
  auto program = context.compile(kernels::vectorAdd(DType::f32));
  auto memory = [&] { return context.tensor(DType::f32, {64}); };
  Tensor a = memory(), b = memory(), c = memory();
  setenv("FAKE_CUDA", "stuck", 1);
  std::string error = errorOf([&] { program(a, b, c); });
  unsetenv("FAKE_CUDA"); // the driver goes on
  EXPECT_NE(error.find("the driver loads a kernel's code on Fake GPU for longer than 50 ms, the "
                       "bound of a launch (DITRON_LAUNCH_TIMEOUT_MS)"),
            std::string::npos)
      << error;
  EXPECT_EQ(errorOf([&] { program(a, b, c); }), "");
}

} // namespace
} // namespace ditron
