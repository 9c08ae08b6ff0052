// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libcuda.so.1 for machines that have none, which does what it is asked to: memory is the host's,
// and kernels are executed by the emulator of PTX (test/unit/emulator). Whole programs run on it.
//
// A stream is a queue of copies and launches. Whoever waits for one executes: the work of all
// streams, in the order of each. Launches of a kernel of several ranks are executed together, so the
// others are waited for, and after a while no longer. Where the ranks are processes, each executes
// its own as it comes, on a thread beside; the memory that they share is a memory file.
//
// FakeCalls.cpp has the calls of which nothing is expected but success.
#include "../unit/emulator/Emulator.h"
#include "ditron/abi/KernelInfo.h"
#include "ditron/abi/LaunchWords.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <variant>

namespace {

namespace abi = ditron::abi;
namespace emulator = ditron::emulator;
using abi::KernelInfo;

constexpr int kFailed = 719;    // CUDA_ERROR_LAUNCH_FAILED
constexpr int kRefused = 801;   // CUDA_ERROR_NOT_SUPPORTED
constexpr uint64_t kTick = 100; // ns of the clock for a step of a program
constexpr int kSms = 8;         // enough for ranks that share the GPU
constexpr auto kPatience = std::chrono::seconds(20);

struct Module {
  std::string ptx;
  KernelInfo info;
};

struct Launch {
  const Module *module;
  emulator::Launch launch;
  /// Of ranks, where the kernel has several.
  int64_t ranks() const {
    return module->info.isDistributed
               ? launch.words[launch.words.size() - abi::kLaunchWords + abi::kRanks]
               : 1;
  }
};

using Work = std::variant<std::function<void()>, Launch>;

struct Stream {
  std::deque<Work> queue;
  std::shared_ptr<std::vector<Work>> captured; ///< not null: launches are recorded
};

struct Driver {
  std::mutex mutex;
  std::condition_variable changed;
  Stream standard;
  std::map<void *, std::unique_ptr<Stream>> streams;
  std::deque<emulator::TensorMap> maps;
  bool isExecuting = false;
  bool peersAreProcesses = false; ///< memory of others is mapped, and a thread executes
  uint64_t executed = 0;          ///< launches, or groups of them
  uint64_t seed = 1;
  int status = 0;

  Stream &stream(void *handle) {
    auto found = streams.find(handle);
    return found == streams.end() ? standard : *found->second;
  }
  void enqueue(void *handle, Work work) {
    std::lock_guard guard(mutex);
    Stream &to = stream(handle);
    if (to.captured)
      to.captured->push_back(std::move(work));
    else
      to.queue.push_back(std::move(work));
    changed.notify_all();
  }
};

Driver &driver() {
  static Driver &one = *new Driver;
  return one;
}

/// The streams whose next launch is of this module, with that launch taken.
std::vector<Launch> takeAll(const std::string &ptx) {
  std::vector<Launch> taken;
  for (auto &[handle, stream] : driver().streams) {
    auto *launch = stream->queue.empty() ? nullptr : std::get_if<Launch>(&stream->queue.front());
    if (!launch || launch->module->ptx != ptx)
      continue;
    taken.push_back(std::move(*launch));
    stream->queue.pop_front();
  }
  return taken;
}

int64_t countAll(const std::string &ptx) {
  int64_t count = 0;
  for (auto &[handle, stream] : driver().streams)
    if (auto *launch =
            stream->queue.empty() ? nullptr : std::get_if<Launch>(&stream->queue.front()))
      count += launch->module->ptx == ptx;
  return count;
}

void execute(const std::vector<Launch> &launches) {
  try {
    if (!launches[0].module->info.isDistributed)
      return emulator::execute(launches[0].module->ptx, launches[0].launch);
    if (driver().peersAreProcesses)
      return emulator::executeAmongProcesses(launches[0].module->ptx, launches[0].launch);
    std::vector<std::vector<emulator::Launch>> together;
    for (const Launch &one : launches)
      together.push_back({one.launch});
    emulator::executeTogether(launches[0].module->ptx, together, kTick);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "emulator: %s\n", error.what());
    driver().status = kFailed;
  }
}

