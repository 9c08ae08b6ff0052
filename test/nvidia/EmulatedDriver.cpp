// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libcuda.so.1 for machines that have none, which does what it is asked to: memory is the host's,
// and kernels are executed by the emulator of PTX (test/unit/emulator). Whole programs run on it.
//
// Here are memory, code and launches. EmulatedCalls.cpp has the calls of streams, events and graphs,
// EmulatedStreams.h says when work is done. The memory that processes share is a memory file.
//
// EMULATED_GPUS is the number of GPUs, 1 if it is not set; all have the memory of the host.
//
// FakeCalls.cpp has the calls of which nothing is expected but success.
#include "EmulatedStreams.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace {

namespace abi = ditron::abi;
namespace emulator = ditron::emulator;
using namespace ditron::emulated;

constexpr int kSms = 8; // enough for ranks that share the GPU

template <class T> T *at(uint64_t address) { return reinterpret_cast<T *>(address); }

/// CUlaunchAttribute.
struct LaunchAttribute {
  int number;
  alignas(8) uint32_t value[16];
};
static_assert(sizeof(LaunchAttribute) == 72);

/// Whether a launch may begin before those in front of it have ended.
bool beginsEarly(std::span<const LaunchAttribute> attributes) {
  constexpr int kProgrammaticStreamSerialization = 6; // CUlaunchAttributeID
  return std::any_of(attributes.begin(), attributes.end(), [](const LaunchAttribute &one) {
    return one.number == kProgrammaticStreamSerialization && one.value[0] != 0;
  });
}

/// Tensor maps that were encoded: what the program passes on points to one.
const emulator::TensorMap *keep(emulator::TensorMap map) {
  static std::mutex mutex;
  static auto &maps = *new std::deque<emulator::TensorMap>;
  std::lock_guard guard(mutex);
  return &maps.emplace_back(std::move(map));
}

/// Where the memory of a view begins and ends.
std::pair<uint64_t, uint64_t> memoryOf(const abi::KernelInfo &info, size_t number,
                                       std::span<const int64_t> words) {
  const abi::Argument &view = info.arguments.at(number);
  words = words.subspan(abi::firstWord(info.arguments, number));
  auto rank = static_cast<size_t>(view.rank);
  auto begin = static_cast<uint64_t>(words[0]);
  int64_t elements = 1;
  for (size_t dim = 0; dim < rank; ++dim)
    elements += (words[1 + dim] - 1) * words[1 + rank + dim];
  return {begin, begin + static_cast<uint64_t>(elements) * ditron::byteSize(view.type)};
}

} // namespace

extern "C" {

int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *count) {
  const char *variable = std::getenv("EMULATED_GPUS");
  return *count = variable ? std::atoi(variable) : 1, 0;
}
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetUuid_v2(void *uuid, int device) {
  std::memset(uuid, device, 16);
  return 0;
}
int cuDeviceCanAccessPeer(int *can, int, int) { return *can = 1, 0; }
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
  Streams::get().finishAll();
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
int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
  std::memset(at<void>(address), value, bytes);
  return 0;
}

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
  Streams::get().meetProcesses();
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
  Streams::get().finishAll();
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
  Streams::get().finishAll();
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
  const emulator::TensorMap *kept = keep(std::move(made));
  std::memcpy(map, &kept, sizeof(kept));
  return 0;
}
int cuLaunchKernelEx(const void *config, void *function, void **parameters, void **) {
  struct Config {
    unsigned grid[3], block[3], sharedBytes;
    void *stream;
    const LaunchAttribute *attributes;
    unsigned attributeCount;
  };
  const auto &asked = *static_cast<const Config *>(config);
  const auto *module = static_cast<Module *>(function);
  bool isEarly = beginsEarly({asked.attributes, asked.attributeCount});
  if (isEarly && module->ptx.find("griddepcontrol.wait") == std::string::npos) {
    std::fprintf(stderr, "emulated driver: cuLaunchKernelEx: the launch may begin early, expected "
                         "a kernel that waits for those before it\n");
    return kRefused;
  }
  size_t words = 0; // parameters of the entry point that are no tensor maps
  for (size_t found = 0; (found = module->ptx.find("\t.param .", found)) != std::string::npos;
       ++found)
    ++words;
  words -= module->info.tensorMaps.size();
  Launch made{module, {}, isEarly};
  for (size_t n = 0; n < words; ++n)
    made.launch.words.push_back(*static_cast<int64_t *>(parameters[n]));
  const std::vector<int64_t> &ahead = module->info.readAhead;
  for (int64_t number : ahead)
    made.launch.readAhead.push_back(
        memoryOf(module->info, static_cast<size_t>(number), made.launch.words));
  for (size_t n = 0; n < module->info.tensorMaps.size(); ++n) {
    emulator::TensorMap map = **static_cast<const emulator::TensorMap **>(parameters[words + n]);
    map.isReadAhead = std::ranges::find(ahead, module->info.tensorMaps[n].argument) != ahead.end();
    made.launch.maps.push_back(std::move(map));
  }
  made.launch.blocks = int(asked.grid[0]), made.launch.threads = int(asked.block[0]);
  made.launch.sharedBytes = int(asked.sharedBytes);
  made.launch.cluster = int(module->info.cluster);
  Streams::get().count();
  return Streams::get().enqueue(asked.stream, std::move(made));
}
}
