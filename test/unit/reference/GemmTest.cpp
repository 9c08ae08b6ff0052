// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole kernels: a tiled product, alone and with its operand gathered from the ranks.
#include "Interpret.h"

namespace ditron::reference {
namespace {

constexpr int64_t M = 64, N = 48, K = 96;

/// Integer patterns whose product is exact in every order.
template <class T> Array<T> matrixA(int64_t first, int64_t rows) {
  Array<T> a({rows, K});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < K; ++k)
      a.at(i, k) = T(float((7 * (first + i) + 3 * k) % 5 - 2));
  return a;
}
template <class T> Array<T> matrixB() {
  Array<T> b({K, N});
  for (int64_t k = 0; k < K; ++k)
    for (int64_t j = 0; j < N; ++j)
      b.at(k, j) = T(float((5 * k + 11 * j) % 7 - 3));
  return b;
}

/// What is known of the 64 x 48 product.
void expectGolden(Array<float> &c) {
  double sum = 0, squares = 0, weighted = 0;
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      double x = c.at(i, j);
      sum += x;
      squares += x * x;
      weighted += x * (i + 1) * (j + 1);
    }
  EXPECT_EQ(sum, -7);
  EXPECT_EQ(squares, 159681);
  EXPECT_EQ(weighted, 9555);
}

const char *const kTypes = R"(
!in = memref<?x?xf16, strided<[?, ?], offset: ?>>
!out = memref<?x?xf32, strided<[?, ?], offset: ?>>
!sym = memref<?x?xf16, strided<[?, ?], offset: ?>, #dist.space<symmetric>>
)";

/// The sum over k of a(i, k) * b(k, j), in tiles of 10 x 20 and 20 x 9: none divides its matrix.
const std::string kProduct = R"(
    %acc = tile.var %zeros : tensor<10x9xf32>
    scf.for %kk = %c0 to %kTiles step %c1 {
      %x = tile.load %a[%i, %kk] : A_TYPE -> tensor<10x20xf16>
      %y = tile.load %B[%kk, %j] : !in -> tensor<20x9xf16>
      %old = tile.get %acc : tensor<10x9xf32>
      %new = tile.dot %x, %y, %old : tensor<10x20xf16>, tensor<20x9xf16> -> tensor<10x9xf32>
      tile.set %acc, %new : tensor<10x9xf32>
    }
    %sum = tile.get %acc : tensor<10x9xf32>
    tile.store %sum, %C[%i, %j] : tensor<10x9xf32>, !out
)";

const char *const kHead = R"(
func.func @kernel(%A: !in {tile.readonly}, %B: !in {tile.readonly}, %C: !out) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %zeros = arith.constant dense<0.0> : tensor<10x9xf32>
  %m = memref.dim %C, %c0 : !out
  %n = memref.dim %C, %c1 : !out
  %k = memref.dim %A, %c1 : !in
  %iTiles = arith.ceildivsi %m, %c10 : index
  %jTiles = arith.ceildivsi %n, %c9 : index
  %kTiles = arith.ceildivsi %k, %c20 : index
)";

std::string productOf(const std::string &type) {
  std::string text = kProduct;
  for (size_t at; (at = text.find("A_TYPE")) != std::string::npos;)
    text.replace(at, 6, type);
  return text;
}

TEST(Gemm, EveryCoreCount) {
  std::string text = kTypes + std::string(kHead) + R"(
  %a = memref.cast %A : !in to !in
  dist.tiles (%i, %j) of (%iTiles, %jTiles) order <"grouped", 3> elements %m height 10 {
)" + productOf("!in") +
                     "  }\n  return\n}";
  Program program(text);
  for (int64_t cores : {1, 2, 3, 50}) {
    auto a = matrixA<f16>(0, M);
    auto b = matrixB<f16>();
    Array<float> c({M, N}, NAN);
    Options options;
    options.cores = cores;
    Result result = program.run({{a, b, c}}, options);
    expectGolden(c);
    EXPECT_TRUE(result.warnings.empty());
  }
}

