// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/baselines/Nccl.h"
#include "ditron/interop/Cuda.h"
#include "ditron/runtime/Gather.h"
#include "ditron/runtime/nvidia/GpuDevice.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace ditron::baselines {

using runtime::nvidia::Stream;

namespace {

// Numbers of the library's interface.
constexpr int kBytes = 0; // a type of one byte, for what is only moved
constexpr int kSum = 0;   // an operation
struct UniqueId {
  char bytes[128];
};

/// The number of a type whose elements are added.
int typeNumber(DType type) {
  switch (type) {
  case DType::i8:
    return 0;
  case DType::i32:
    return 2;
  case DType::i64:
    return 4;
  case DType::f16:
    return 6;
  case DType::f32:
    return 7;
  case DType::bf16:
    return 9;
  default:
    return -1;
  }
}

void *at(uint64_t address) { return reinterpret_cast<void *>(address); }

} // namespace

struct Communicator::Api {
  int (*getVersion)(int *version);
  int (*getUniqueId)(UniqueId *id);
  int (*initRank)(void **communicator, int ranks, UniqueId id, int rank);
  int (*destroy)(void *communicator);
  const char *(*errorString)(int status);
  int (*allGather)(const void *from, void *to, size_t count, int type, void *communicator,
                   void *stream);
  int (*reduceScatter)(const void *from, void *to, size_t count, int type, int operation,
                       void *communicator, void *stream);
  int (*allReduce)(const void *from, void *to, size_t count, int type, int operation,
                   void *communicator, void *stream);
  int (*broadcast)(const void *from, void *to, size_t count, int type, int root, void *communicator,
                   void *stream);
  int (*send)(const void *from, size_t count, int type, int peer, void *communicator, void *stream);
  int (*receive)(void *to, size_t count, int type, int peer, void *communicator, void *stream);
  int (*groupStart)();
  int (*groupEnd)();

  /// Null where the library or one of its functions is missing.
  static const Api *load() {
    static std::unique_ptr<Api> api = open();
    return api.get();
  }
  void check(int status, const char *call) const {
    if (status != 0)
      throw RuntimeError(fmt::format("{}: {}", call, errorString(status)));
  }

private:
  static std::unique_ptr<Api> open() {
    setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/1); // no multicast, whatever the caller has set
    std::string folder = envString("DITRON_NCCL_DIR").value_or("");
    std::string path = folder.empty() ? "libnccl.so.2" : folder + "/libnccl.so.2";
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto api = std::make_unique<Api>();
    return library && api->bind(library) ? std::move(api) : nullptr;
  }
  bool bind(void *library) {
    bool isWhole = true;
    auto get = [&](const char *name, auto &function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      isWhole &= function != nullptr;
    };
    get("ncclGetVersion", getVersion);
    get("ncclGetUniqueId", getUniqueId);
    get("ncclCommInitRank", initRank);
    get("ncclCommDestroy", destroy);
    get("ncclGetErrorString", errorString);
    get("ncclAllGather", allGather);
    get("ncclReduceScatter", reduceScatter);
    get("ncclAllReduce", allReduce);
    get("ncclBroadcast", broadcast);
    get("ncclSend", send);
    get("ncclRecv", receive);
    get("ncclGroupStart", groupStart);
    get("ncclGroupEnd", groupEnd);
    return isWhole;
  }
};

//===-- The communicator ----------------------------------------------------------------------===//

/// Those of this process, by the line of ranks, and rank. They are never destroyed: when a process
/// ends, the driver may be gone before them.
static std::shared_ptr<const Communicator> &slot(const MeshAxes::Line &line, int rank) {
  using Key = std::tuple<int64_t, int64_t, int>;
  static std::mutex lock;
  static auto &all = *new std::map<Key, std::shared_ptr<const Communicator>>;
  std::lock_guard guard(lock);
  return all[{line.stride, line.extent, rank}];
}

