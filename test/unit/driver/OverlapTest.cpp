// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overlap of tensors against a comparison of all bytes.
#include "ditron/driver/Overlap.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace ditron {
namespace {

using runtime::Tensor;

std::set<uintptr_t> bytesOf(const Tensor &tensor) {
  std::set<uintptr_t> bytes;
  std::vector<int64_t> index(tensor.shape().size());
  for (int64_t n = 0; n < tensor.elements(); ++n) {
    int64_t left = n;
    for (size_t dim = index.size(); dim-- > 0; left /= tensor.shape()[dim])
      index[dim] = left % tensor.shape()[dim];
    auto at = reinterpret_cast<uintptr_t>(tensor.address(index));
    for (size_t byte = 0; byte < byteSize(tensor.dtype()); ++byte)
      bytes.insert(at + byte);
  }
  return bytes;
}

bool overlapBySearch(const Tensor &a, const Tensor &b) {
  std::set<uintptr_t> bytes = bytesOf(a);
  for (uintptr_t byte : bytesOf(b))
    if (bytes.count(byte))
      return true;
  return false;
}

TEST(Overlap, AgreesWithASearch) {
  std::vector<std::byte> memory(4096);
  std::mt19937 random(7);
  auto pick = [&](int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  };
  auto make = [&] {
    constexpr DType kTypes[] = {DType::i8, DType::f16, DType::f32};
    std::vector<int64_t> shape, strides;
    for (int64_t dims = pick(1, 3); dims > 0; --dims)
      shape.push_back(pick(0, 4)), strides.push_back(pick(-9, 9));
    return Tensor::borrow(memory.data() + 2048 + pick(-40, 40), kTypes[pick(0, 2)], shape, strides);
  };
  int found = 0;
  for (int n = 0; n < 20000; ++n) {
    Tensor a = make(), b = make();
    bool expected = overlapBySearch(a, b);
    found += expected;
    ASSERT_EQ(overlap(a, b), expected) << a.describe() << " " << b.describe() << " case " << n;
  }
  EXPECT_GT(found, 2000);
  EXPECT_LT(found, 18000);
}

TEST(Overlap, ColumnsBetweenOthers) {
  std::vector<float> memory(1 << 20);
  Tensor whole = Tensor::borrow(memory.data(), DType::f32, {1024, 1024});
  EXPECT_FALSE(overlap(whole.slice(1, 0, 512), whole.slice(1, 512, 512)));
  EXPECT_TRUE(overlap(whole.slice(1, 0, 513), whole.slice(1, 512, 512)));
  EXPECT_FALSE(overlap(whole.slice(0, 0, 512), whole.slice(0, 512, 512)));
  EXPECT_TRUE(coincide(whole, whole.slice(0, 0, 1024)));
}

} // namespace
} // namespace ditron
