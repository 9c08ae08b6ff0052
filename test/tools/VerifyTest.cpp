// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outputs that are right pass; with one element wrong, unwritten or infinite they do not, whether
// all elements are compared or a sample.
#include "tools/ditron/report/Verify.h"
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace ditron;
using namespace ditron::tools;

namespace {

/// Time for a comparison of everything, and none.
constexpr double kAll = 1e9, kSample = 0;

struct Scene {
  Task task;
  kernels::Inputs inputs;
  Operands operands;
  int64_t rank;

  Scene(const KernelArguments &arguments, const std::string &shape, int ranks, int64_t rank)
      : task(makeTask(arguments, shape, runtime::MeshShape{.local = ranks}, 1)),
        inputs(task.entry, task.kernel, task.problem, 7), operands(task), rank(rank) {
    operands.fill(inputs, rank);
  }

  const runtime::Tensor &output() const { return operands.tensor(operands.outputs().front()); }

  /// Writes what the reference says.
  void compute() {
    kernels::Case run{task.problem, task.config, inputs};
    for (size_t argument : operands.outputs()) {
      const runtime::Tensor &memory = operands.tensor(argument);
      int64_t width = memory.shape().back();
      std::vector<int64_t> columns(static_cast<size_t>(width));
      std::iota(columns.begin(), columns.end(), int64_t(0));
      for (int64_t row = 0; row < memory.elements() / width; ++row) {
        auto expected = task.entry.reference(run, {rank, argument, row, columns});
        for (int64_t n = 0; n < width; ++n)
          if (expected[size_t(n)].isDefined)
            store(argument, row * width + n, expected[size_t(n)].value);
      }
    }
  }
  void store(size_t argument, int64_t element, double value) {
    const runtime::Tensor &memory = operands.tensor(argument);
    storeElement(memory.dtype(),
                 static_cast<std::byte *>(memory.data()) + element * byteSize(memory.dtype()),
                 value);
  }
  double load(int64_t element) const {
    return loadElement(output().dtype(), static_cast<const std::byte *>(output().data()) +
                                             element * byteSize(output().dtype()));
  }
  void store(int64_t element, double value) { store(operands.outputs().front(), element, value); }

