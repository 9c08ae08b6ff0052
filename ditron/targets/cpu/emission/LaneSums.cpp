// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/LaneSums.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

int64_t LaneSums::Groups::lanes() const {
  return cast<VectorType>(vector.getType()).getNumElements();
}

/// The first or second halves of the groups of x and y, or of x alone. Groups up to 128 bits stay in
/// their part of the vector, and larger ones go one after the other: each of these is one instruction.
LaneSums::Halves LaneSums::halvesOf(const Groups &x, const Groups *y, bool isSecond) {
  constexpr int64_t kPart = 4; // lanes of 128 bits
  int64_t width = x.width(), half = width / 2, lanes = x.lanes();
  int64_t part = y && width <= kPart ? kPart : lanes;
  Halves result;
  for (int64_t start = 0; start < lanes; start += part)
    for (const Groups *source : {&x, y})
      for (int64_t group = start; source && group < start + part; group += width) {
        result.sums.push_back(source->sums[group / width]);
        for (int64_t n = 0; n < half; ++n)
          result.lanes.push_back((source == y) * lanes + group + (isSecond ? half : 0) + n);
      }
  return result;
}

LaneSums::Groups LaneSums::joined(const Groups &x, const Groups *y) {
  Halves first = halvesOf(x, y, false), second = halvesOf(x, y, true);
  Value other = y ? y->vector : x.vector;
  Value firsts = v_.create<vector::ShuffleOp>(x.vector, other, first.lanes);
  Value seconds = v_.create<vector::ShuffleOp>(x.vector, other, second.lanes);
  return {products_.add(firsts, seconds), first.sums};
}

void LaneSums::add(Value vector, int64_t number) {
  left_.push_back({vector, {number}});
  while (left_.size() > 1 && left_.back().width() == left_.end()[-2].width()) {
    Groups last = left_.pop_back_val();
    left_.back() = joined(left_.back(), &last);
  }
}

Value LaneSums::finish() {
  Groups &all = left_.front();
  while (all.width() > 1)
    all = joined(all, nullptr);
  SmallVector<int64_t> order(count_);
  for (auto [lane, sum] : llvm::enumerate(all.sums))
    order[sum] = static_cast<int64_t>(lane);
  return v_.create<vector::ShuffleOp>(all.vector, all.vector, order);
}

} // namespace ditron::cpu
