// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What copy engines do in a launch: the roles of a kernel that are theirs, as steps that the host
// follows once for a set of arguments. What it finds are operations for a stream.
//
// Steps stand in program order. A loop or branch says how many of the steps behind it are its body.
// Numbers are texts of Extent.h, which here may also take the rank, `r`; the variable of the n-th
// loop around the step, `v0` for the outermost; and the stride of a view, `a0.s1`. Symmetric memory
// counts behind the arguments: `a3.0` of a kernel of three arguments is the first buffer's extent.
#pragma once
#include "ditron/abi/Extent.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ditron::abi {

enum class CopyKind : uint8_t { put, notifyAdd, notifySet, wait, loop, branch, require };

struct CopyStep {
  CopyKind kind = CopyKind::put;
  /// put: the arguments of source and destination; notify and wait: the signals.
  std::vector<int64_t> arguments;
  /// put: the peer, the first elements of source and destination, then the extents, the source's
  /// strides and the destination's, in elements. notify: the peer, the counter, the value. wait: the
  /// counter, the value. loop: begin, end and step. branch: the condition. require: the condition,
  /// and the values of the message.
  std::vector<Extent> values;
  int64_t body = 0;      ///< steps of a loop, or of a branch that is taken
  int64_t otherwise = 0; ///< steps behind them, of the branch that is not
  std::string message;   ///< of what is required, with {} for values, its place before it

  template <class Self, class Visit> static void fields(Self &self, Visit &&visit) {
    visit("kind", self.kind);
    visit("arguments", self.arguments);
    visit("values", self.values);
    visit("body", self.body);
    visit("otherwise", self.otherwise);
    visit("message", self.message);
  }
  bool operator==(const CopyStep &) const = default;
};

/// A step with its numbers.
struct CopyAction {
  const CopyStep *step;
  std::vector<int64_t> values;

  /// Of a put.
  size_t rank() const { return (values.size() - 3) / 3; }
  std::span<const int64_t> extents() const { return part(0); }
  std::span<const int64_t> sourceStrides() const { return part(1); }
  std::span<const int64_t> targetStrides() const { return part(2); }

private:
  std::span<const int64_t> part(size_t n) const {
    return std::span(values).subspan(3 + n * rank(), rank());
  }
};

/// What a rank's copy engines do in a launch, in order. `launch.words` are those of the arguments
/// and, behind them, of symmetric memory. CompileError where what is required does not hold, a number
/// cannot be computed, a loop's step is not positive, a peer is none of the ranks, or there are more
/// than `kMostCopyActions`.
std::vector<CopyAction> copyActions(std::span<const CopyStep> steps, const LaunchValues &launch);
inline constexpr size_t kMostCopyActions = 65536;

} // namespace ditron::abi
