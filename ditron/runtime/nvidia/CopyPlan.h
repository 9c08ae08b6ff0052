// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the copy engines of a GPU do in a launch: copies, and reads and writes of words by the
// stream. Made once for a set of arguments from the program of the kernel (abi/CopyProgram.h);
// enqueued with each launch, on a stream beside that of the kernel, and in graphs.
//
//   stream of the launch   fork   kernel ...................... waits for all notes
//   stream beside               \ credit, copies, notifies, notes
//
// abi/WorkspaceLayout.h says what credits and notes are for. The last operation of a launch is the
// note to the own rank. The kernel ends behind it, so that what is launched next comes behind all
// operations, and nothing joins the streams but where they are captured.
#pragma once
#include "ditron/abi/KernelInfo.h"
#include "ditron/runtime/nvidia/Gpu.h"
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <variant>
#include <vector>

namespace ditron::runtime::nvidia {

class Workspace;

/// An operation of a stream on a word of 64 bits, as the driver has it (CUstreamBatchMemOpParams).
struct WordOperation {
  enum Kind : uint32_t { waitAtLeast = 4, write = 5 };
  uint32_t kind;
  uint32_t padding = 0;
  uint64_t address;
  uint64_t value;
  uint64_t flags = 0;
  uint64_t alias = 0, unused = 0;
};
static_assert(sizeof(WordOperation) == 48);

/// A copy of `height` rows of `width` bytes; pitches are bytes from row to row.
struct Copy {
  uint64_t to, from;
  size_t width, height = 1;
  size_t toPitch = 0, fromPitch = 0;

  bool operator==(const Copy &) const = default;
};

class CopyPlan {
public:
  using Operation = std::variant<Copy, std::vector<WordOperation>>;

  CopyPlan() = default;
  /// Of rank `rank`. `words`: of the arguments and symmetric memory. CompileError where a step cannot
  /// be followed (abi::copyActions), and where the copy engines of two ranks notify one counter:
  /// they write words, and cannot add.
  CopyPlan(const abi::KernelInfo &info, const Workspace &workspace, int rank,
           std::span<const int64_t> words);

  bool isEmpty() const { return operations_.empty(); }
  /// Whether it writes to a rank of which `isNear` is true.
  bool copiesTo(const std::function<bool(int rank)> &isNear) const {
    return std::any_of(targets_.begin(), targets_.end(), isNear);
  }
  const std::vector<Operation> &operations() const { return operations_; }
  /// Those that it was made with; null: it is empty.
  const std::shared_ptr<const std::vector<int64_t>> &words() const { return words_; }
  void enqueue(const Gpu &device, const Stream &stream) const;

private:
  std::vector<Operation> operations_;
  std::set<int> targets_; ///< ranks that it copies to
  std::shared_ptr<const std::vector<int64_t>> words_;
};

/// The stream beside those of a kernel's launches.
class CopyStream {
public:
  explicit CopyStream(const std::shared_ptr<Gpu> &device)
      : device_(device), stream_(device), fork_(device, false), join_(device, false) {}

  /// In front of the launch: what comes behind it in program order waits for what is before it.
  void fork(const Stream &launch) const { fork_.record(launch); }
  /// Behind it: the copy engines begin.
  void follow(const CopyPlan &plan) const;
  /// What is enqueued next waits for them: a capture has to have it said.
  void join(const Stream &launch) const;

private:
  std::shared_ptr<Gpu> device_;
  Stream stream_;
  Event fork_, join_;
};

} // namespace ditron::runtime::nvidia