/// AllGather + GEMM with explicit verbs: one core puts the own rows on all ranks, the others wait
/// for the rows of their tile.
std::string agGemm() {
  return kTypes + std::string(kHead) + R"(
  %r = dist.num_ranks
  %me = dist.rank
  %mine = memref.dim %A, %c0 : !in
  %a = dist.symmetric "full"(%m, %k) : !sym
  %ready = dist.signals "ready"(%r) : !dist.signals<1>
  %cores = dist.num_cores
  %others = arith.subi %cores, %c1 : index
  %first = arith.muli %me, %mine : index
  dist.role "gather" cores %c0 for %c1 {
    scf.for %p = %c0 to %r step %c1 {
      %to = arith.addi %me, %p : index
      %peer = arith.remsi %to, %r : index
      %rows = memref.subview %a[%first, 0] [%mine, %k] [1, 1] : !sym to !sym
      dist.put %A, %rows on %peer : !in, !sym
      dist.notify %ready[%me] on %peer add %c1 : !dist.signals<1>
    }
  }
  dist.role "multiply" cores %c1 for %others {
    dist.tiles (%i, %j) of (%iTiles, %jTiles) order <"own-shard-first", 2> elements %m height 10 {
      %begin = arith.muli %i, %c10 : index
      %stop = arith.addi %begin, %c10 : index
      %end = arith.minsi %stop, %m : index
      %last = arith.subi %end, %c1 : index
      %from = arith.divsi %begin, %mine : index
      %to = arith.divsi %last, %mine : index
      %past = arith.addi %to, %c1 : index
      scf.for %s = %from to %past step %c1 {
        dist.wait %ready[%s] >= %c1 : !dist.signals<1>
      }
)" + productOf("!sym") +
         "    }\n  }\n  return\n}";
}

TEST(Gemm, GatheredFromRanks) {
  Program program(agGemm());
  for (int64_t ranks : {1, 2, 4, 8})
    for (bool random : {false, true}) {
      std::vector<Array<f16>> as;
      std::vector<Array<float>> cs(ranks, Array<float>({M, N}, NAN));
      auto b = matrixB<f16>();
      std::vector<std::vector<ArgumentValue>> arguments;
      for (int64_t rank = 0; rank < ranks; ++rank)
        as.push_back(matrixA<f16>(rank * (M / ranks), M / ranks));
      for (int64_t rank = 0; rank < ranks; ++rank)
        arguments.push_back({as[rank], b, cs[rank]});
      Options options;
      options.cores = 4;
      options.randomSchedule = random;
      options.seed = 7;
      options.launches = 3;
      Result result = program.run(arguments, options);
      EXPECT_TRUE(result.warnings.empty());
      for (Array<float> &c : cs)
        expectGolden(c);
    }
}

TEST(Gemm, MissingNotifyIsADeadlock) {
  std::string text = agGemm();
  const std::string notify = "dist.notify %ready[%me] on %peer add %c1";
  size_t at = text.find(notify);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, notify.size(), "dist.notify %ready[%me] on %peer add %c0");
  Program program(text);
  auto a = matrixA<f16>(0, M / 2), a1 = matrixA<f16>(M / 2, M / 2);
  auto b = matrixB<f16>();
  Array<float> c({M, N}), c1({M, N});
  Options options;
  options.cores = 2;
  expectError<RuntimeError>(
      [&] { program.run({{a, b, c}, {a1, b, c1}}, options); },
      {"deadlock: nobody is left to notify those who wait\n",
       "rank 0, core 1, role 'multiply', test.mlir:",
       "waits for signal 'ready'[0]: expected 1, seen 0; last notified by rank 0, core "
       "0, role 'gather', test.mlir:",
       "rank 1, core 1, role 'multiply', test.mlir:",
       "waits for signal 'ready'[1]: expected 1, seen 0; last notified by rank 1, core "
       "0, role 'gather', test.mlir:",
       "which added 0"});
}

} // namespace
} // namespace ditron::reference
