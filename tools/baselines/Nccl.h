// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's library of collectives, loaded when it is there: what kernels of several ranks on GPUs are
// timed beside. NVLink multicast stays off.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/runtime/nvidia/Gpu.h"
#include "ditron/support/MeshAxes.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ditron::baselines {

/// Ranks of a run, as the library knows them.
class Communicator {
public:
  /// The one of this rank and those on a line with it, which count by their places, made at the first call in this process and kept until it ends; collective,
  /// and the same on all ranks. The library comes from the folder that DITRON_NCCL_DIR names, else as
  /// the loader finds it. Null where some rank has none or ranks share a GPU, and `why` then says so.
  /// RuntimeError where the library does not start.
  static std::shared_ptr<const Communicator> of(const Context &context, const MeshAxes::Line &line,
                                                std::string &why);
  ~Communicator();

  /// "2.28.9"
  std::string version() const;

  // Collectives, enqueued on a stream of the rank's GPU. Addresses are of its memory, counts are of
  // elements. RuntimeError with the library's words.

  /// `count` elements of every rank, in the order of the ranks.
  void allGather(uint64_t from, uint64_t to, int64_t count, DType type,
                 const runtime::nvidia::Stream &stream) const;
  /// The sum of all ranks' part for this rank: of `count` elements for each, in their order.
  void reduceScatter(uint64_t from, uint64_t to, int64_t count, DType type,
                     const runtime::nvidia::Stream &stream) const;
  /// The sum of all ranks' `count` elements.
  void allReduce(uint64_t from, uint64_t to, int64_t count, DType type,
                 const runtime::nvidia::Stream &stream) const;

  /// The root's `count` elements.
  void broadcast(uint64_t from, uint64_t to, int64_t count, DType type, int root,
                 const runtime::nvidia::Stream &stream) const;

  /// What goes to a peer, or comes from it.
  struct Message {
    int peer;
    uint64_t address;
    int64_t bytes;
  };
  /// Sends and receives that go on together, those of a pair of ranks in their order. Empty messages
  /// are left out on both sides.
  void exchange(const std::vector<Message> &sent, const std::vector<Message> &received,
                const runtime::nvidia::Stream &stream) const;

  struct Api; ///< the library's functions

private:
  Communicator(const Api &api, int ranks) : api_(api), ranks_(ranks) {}
  const Api &api_;
  void *handle_ = nullptr;
  int ranks_;
};

/// Loads the library, if it is there, and turns multicast off in this process's environment. To be
/// called while there is one thread: others may read the environment.
void loadNccl();

/// Whether the library adds elements of a type.
bool isSummedByNccl(DType type);

} // namespace ditron::baselines
