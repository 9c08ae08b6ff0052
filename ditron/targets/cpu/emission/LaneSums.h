// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/emission/LaneProducts.h"

namespace ditron::cpu {

/// Adds the lanes of several vectors together, halves of vectors first. Vectors are joined as soon
/// as there are two with equally many sums, so few registers hold them. A sum is of halves of its
/// vector, then of quarters, and so on, whatever others it is computed with.
class LaneSums {
public:
  /// `count` vectors are to come: a power of two, up to the lanes of one.
  LaneSums(VectorBuilder &v, const LaneProducts &products, int64_t count)
      : v_(v), products_(products), count_(count) {}

  /// The sum of these lanes will be lane `number` of the result.
  void add(mlir::Value vector, int64_t number);
  /// The sums of the vectors that have come, all of them.
  mlir::Value finish();

private:
  /// Sums on their way to one lane each: a vector has groups of neighbouring lanes, and the lanes of
  /// a group add up to one sum.
  struct Groups {
    mlir::Value vector;
    llvm::SmallVector<int64_t> sums; ///< their numbers, in the order of the groups

    int64_t lanes() const;
    int64_t width() const { return lanes() / static_cast<int64_t>(sums.size()); }
  };
  /// Where half of each group of two vectors goes.
  struct Halves {
    llvm::SmallVector<int64_t> lanes, sums;
  };
  static Halves halvesOf(const Groups &x, const Groups *y, bool isSecond);
  Groups joined(const Groups &x, const Groups *y);

  VectorBuilder &v_;
  LaneProducts products_;
  int64_t count_;
  llvm::SmallVector<Groups> left_; ///< with fewer sums from one to the next
};

} // namespace ditron::cpu
