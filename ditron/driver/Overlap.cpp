// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Overlap.h"
#include <algorithm>
#include <numeric>

namespace ditron {

using runtime::Tensor;

namespace {

/// x from 0 to `most`, times `step`.
struct Term {
  int64_t step, most;
};

/// A byte of both tensors is a solution of sum(step * x) = distance, where each x has a range of
/// its own: the indices of the one, those of the other (counted from their ends, so that all signs
/// are the same), and the bytes of two elements.
class CommonByte {
public:
  CommonByte(std::vector<Term> terms, int64_t distance)
      : terms_(std::move(terms)), distance_(distance) {
    std::sort(terms_.begin(), terms_.end(),
              [](const Term &x, const Term &y) { return x.step > y.step; });
    reach_.assign(terms_.size() + 1, 0);
    divisor_.assign(terms_.size() + 1, 0);
    for (size_t n = terms_.size(); n-- > 0;) {
      reach_[n] = reach_[n + 1] + terms_[n].step * terms_[n].most;
      divisor_[n] = std::gcd(divisor_[n + 1], terms_[n].step);
    }
  }

  bool exists() { return exists(0, distance_); }

private:
  bool exists(size_t term, int64_t left) {
    if (left < 0 || left > reach_[term])
      return false;
    if (term == terms_.size())
      return left == 0;
    if (left % divisor_[term] != 0)
      return false;
    if (++steps_ > kMostSteps)
      return true;
    // What the smaller terms cannot reach, this one has to.
    const Term &one = terms_[term];
    int64_t least = std::max<int64_t>(0, (left - reach_[term + 1] + one.step - 1) / one.step);
    int64_t most = std::min(one.most, left / one.step);
    for (int64_t x = most; x >= least; --x)
      if (exists(term + 1, left - x * one.step))
        return true;
    return false;
  }

  static constexpr int kMostSteps = 100'000;
  std::vector<Term> terms_;
  int64_t distance_;
  std::vector<int64_t> reach_, divisor_; ///< of a term and those behind it
  int steps_ = 0;
};

/// Of the bytes between its lowest and its highest element: addresses.
struct Reach {
  int64_t first, end;
};

Reach reachOf(const Tensor &tensor) {
  auto bytes = static_cast<int64_t>(byteSize(tensor.dtype()));
  auto first = reinterpret_cast<int64_t>(tensor.data());
  Reach reach{first, first + bytes};
  for (size_t dim = 0; dim < tensor.shape().size(); ++dim) {
    int64_t span = tensor.strides()[dim] * bytes * (tensor.shape()[dim] - 1);
    (span < 0 ? reach.first : reach.end) += span;
  }
  return reach;
}

/// The address of the tensor's lowest byte. Appends the ranges of its indices, in bytes.
int64_t addTerms(const Tensor &tensor, std::vector<Term> &terms) {
  auto bytes = static_cast<int64_t>(byteSize(tensor.dtype()));
  auto lowest = reinterpret_cast<int64_t>(tensor.data());
  for (size_t dim = 0; dim < tensor.shape().size(); ++dim) {
    int64_t step = tensor.strides()[dim] * bytes, most = tensor.shape()[dim] - 1;
    if (step < 0)
      lowest += step * most;
    if (step != 0 && most > 0)
      terms.push_back({std::abs(step), most});
  }
  return lowest;
}

} // namespace

bool overlap(const Tensor &a, const Tensor &b) {
  if (a.elements() == 0 || b.elements() == 0 || a.device() != b.device())
    return false;
  Reach x = reachOf(a), y = reachOf(b);
  if (x.end <= y.first || y.end <= x.first)
    return false;
  // a.lowest + (indices of a) + (byte of an element) = b.lowest + (the same of b). Those of b move
  // to the left as their most less an x from 0 to it.
  std::vector<Term> terms, others;
  int64_t distance = -addTerms(a, terms);
  distance += addTerms(b, others);
  for (const Term &other : others) {
    distance += other.step * other.most;
    terms.push_back(other);
  }
  auto bytesOfA = static_cast<int64_t>(byteSize(a.dtype()));
  auto bytesOfB = static_cast<int64_t>(byteSize(b.dtype()));
  distance += bytesOfB - 1;
  terms.push_back({1, bytesOfA + bytesOfB - 2});
  return CommonByte(std::move(terms), distance).exists();
}

bool coincide(const Tensor &a, const Tensor &b) {
  return a.data() == b.data() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

} // namespace ditron