/// Executes what a stream begins with; the lock is released meanwhile.
void advance(Stream &stream, std::unique_lock<std::mutex> &lock) {
  Driver &d = driver();
  std::vector<Launch> launches;
  if (auto *copy = std::get_if<std::function<void()>>(&stream.queue.front())) {
    (*copy)();
    stream.queue.pop_front();
    d.changed.notify_all();
    return;
  }
  auto &first = std::get<Launch>(stream.queue.front());
  if (int64_t ranks = first.ranks(); ranks > 1 && !d.peersAreProcesses) {
    std::string ptx = first.module->ptx;
    uint64_t executed = d.executed;
    auto isOver = [&] { return d.isExecuting || d.executed != executed; };
    d.changed.wait_for(lock, kPatience, [&] { return isOver() || countAll(ptx) >= ranks; });
    if (isOver()) // perhaps this launch with others
      return;
    launches = takeAll(ptx);
  } else {
    launches.push_back(std::move(first));
    stream.queue.pop_front();
  }
  d.isExecuting = true;
  lock.unlock();
  execute(launches);
  lock.lock();
  d.isExecuting = false;
  ++d.executed;
  d.changed.notify_all();
}

/// The stream whose turn it is: copies first, then launches in the order of the program, which is the
/// same in all processes; null: there is nothing to do.
Stream *next() {
  Stream *found = nullptr;
  uint64_t least = UINT64_MAX;
  auto look = [&](Stream &stream) {
    if (stream.queue.empty())
      return;
    auto *launch = std::get_if<Launch>(&stream.queue.front());
    uint64_t order = launch ? launch->launch.seed : 0;
    if (order < least)
      found = &stream, least = order;
  };
  look(driver().standard);
  for (auto &[handle, stream] : driver().streams)
    look(*stream);
  return found;
}

/// Executes what comes, for ever.
void serve() {
  Driver &d = driver();
  std::unique_lock lock(d.mutex);
  for (;;) {
    Stream *stream = d.isExecuting ? nullptr : next();
    if (stream)
      advance(*stream, lock);
    else
      d.changed.wait(lock);
  }
}

/// From here on launches do not wait for those of the other ranks.
void meetProcesses() {
  std::lock_guard guard(driver().mutex);
  if (!std::exchange(driver().peersAreProcesses, true))
    std::thread(serve).detach();
}

/// Waits for a stream.
int finish(Stream &stream) {
  Driver &d = driver();
  std::unique_lock lock(d.mutex);
  while (!stream.queue.empty() || d.isExecuting) {
    if (d.isExecuting || d.peersAreProcesses)
      d.changed.wait(lock);
    else
      advance(stream, lock);
  }
  return d.status;
}

int finishAll() {
  std::vector<Stream *> all;
  {
    std::lock_guard guard(driver().mutex);
    for (auto &[handle, stream] : driver().streams)
      all.push_back(stream.get());
  }
  for (Stream *stream : all)
    finish(*stream);
  return driver().status;
}

template <class T> T *at(uint64_t address) { return reinterpret_cast<T *>(address); }

void copyLater(void *stream, void *to, const void *from, size_t bytes) {
  driver().enqueue(stream, std::function<void()>([=] { std::memcpy(to, from, bytes); }));
}

struct Event {
  std::chrono::steady_clock::time_point time;
  void *stream = nullptr;
};

struct Graph {
  std::shared_ptr<std::vector<Work>> work;
};

} // namespace

