// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose products are of slices of their arguments, as the newest chips compute them:
// attention over packed sequences, products by groups of rows, batches of products.
#include "Emulator.h"
#include "Scalar.h"
#include "ditron/driver/Compile.h"
#include "ditron/kernels/kernels.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

namespace ditron {
namespace {

constexpr uint16_t kNaN = 0x7fff;

/// An array of bf16, with what no kernel may touch, or use, around it and behind each of its rows,
/// which are `pitch` elements apart.
struct Halves {
  std::vector<int64_t> extents;
  int64_t pitch;
  std::vector<uint16_t> memory;
  static constexpr int64_t kMargin = 512;

  explicit Halves(std::vector<int64_t> shape, int64_t pitchOrDense = 0)
      : extents(std::move(shape)), pitch(pitchOrDense ? pitchOrDense : extents.back()),
        memory(size_t(size() + 2 * kMargin), kNaN) {}
  int64_t size() const {
    return pitch *
           std::accumulate(extents.begin(), extents.end() - 1, int64_t(1), std::multiplies<>());
  }
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    for (int64_t n = 0; n < size(); ++n)
      if (n % pitch < extents.back())
        memory[size_t(kMargin + n)] = emulator::narrow("bf16", float(random() % 4096) / 2048 - 1);
  }
  uint16_t *data() { return memory.data() + kMargin; }
  const uint16_t *data() const { return memory.data() + kMargin; }
  uint16_t bits(int64_t n) const { return data()[n]; }
  double at(int64_t n) const { return emulator::widen("bf16", bits(n)); }
  std::vector<int64_t> strides() const {
    std::vector<int64_t> result(extents.size(), 1);
    for (size_t dim = extents.size() - 1; dim-- > 0;)
      result[dim] = dim + 2 == extents.size() ? pitch : result[dim + 1] * extents[dim + 1];
    return result;
  }
  void expectMarginsKept() const {
    for (int64_t n = -kMargin; n < size() + kMargin; ++n) {
      bool isOutside = n < 0 || n >= size() || n % pitch >= extents.back();
      if (isOutside && bits(n) != kNaN) {
        ADD_FAILURE() << "written beyond the result";
        return;
      }
    }
  }
};

const std::string kNewest = "sm_90a", kOlder = "sm_80";

/// The arguments of a launch, in the order of the signature.
class Execution {
public:
  Execution(const Kernel &kernel, std::vector<bool> isDense, const std::string &chip = kNewest) {
    setenv("DITRON_CACHE", "0", 1);
    code_ = buildKernel(kernel, {.target = chip, .unitStride = std::move(isDense)});
  }
  size_t maps() const { return code_.info.tensorMaps.size(); }

  void add(Halves &array) {
    addView(array.data(), array.extents, array.strides());
    arrays_.push_back(&array);
  }
  void add(std::vector<int32_t> &numbers, int64_t rows = 0) {
    auto columns = int64_t(numbers.size()) / std::max<int64_t>(1, rows);
    if (rows)
      addView(numbers.data(), {rows, columns}, {columns, 1});
    else
      addView(numbers.data(), {columns}, {1});
    arrays_.push_back(nullptr);
  }
  void add(float number) {
    words_.push_back(std::bit_cast<int32_t>(number));
    arrays_.push_back(nullptr);
  }

  void execute(int blocks, uint64_t seed) {
    emulator::Launch launch{
        words_, {}, blocks, int(code_.info.threads), int(code_.info.sharedBytes), seed};
    launch.words.push_back(0); // the status
    for (const abi::TensorMap &map : code_.info.tensorMaps) {
      Halves &array = *arrays_.at(size_t(map.argument));
      launch.maps.push_back({reinterpret_cast<uint8_t *>(array.data()), 2, array.extents,
                             array.strides(), map.boxFor(array.extents)});
    }
    emulator::execute(code_.code, launch);
  }

private:
  void addView(const void *memory, std::vector<int64_t> extents, std::vector<int64_t> strides) {
    words_.push_back(reinterpret_cast<int64_t>(memory));
    words_.insert(words_.end(), extents.begin(), extents.end());
    words_.insert(words_.end(), strides.begin(), strides.end());
  }