  Findings verify(double seconds) const {
    return tools::verify(task, inputs, rank, operands, seconds);
  }
};

KernelArguments kernel(const char *name, const char *dtype = "f32") {
  KernelArguments arguments;
  arguments.kernel = name;
  arguments.dtype = dtype;
  return arguments;
}

struct Product {
  const char *kernel, *shape;
  int ranks;
};
constexpr Product kProducts[] = {{"gemm", "M=101,N=83,K=37", 1},
                                 {"ag-gemm", "M=41,N=83,K=37", 3},
                                 {"gemm-rs", "M=41,N=83,K=37", 3},
                                 {"gemm-ar", "M=101,N=83,K=37", 3}};

TEST(Verify, RightProductsPassEitherWay) {
  for (const Product &product : kProducts)
    for (const char *dtype : {"f32", "bf16", "f16", "i8"})
      for (int64_t rank = 0; rank < product.ranks; ++rank) {
        Scene scene(kernel(product.kernel, dtype), product.shape, product.ranks, rank);
        scene.compute();
        Findings full = scene.verify(kAll), sampled = scene.verify(kSample);
        EXPECT_TRUE(full.verdict.ok) << full.verdict.failure;
        EXPECT_TRUE(sampled.verdict.ok) << sampled.verdict.failure;
        EXPECT_STREQ(full.coverage(), "full");
        EXPECT_STREQ(sampled.coverage(), "projected");
        EXPECT_EQ(full.verdict.checked, scene.output().elements());
        EXPECT_LT(sampled.verdict.checked, scene.output().elements());
      }
}

TEST(Verify, AnyWrongElementOfAProductIsFound) {
  for (const Product &product : kProducts)
    for (const char *dtype : {"f32", "i8"}) {
      Scene scene(kernel(product.kernel, dtype), product.shape, product.ranks, product.ranks - 1);
      scene.compute();
      for (int64_t element = 0; element < scene.output().elements(); element += 331) {
        double right = scene.load(element);
        scene.store(element, right + 1);
        EXPECT_FALSE(scene.verify(kSample).verdict.ok) << product.kernel << " " << element;
        scene.store(element, right);
      }
      scene.store(5, scene.load(5) + 1);
      Findings full = scene.verify(kAll);
      EXPECT_FALSE(full.verdict.ok);
      EXPECT_NE(full.verdict.failure.find("row 0 column 5: found "), std::string::npos)
          << full.verdict.failure;
    }
}

TEST(Verify, RoundingIsAllowedAndNoMore) {
  Scene scene(kernel("gemm"), "M=101,N=83,K=37", 1, 0);
  scene.compute();
  for (int64_t element = 0; element < scene.output().elements(); ++element)
    scene.store(element, scene.load(element) * (1 + 0x1p-23));
  EXPECT_TRUE(scene.verify(kAll).verdict.ok);
  EXPECT_TRUE(scene.verify(kSample).verdict.ok);
  for (int64_t element = 0; element < scene.output().elements(); ++element)
    scene.store(element, scene.load(element) * (1 + 0x1p-12));
  EXPECT_FALSE(scene.verify(kAll).verdict.ok);
  EXPECT_FALSE(scene.verify(kSample).verdict.ok);
}

TEST(Verify, UnwrittenElementsAreFound) {
  for (const char *name : {"vector-add", "softmax", "silu-mul", "all-gather", "all-reduce"})
    for (const char *dtype : {"f32", "bf16"}) {
      const char *shape = name == std::string("vector-add") ? "N=30011"
                          : name == std::string("softmax")  ? "T=61,H=503"
                          : name == std::string("silu-mul") ? "T=61,H=503"
                                                            : "M=61,N=503";
      Scene scene(kernel(name, dtype), shape, 2, 1);
      Findings nothing = scene.verify(kSample);
      EXPECT_FALSE(nothing.verdict.ok) << name;
      scene.compute();
      EXPECT_TRUE(scene.verify(kSample).verdict.ok) << scene.verify(kSample).verdict.failure;
      EXPECT_STREQ(scene.verify(kSample).coverage(), "sampled");
      for (int64_t element : {int64_t(1), int64_t(17011), scene.output().elements() - 2})
        for (double bad : {double(NAN), double(INFINITY)}) {
          double right = scene.load(element);
          scene.store(element, bad);
          EXPECT_FALSE(scene.verify(kSample).verdict.ok) << name << " " << element << " " << bad;
          EXPECT_FALSE(scene.verify(kAll).verdict.ok) << name << " " << element << " " << bad;
          scene.store(element, right);
        }
    }
}

TEST(Verify, UnwrittenIntegersAreFound) {
  for (const char *dtype : {"i8", "i16", "i32", "i64"}) {
    Scene scene(kernel("all-gather", dtype), "M=61,N=503", 2, 0);
    scene.compute();
    EXPECT_TRUE(scene.verify(kSample).verdict.ok);
    auto *bytes = static_cast<std::byte *>(scene.output().data());
    for (size_t n = 0, size = byteSize(scene.output().dtype()); n < size; ++n)
      bytes[17011 * size + n] = poisonByte(scene.output().dtype());
    Findings found = scene.verify(kSample);
    EXPECT_FALSE(found.verdict.ok) << dtype;
    EXPECT_NE(found.verdict.failure.find("was there before the launch"), std::string::npos)
        << found.verdict.failure;
  }
}

TEST(Verify, RowsThatNobodySentMayStayUnwritten) {
  Scene scene(kernel("all-to-all"), "T=64,H=40", 3, 1);
  scene.compute();
  EXPECT_TRUE(scene.verify(kAll).verdict.ok) << scene.verify(kAll).verdict.failure;
  EXPECT_TRUE(scene.verify(kSample).verdict.ok) << scene.verify(kSample).verdict.failure;
}

TEST(Verify, ProductsWithMoreToThemAreNotProjected) {
  KernelArguments arguments = kernel("gemm");
  arguments.config = "bias=yes,activation=relu";
  Scene scene(arguments, "M=101,N=83,K=37", 1, 0);
  scene.compute();
  EXPECT_TRUE(scene.verify(kSample).verdict.ok) << scene.verify(kSample).verdict.failure;
  EXPECT_STREQ(scene.verify(kSample).coverage(), "sampled");
}

} // namespace