/// Whether two ranks of this host have the same GPU; collective.
static bool shareGpus(const Context &context) {
  auto identity = runtime::nvidia::Gpu::identityOf(cuda::ordinal(context));
  auto all =
      runtime::gather<unsigned char>(context.runtimeRank(), {identity.begin(), identity.end()});
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) != all.end();
}

std::shared_ptr<const Communicator> Communicator::of(const Context &context,
                                                     const MeshAxes::Line &line, std::string &why) {
  runtime::Rank &rank = context.runtimeRank();
  std::shared_ptr<const Communicator> &kept = slot(line, context.rank());
  if (kept)
    return kept;
  const Api *api = Api::load();
  bool isEverywhere = true;
  for (const auto &other : runtime::gather<int>(rank, {api != nullptr}))
    isEverywhere &= other[0] != 0;
  if (!isEverywhere) {
    why = "no libnccl.so.2 is found (DITRON_NCCL_DIR or LD_LIBRARY_PATH says where it is)";
    return nullptr;
  }
  if (shareGpus(context)) {
    why = "ranks share a GPU, which NCCL refuses";
    return nullptr;
  }
  UniqueId id = {};
  int64_t place = line.placeOf(context.rank()), first = line.rankAt(context.rank(), 0);
  if (place == 0)
    api->check(api->getUniqueId(&id), "ncclGetUniqueId");
  id = runtime::gather<UniqueId>(rank, {id})[size_t(first)][0];
  auto ranks = static_cast<int>(line.extent);
  std::shared_ptr<Communicator> made(new Communicator(*api, ranks));
  dynamic_cast<runtime::nvidia::GpuDevice &>(*context.device()).driver()->use();
  api->check(api->initRank(&made->handle_, ranks, id, static_cast<int>(place)), "ncclCommInitRank");
  return kept = made;
}

Communicator::~Communicator() {
  if (handle_)
    api_.destroy(handle_);
}

std::string Communicator::version() const {
  int version = 0;
  api_.check(api_.getVersion(&version), "ncclGetVersion");
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

void Communicator::allGather(uint64_t from, uint64_t to, int64_t count, DType type,
                             const Stream &stream) const {
  api_.check(api_.allGather(at(from), at(to), size_t(count) * byteSize(type), kBytes, handle_,
                            stream.handle()),
             "ncclAllGather");
}

void Communicator::reduceScatter(uint64_t from, uint64_t to, int64_t count, DType type,
                                 const Stream &stream) const {
  api_.check(api_.reduceScatter(at(from), at(to), size_t(count), typeNumber(type), kSum, handle_,
                                stream.handle()),
             "ncclReduceScatter");
}

void Communicator::allReduce(uint64_t from, uint64_t to, int64_t count, DType type,
                             const Stream &stream) const {
  api_.check(api_.allReduce(at(from), at(to), size_t(count), typeNumber(type), kSum, handle_,
                            stream.handle()),
             "ncclAllReduce");
}

void Communicator::broadcast(uint64_t from, uint64_t to, int64_t count, DType type, int root,
                             const Stream &stream) const {
  api_.check(api_.broadcast(at(from), at(to), size_t(count) * byteSize(type), kBytes, root, handle_,
                            stream.handle()),
             "ncclBroadcast");
}

void Communicator::exchange(const std::vector<Message> &sent, const std::vector<Message> &received,
                            const Stream &stream) const {
  api_.check(api_.groupStart(), "ncclGroupStart");
  for (const Message &one : sent)
    if (one.bytes > 0)
      api_.check(
          api_.send(at(one.address), size_t(one.bytes), kBytes, one.peer, handle_, stream.handle()),
          "ncclSend");
  for (const Message &one : received)
    if (one.bytes > 0)
      api_.check(api_.receive(at(one.address), size_t(one.bytes), kBytes, one.peer, handle_,
                              stream.handle()),
                 "ncclRecv");
  api_.check(api_.groupEnd(), "ncclGroupEnd");
}

void loadNccl() { Communicator::Api::load(); }

bool isSummedByNccl(DType type) { return typeNumber(type) >= 0; }

} // namespace ditron::baselines
