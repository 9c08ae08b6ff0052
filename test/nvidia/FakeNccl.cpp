// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libnccl.so.2 on the memory of the host, for the driver that emulates: the collectives that
// benchmarks take as baselines, between ranks that are threads of one process. A call waits for its
// stream, meets the other ranks, and does its part at once; nothing of it can be recorded in a graph.
#include "ditron/support/DType.h"
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace {

using namespace ditron;

struct UniqueId {
  char bytes[128];
};

struct Message {
  bool isSent;
  int peer;
  void *address;
  size_t bytes;
};

/// All ranks. There is one group at a time of a number of ranks.
struct Group {
  std::mutex lock;
  std::condition_variable changed;
  size_t arrived = 0, generation = 0;
  std::vector<const void *> from;             ///< by rank
  std::vector<std::vector<Message>> messages; ///< likewise

  void meet() {
    std::unique_lock guard(lock);
    size_t own = generation;
    if (++arrived == from.size()) {
      arrived = 0, ++generation;
      changed.notify_all();
    }
    changed.wait(guard, [&] { return generation != own; });
  }
};

struct Communicator {
  Group *group;
  int rank;
};

thread_local std::vector<Message> pending;
thread_local Communicator *owner = nullptr;
thread_local void *pendingStream = nullptr;

size_t bytesOf(int type) { return type < 2 ? 1 : type < 4 || type == 7 ? 4 : type < 6 ? 8 : 2; }

void waitFor(void *stream) {
  static auto synchronize = reinterpret_cast<int (*)(void *)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamSynchronize"));
  synchronize(stream);
}

/// Elements [first, first + count) of the sum, in the order of the ranks.
template <class T> void addAll(const Group &group, void *to, size_t first, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    float sum = 0;
    for (const void *part : group.from)
      sum += float(static_cast<const T *>(part)[first + n]);
    static_cast<T *>(to)[n] = T(sum);
  }
}

int sum(const void *from, void *to, size_t first, size_t count, int type, Communicator *c,
        void *stream) {
  constexpr int kF16 = 6, kF32 = 7, kBf16 = 9;
  waitFor(stream);
  c->group->from[size_t(c->rank)] = from;
  c->group->meet();
  std::vector<char> result(count * bytesOf(type)); // sums may replace the parts
  if (type == kF32)
    addAll<float>(*c->group, result.data(), first, count);
  else if (type == kF16)
    addAll<f16>(*c->group, result.data(), first, count);
  else if (type == kBf16)
    addAll<bf16>(*c->group, result.data(), first, count);
  else
    return 4; // an argument that is not known
  c->group->meet();
  std::memcpy(to, result.data(), result.size());
  return 0;
}

/// The bytes of the message that meets the n-th one from `peer`.
const Message *find(const std::vector<Message> &sent, int rank, size_t n) {
  for (const Message &one : sent)
    if (one.isSent && one.peer == rank && n-- == 0)
      return &one;
  return nullptr;
}

} // namespace

extern "C" {

const char *ncclGetErrorString(int) { return "the library's stand-in does not know that"; }
int ncclGetVersion(int *version) { return *version = 22809, 0; }
int ncclGetUniqueId(UniqueId *id) {
  auto *group = new Group;
  pid_t process = getpid();
  std::memcpy(id->bytes, &group, sizeof(group));
  std::memcpy(id->bytes + sizeof(group), &process, sizeof(process));
  return std::getenv("NCCL_NVLS_ENABLE") && *std::getenv("NCCL_NVLS_ENABLE") == '0' ? 0 : 5;
}
int ncclCommInitRank(void **communicator, int ranks, UniqueId id, int rank) {
  Group *group = nullptr;
  pid_t process = 0;
  std::memcpy(&group, id.bytes, sizeof(group));
  std::memcpy(&process, id.bytes + sizeof(group), sizeof(process));
  if (process != getpid())
    return 5; // ranks of several processes
  {
    std::lock_guard guard(group->lock);
    group->from.resize(size_t(ranks));
    group->messages.resize(size_t(ranks));
  }
  group->meet();
  *communicator = new Communicator{group, rank};
  return 0;
}
int ncclCommDestroy(void *) { return 0; }

int ncclAllGather(const void *from, void *to, size_t count, int type, Communicator *c,
                  void *stream) {
  waitFor(stream);
  size_t bytes = count * bytesOf(type);
  c->group->from[size_t(c->rank)] = from;
  c->group->meet();
  for (size_t rank = 0; rank < c->group->from.size(); ++rank)
    std::memcpy(static_cast<char *>(to) + rank * bytes, c->group->from[rank], bytes);
  c->group->meet();
  return 0;
}
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int, Communicator *c,
                      void *stream) {
  return sum(from, to, size_t(c->rank) * count, count, type, c, stream);
}
int ncclAllReduce(const void *from, void *to, size_t count, int type, int, Communicator *c,
                  void *stream) {
  return sum(from, to, 0, count, type, c, stream);
}
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, Communicator *c,
                  void *stream) {
  waitFor(stream);
  c->group->from[size_t(c->rank)] = from;
  c->group->meet();
  std::memcpy(to, c->group->from[size_t(root)], count * bytesOf(type));
  c->group->meet();
  return 0;
}

int ncclGroupStart() { return pending.clear(), 0; }
int ncclSend(const void *from, size_t count, int type, int peer, Communicator *c, void *stream) {
  pending.push_back({true, peer, const_cast<void *>(from), count * bytesOf(type)});
  return owner = c, pendingStream = stream, 0;
}
int ncclRecv(void *to, size_t count, int type, int peer, Communicator *c, void *stream) {
  pending.push_back({false, peer, to, count * bytesOf(type)});
  return owner = c, pendingStream = stream, 0;
}
int ncclGroupEnd() {
  if (pending.empty())
    return 0;
  waitFor(pendingStream);
  Group &group = *owner->group;
  group.messages[size_t(owner->rank)] = pending;
  group.meet();
  std::vector<size_t> seen(group.from.size());
  int status = 0;
  for (const Message &one : pending) {
    if (one.isSent)
      continue;
    const Message *sent =
        find(group.messages[size_t(one.peer)], owner->rank, seen[size_t(one.peer)]++);
    if (sent && sent->bytes == one.bytes)
      std::memcpy(one.address, sent->address, one.bytes);
    else
      status = 4;
  }
  group.meet();
  return status;
}
}