extern "C" {

int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGetName(char *name, int size, int) {
  std::strncpy(name, "Emulated GPU", size_t(size));
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  constexpr int kMajor = 75, kSmCount = 16, kMinor = 76;
  *value = attribute == kMajor ? 9 : attribute == kMinor ? 0 : attribute == kSmCount ? kSms : 1;
  return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = size_t(1) << 30, 0; }
int cuMemGetInfo_v2(size_t *available, size_t *total) {
  *available = *total = size_t(1) << 30;
  return 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  constexpr size_t kAlignment = 512;
  *address = reinterpret_cast<uint64_t>(
      std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
  return 0;
}
int cuMemFree_v2(uint64_t address) {
  finishAll();
  std::free(at<void>(address));
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  std::memcpy(at<void>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  std::memcpy(to, at<void>(from), bytes);
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  copyLater(stream, at<void>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  copyLater(stream, to, at<void>(from), bytes);
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  copyLater(stream, at<void>(to), at<void>(from), bytes);
  return 0;
}
int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
  std::memset(at<void>(address), value, bytes);
  return 0;
}
int cuCtxSynchronize() { return finishAll(); }

// Memory of several GPUs: one range of addresses.
int cuMemGetAllocationGranularity(size_t *bytes, const void *, int) { return *bytes = 65536, 0; }
int cuMemAddressReserve(uint64_t *address, size_t bytes, size_t, uint64_t, unsigned long long) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *address = reinterpret_cast<uint64_t>(memory);
  return memory == MAP_FAILED ? kFailed : 0;
}
int cuMemAddressFree(uint64_t address, size_t bytes) { return munmap(at<void>(address), bytes); }
// A handle of memory is a memory file. EMULATED_CUDA=threads: none is handed to other processes.
int cuMemCreate(unsigned long long *handle, size_t bytes, const void *properties,
                unsigned long long) {
  const char *variable = std::getenv("EMULATED_CUDA");
  bool isShared = static_cast<const int *>(properties)[1] != 0;
  if (isShared && variable && std::string_view(variable) == "threads")
    return kRefused;
  int file = memfd_create("emulated-cuda", MFD_CLOEXEC);
  *handle = static_cast<unsigned long long>(file);
  return file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0 ? kFailed : 0;
}
int cuMemRelease(unsigned long long handle) { return close(static_cast<int>(handle)); }
int cuMemExportToShareableHandle(void *shared, unsigned long long handle, int, unsigned long long) {
  int file = dup(static_cast<int>(handle));
  std::memcpy(shared, &file, sizeof(file));
  return file < 0 ? kFailed : 0;
}
int cuMemImportFromShareableHandle(unsigned long long *handle, void *shared, int) {
  meetProcesses();
  int file = dup(static_cast<int>(reinterpret_cast<intptr_t>(shared)));
  *handle = static_cast<unsigned long long>(file);
  return file < 0 ? kFailed : 0;
}
int cuMemMap(uint64_t address, size_t bytes, size_t, unsigned long long handle,
             unsigned long long) {
  void *memory = mmap(at<void>(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      static_cast<int>(handle), 0);
  return memory == MAP_FAILED ? kFailed : 0;
}
int cuMemUnmap(uint64_t address, size_t bytes) {
  finishAll();
  void *memory = mmap(at<void>(address), bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return memory == MAP_FAILED ? kFailed : 0;
}

// Code and launches.
int cuModuleLoadDataEx(void **module, const void *code, unsigned, int *, void **) {
  std::string ptx = static_cast<const char *>(code);
  constexpr std::string_view kBegin = "// ditron ";
  std::string line = ptx.substr(kBegin.size(), ptx.find('\n') - kBegin.size());
  *module = new Module{ptx, abi::fromText(line)};
  return 0;
}
int cuModuleUnload(void *module) {
  finishAll();
  delete static_cast<Module *>(module);
  return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *) {
  *function = module;
  return 0;
}
int cuFuncGetAttribute(int *value, int, void *) { return *value = 32, 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int, size_t) {
  return *blocks = 1, 0;
}
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const void *) {
  *clusters = kSms / int(static_cast<Module *>(function)->info.cluster);
  return 0;
}
int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                           const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                           const uint32_t *, int, int, int, int) {
  constexpr int kTf32 = 11;
  static constexpr int64_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4};
  emulator::TensorMap made{
      static_cast<uint8_t *>(address), kBytes[type], {}, {}, {}, type == kTf32};
  for (uint32_t dim = rank; dim-- > 0;) { // theirs are innermost first
    made.extents.push_back(int64_t(extents[dim]));
    made.strides.push_back(dim == 0 ? 1 : int64_t(strides[dim - 1]) / made.elementBytes);
    made.box.push_back(box[dim]);
  }
  std::lock_guard guard(driver().mutex);
  driver().maps.push_back(made);
  const emulator::TensorMap *kept = &driver().maps.back();
  std::memcpy(map, &kept, sizeof(kept));
  return 0;
}
int cuLaunchKernelEx(const void *config, void *function, void **parameters, void **) {
  struct Config {
    unsigned grid[3], block[3], sharedBytes;
    void *stream;
  };
  const auto &asked = *static_cast<const Config *>(config);
  const auto *module = static_cast<Module *>(function);
  size_t words = 0; // parameters of the entry point that are no tensor maps
  for (size_t found = 0; (found = module->ptx.find("\t.param .", found)) != std::string::npos;
       ++found)
    ++words;
  words -= module->info.tensorMaps.size();
  Launch made{module, {}};
  for (size_t n = 0; n < words; ++n)
    made.launch.words.push_back(*static_cast<int64_t *>(parameters[n]));
  for (size_t n = 0; n < module->info.tensorMaps.size(); ++n)
    made.launch.maps.push_back(**static_cast<const emulator::TensorMap **>(parameters[words + n]));
  made.launch.blocks = int(asked.grid[0]), made.launch.threads = int(asked.block[0]);
  made.launch.sharedBytes = int(asked.sharedBytes);
  made.launch.cluster = int(module->info.cluster);
  {
    std::lock_guard guard(driver().mutex);
    made.launch.seed = driver().seed++;
  }
  driver().enqueue(asked.stream, std::move(made));
  return 0;
}

// Streams, events, graphs.
int cuStreamCreate(void **stream, unsigned) {
  std::lock_guard guard(driver().mutex);
  auto made = std::make_unique<Stream>();
  *stream = made.get();
  driver().streams[*stream] = std::move(made);
  return 0;
}
int cuStreamSynchronize(void *stream) {
  Stream *found;
  {
    std::lock_guard guard(driver().mutex);
    found = &driver().stream(stream);
  }
  return finish(*found);
}
int cuStreamDestroy_v2(void *stream) {
  cuStreamSynchronize(stream);
  std::lock_guard guard(driver().mutex);
  driver().streams.erase(stream);
  return 0;
}
int cuEventCreate(void **event, unsigned) { return *event = new Event, 0; }
int cuEventDestroy_v2(void *event) { return delete static_cast<Event *>(event), 0; }
int cuEventRecord(void *event, void *stream) {
  auto *one = static_cast<Event *>(event);
  one->stream = stream;
  driver().enqueue(stream,
                   std::function<void()>([one] { one->time = std::chrono::steady_clock::now(); }));
  return 0;
}
int cuEventSynchronize(void *event) {
  return cuStreamSynchronize(static_cast<Event *>(event)->stream);
}
int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  std::chrono::duration<float, std::milli> passed =
      static_cast<Event *>(end)->time - static_cast<Event *>(begin)->time;
  *milliseconds = passed.count();
  return 0;
}
int cuStreamWaitEvent(void *stream, void *event, unsigned) {
  return cuEventSynchronize(event); // work of another stream, which may as well be done now
}
int cuStreamBeginCapture_v2(void *stream, int) {
  std::lock_guard guard(driver().mutex);
  driver().stream(stream).captured = std::make_shared<std::vector<Work>>();
  return 0;
}
int cuStreamEndCapture(void *stream, void **graph) {
  std::lock_guard guard(driver().mutex);
  *graph = new Graph{std::exchange(driver().stream(stream).captured, nullptr)};
  return 0;
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  *executable = new Graph(*static_cast<Graph *>(graph));
  return 0;
}
int cuGraphLaunch(void *executable, void *stream) {
  for (const Work &work : *static_cast<Graph *>(executable)->work)
    driver().enqueue(stream, work);
  return 0;
}
int cuGraphDestroy(void *graph) { return delete static_cast<Graph *>(graph), 0; }
int cuGraphExecDestroy(void *graph) { return delete static_cast<Graph *>(graph), 0; }
int cuGetErrorName(int, const char **text) { return *text = "CUDA_ERROR_LAUNCH_FAILED", 0; }
int cuGetErrorString(int, const char **text) {
  *text = "the emulator found a fault, and said which on stderr";
  return 0;
}
}