  BuiltKernel code_;
  std::vector<int64_t> words_;
  std::vector<Halves *> arrays_;
};

//===-- Attention -----------------------------------------------------------------------------===//

struct Sequences {
  std::vector<int32_t> queries, keys; ///< of each
  int64_t heads = 1, keyHeads = 1, d = 64, pitch = 0;
};

std::vector<int32_t> startsOf(const std::vector<int32_t> &lengths) {
  std::vector<int32_t> starts{0};
  for (int32_t length : lengths)
    starts.push_back(starts.back() + length);
  return starts;
}

/// One query of one head, in double. placeOf(key): where its elements are.
std::vector<double> attend(const Halves &q, const Halves &k, const Halves &v, int64_t query,
                           const std::function<int64_t(int64_t)> &placeOf, int64_t numKeys,
                           double scale) {
  int64_t d = q.extents.back();
  std::vector<double> weights, result(size_t(d), 0);
  double total = 0;
  for (int64_t key = 0; key < numKeys; ++key) {
    double score = 0;
    for (int64_t n = 0; n < d; ++n)
      score += q.at(query + n) * k.at(placeOf(key) + n);
    weights.push_back(std::exp(score * scale));
    total += weights.back();
  }
  for (int64_t key = 0; key < numKeys; ++key)
    for (int64_t n = 0; n < d; ++n)
      result[size_t(n)] += weights[size_t(key)] / total * v.at(placeOf(key) + n);
  return result;
}

void expectAttention(const Sequences &s, kernels::AttentionConfig config, int blocks = 1,
                     const std::string &chip = kNewest) {
  SCOPED_TRACE(testing::Message() << "d " << s.d << (config.causal ? ", causal" : ""));
  std::vector<int32_t> qStarts = startsOf(s.queries), kStarts = startsOf(s.keys);
  Halves q({qStarts.back(), s.heads, s.d}, s.pitch);
  Halves k({kStarts.back(), s.keyHeads, s.d}, s.pitch), v(k.extents, s.pitch);
  q.fill(1), k.fill(2), v.fill(3);
  for (size_t b = 0; b < s.queries.size(); ++b) // keys that nobody sees
    for (int64_t n = kStarts[b] * s.keyHeads * k.pitch;
         s.queries[b] == 0 && n < kStarts[b + 1] * s.keyHeads * k.pitch; ++n)
      k.data()[n] = v.data()[n] = kNaN;
  float scale = 1 / std::sqrt(float(s.d));
  for (uint64_t seed : {1, 2}) {
    Halves o(q.extents, s.pitch);
    Execution run(kernels::flashAttention(DType::bf16, config), std::vector<bool>(7, true), chip);
    ASSERT_EQ(run.maps(), chip == kNewest ? 4u : 0u); // the result too
    run.add(q), run.add(k), run.add(v), run.add(qStarts), run.add(kStarts), run.add(scale);
    run.add(o);
    run.execute(blocks, seed);
    o.expectMarginsKept();
    int wrong = 0;
    for (size_t b = 0; b < s.queries.size(); ++b)
      for (int64_t i = 0; i < s.queries[b]; ++i)
        for (int64_t head = 0; head < s.heads; ++head) {
          int64_t query = ((qStarts[b] + i) * s.heads + head) * q.pitch;
          int64_t keyHead = head * s.keyHeads / s.heads;
          int64_t seen = config.causal ? s.keys[b] - (s.queries[b] - 1 - i) : s.keys[b];
          auto place = [&](int64_t key) {
            return ((kStarts[b] + key) * s.keyHeads + keyHead) * k.pitch;
          };
          auto expected = attend(q, k, v, query, place, std::max<int64_t>(0, seen), scale);
          for (int64_t n = 0; n < s.d; ++n)
            if (!(std::abs(o.at(query + n) - expected[size_t(n)]) < 0.01) && wrong++ < 5)
              ADD_FAILURE() << "sequence " << b << ", query " << i << ", head " << head << ", " << n
                            << ": " << o.at(query + n) << ", expected " << expected[size_t(n)];
        }
    EXPECT_EQ(wrong, 0);
  }
}

kernels::AttentionConfig tiles(int m, int n, int d, bool causal) { return {m, n, d, causal}; }

TEST(Attention, OneBlock) {
  for (bool causal : {false, true})
    expectAttention({{128}, {128}}, tiles(128, 128, 64, causal));
}

TEST(Attention, SeveralBlocks) {
  for (bool causal : {false, true}) {
    expectAttention({{256}, {384}}, tiles(128, 128, 64, causal), 2);
    expectAttention({{128}, {320}, 1, 1, 128}, tiles(128, 128, 128, causal));
  }
}

TEST(Attention, PackedSequences) {
  for (bool causal : {false, true})
    expectAttention({{37, 0, 150, 5}, {70, 3, 140, 0}, 2, 1, 64}, tiles(64, 64, 64, causal), 2);
}

TEST(Attention, NarrowHeads) { expectAttention({{70}, {90}, 1, 1, 40}, tiles(64, 64, 64, true)); }

// Rows of the result that end within a block, and within 16 bytes.
TEST(Attention, OddHeads) {
  expectAttention({{64, 9}, {70, 11}, 1, 1, 72}, tiles(64, 64, 128, true));
  expectAttention({{64, 9}, {70, 11}, 2, 2, 100, 104}, tiles(64, 64, 128, false), 3);
}

// Rounds of blocks that begin and end within sequences, of several cores and heads.
TEST(Attention, ManySequences) {
  expectAttention({{1, 65, 0, 3, 130, 64}, {5, 65, 4, 3, 130, 9}, 4, 2, 64},
                  tiles(64, 64, 64, true), 3);
}

TEST(Attention, OlderChips) {
  for (bool causal : {false, true})
    expectAttention({{37, 0, 70}, {70, 3, 65}, 2, 1, 64}, tiles(32, 32, 64, causal), 2, kOlder);
}

/// A query of each sequence, which sees so many keys in pages of S; what lies behind them is no number.
void expectPages(int64_t S, const std::vector<int32_t> &seen) {
  constexpr int64_t N = 4, G = 2, D = 64;
  auto T = int64_t(seen.size()), L = (*std::ranges::max_element(seen) + S - 1) / S;
  Halves q({T, N, D}), k({T * L, G, S, D}), v(k.extents);
  q.fill(1), k.fill(2), v.fill(3);
  std::vector<int32_t> positions, sequences, pages;
  auto placeOf = [&](int64_t t, int64_t g, int64_t key) {
    return ((pages[size_t(t * L + key / S)] * G + g) * S + key % S) * D;
  };
  for (int64_t t = 0; t < T; ++t) {
    positions.push_back(seen[size_t(t)] - 1), sequences.push_back(int32_t(t));
    for (int64_t page = 0; page < L; ++page)
      pages.push_back(int32_t(T * L - 1 - (t * L + page)));
    for (int64_t g = 0; g < G; ++g)
      for (int64_t key = seen[size_t(t)]; key < L * S; ++key)
        for (int64_t n = placeOf(t, g, key), end = n + D; n < end; ++n)
          k.data()[n] = v.data()[n] = kNaN;
  }
  Halves o(q.extents);
  Execution run(kernels::pagedAttention(DType::bf16, {.m = 64, .n = int(S), .d = int(D)}),
                std::vector<bool>(8, true));
  ASSERT_EQ(run.maps(), 6U); // of whole tiles, the result too, and of 16 keys and values
  run.add(q), run.add(k), run.add(v), run.add(positions), run.add(sequences), run.add(pages, T);
  run.add(0.125F), run.add(o);
  run.execute(3, 1);
  o.expectMarginsKept();
  for (int64_t t = 0; t < T; ++t)
    for (int64_t head = 0; head < N; ++head) {
      int64_t query = (t * N + head) * D;
      auto place = [&](int64_t key) { return placeOf(t, head * G / N, key); };
      auto expected = attend(q, k, v, query, place, seen[size_t(t)], 0.125);
      for (int64_t n = 0; n < D; ++n)
        ASSERT_NEAR(o.at(query + n), expected[size_t(n)], 0.01) << t << ", head " << head;
    }
}

// Pages that end within a box, with one, and that are full.
TEST(Attention, Pages) {
  expectPages(64, {1, 15, 16, 17, 63, 64, 65, 80, 130});
  expectPages(32, {0, 16, 33});
}

//===-- Groups and batches --------------------------------------------------------------------===//

void expectProduct(const Halves &a, int64_t rowOfA, const Halves &b, int64_t firstOfB,
                   int64_t strideOfB, int64_t depthOfB, const Halves &c, int64_t rowOfC,
                   int &wrong) {
  int64_t K = a.extents.back(), N = c.extents.back();
  for (int64_t j = 0; j < N; ++j) {
    double sum = 0;
    for (int64_t k = 0; k < K; ++k)
      sum += a.at(rowOfA * K + k) * b.at(firstOfB + j * strideOfB + k * depthOfB);
    double found = c.at(rowOfC * N + j);
    if (!(std::abs(found - sum) <= std::abs(sum) / 128 + 1e-3) && wrong++ < 5)
      ADD_FAILURE() << "C[" << rowOfC << ", " << j << "] is " << found << ", expected " << sum;
  }
}

void expectGrouped(const std::vector<int32_t> &counts, int64_t unused, int64_t N, int64_t K,
                   kernels::GemmTile tile, int blocks, const std::string &chip = kNewest) {
  auto groups = int64_t(counts.size());
  int64_t T = std::accumulate(counts.begin(), counts.end(), unused);
  Halves a({T, K}), w({groups, N, K});
  a.fill(1), w.fill(2);
  for (uint64_t seed : {1, 2}) {
    Halves c({T, N});
    Execution run(kernels::groupedGemm(DType::bf16, tile), {true, true, true, true}, chip);
    ASSERT_EQ(run.maps(), chip == kNewest ? 3u : 0u); // C too
    std::vector<int32_t> sizes = counts;
    run.add(a), run.add(w), run.add(sizes), run.add(c);
    run.execute(blocks, seed);
    c.expectMarginsKept();
    int wrong = 0;
    int64_t row = 0;
    for (int64_t g = 0; g < groups; ++g)
      for (int32_t i = 0; i < counts[size_t(g)]; ++i, ++row)
        expectProduct(a, row, w, g * N * K, K, 1, c, row, wrong);
    for (; row < T; ++row) // rows of no group
      for (int64_t j = 0; j < N; ++j)
        wrong += c.bits(row * N + j) != kNaN;
    EXPECT_EQ(wrong, 0);
  }
}

TEST(GroupedGemm, UnevenGroups) {
  kernels::GemmTile tile{64, 64, 64, 8};
  expectGrouped({5, 0, 130, 64, 1}, 3, 72, 136, tile, 2);
  expectGrouped({100, 200}, 0, 128, 320, {128, 128, 64, 8}, 1);
  expectGrouped({70, 3}, 0, 104, 128, {64, 80, 64, 8}, 2); // blocks of the result that overlap
}

TEST(GroupedGemm, OlderChips) {
  expectGrouped({5, 0, 70, 1}, 3, 72, 136, {32, 64, 32, 8}, 2, kOlder);
}

TEST(BatchedGemm, SlicesOfArguments) {
  kernels::GemmConfig config;
  config.m = 64, config.n = 64, config.k = 64;
  int64_t B = 3, M = 70, N = 72, K = 136;
  Halves a({B, M, K}), w({B, K, N}), c({B, M, N});
  a.fill(1), w.fill(2);
  Execution run(kernels::batchedGemm(DType::bf16, config), {true, true, true});
  ASSERT_EQ(run.maps(), 3u); // C too
  run.add(a), run.add(w), run.add(c);
  run.execute(2, 1);
  c.expectMarginsKept();
  int wrong = 0;
  for (int64_t row = 0; row < B * M; ++row)
    expectProduct(a, row, w, row / M * K * N, 1, N, c, row, wrong);
  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace ditron
