// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/Gpu.h"
#include "ditron/support/StartThread.h"
#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <map>
#include <thread>
#include <utility>

namespace ditron::runtime::nvidia {

namespace {

// Numbers of the driver's interface.
constexpr int kSmCount = 16, kMajor = 75, kMinor = 76; // attributes of devices
constexpr int kRegisters = 4, kDynamicSharedBytes = 8; // attributes of functions
constexpr int kClusterExtents = 4, kBeginsEarly = 6;   // attributes of launches
constexpr int kDependentLaunchInGraphs = 12030;        // the first version whose graphs do
constexpr int kErrorLog = 5, kErrorLogBytes = 6;       // options of the assembler
constexpr unsigned kNonBlocking = 1;                   // a stream of its own
constexpr unsigned kDisablesTiming = 2;                // of an event
constexpr int kOutOfMemory = 2, kNotReady = 600;

} // namespace

//===-- Gpu --------------------------------------------------------------------------------===//

static int numberOf(const Cuda &cuda, int ordinal) {
  if (ordinal < 0 || ordinal >= cuda.devices())
    throw UnavailableError(
        fmt::format("GPU {} is asked for, but there are {}", ordinal, cuda.devices()));
  int device = 0;
  DITRON_CUDA(cuda, cuDeviceGet, &device, ordinal);
  return device;
}

static int attributeOf(const Cuda &cuda, int which, int device) {
  int value = 0;
  DITRON_CUDA(cuda, cuDeviceGetAttribute, &value, which, device);
  return value;
}

std::pair<int, int> Gpu::capability(int ordinal) {
  const Cuda &cuda = Cuda::get();
  int device = numberOf(cuda, ordinal);
  return {attributeOf(cuda, kMajor, device), attributeOf(cuda, kMinor, device)};
}

std::string Gpu::nameOf(int ordinal) {
  const Cuda &cuda = Cuda::get();
  char name[256] = {};
  DITRON_CUDA(cuda, cuDeviceGetName, name, int(sizeof(name)), numberOf(cuda, ordinal));
  return name;
}

Gpu::Identity Gpu::identityOf(int ordinal) {
  const Cuda &cuda = Cuda::get();
  Identity identity{};
  DITRON_CUDA(cuda, cuDeviceGetUuid_v2, identity.data(), numberOf(cuda, ordinal));
  return identity;
}

Gpu::Gpu(int ordinal)
    : cuda_(Cuda::get()), device_(numberOf(cuda_, ordinal)), name_(nameOf(ordinal)) {
  major_ = attribute(kMajor), minor_ = attribute(kMinor);
  sms_ = attribute(kSmCount);
  DITRON_CUDA(cuda_, cuDeviceTotalMem_v2, &memoryBytes_, device_);
  DITRON_CUDA(cuda_, cuDevicePrimaryCtxRetain, &context_, device_);
}

Gpu::~Gpu() { cuda_.cuDevicePrimaryCtxRelease_v2(device_); }

std::shared_ptr<Gpu> Gpu::open(int ordinal) {
  static std::mutex mutex;
  // Not destroyed: the driver may be gone by then.
  static auto &opened = *new std::map<int, std::shared_ptr<Gpu>>;
  std::lock_guard guard(mutex);
  std::shared_ptr<Gpu> &device = opened[ordinal];
  if (!device)
    device.reset(new Gpu(ordinal));
  return device;
}

int Gpu::attribute(int which) const { return attributeOf(cuda_, which, device_); }

const Cuda &Gpu::use() const {
  DITRON_CUDA(cuda_, cuCtxSetCurrent, context_);
  return cuda_;
}

size_t Gpu::availableBytes() const {
  size_t available = 0, total = 0;
  DITRON_CUDA(use(), cuMemGetInfo_v2, &available, &total);
  return available;
}

//===-- Bounded waits -------------------------------------------------------------------------===//

/// Looks as closely as the driver's own waits do while that can matter, then ever more rarely: at most
/// a hundredth of the time is lost.
static int look(const Cuda &cuda, const std::function<int(const Cuda &)> &query,
                std::chrono::milliseconds bound) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kClosely{10}, kLongest{1};
  Clock::time_point begin = Clock::now();
  for (;;) {
    int status = query(cuda);
    auto passed = Clock::now() - begin;
    if (status != kNotReady || passed > bound)
      return status;
    if (passed > kClosely)
      std::this_thread::sleep_for(std::min<Clock::duration>(passed / 256, kLongest));
    else
      std::this_thread::yield();
  }
}

void Gpu::await(void *stream, const std::function<int(const Cuda &)> &query) const {
  bool isKnown = isOverdue();
  int status = look(use(), query, isKnown ? std::chrono::milliseconds(0) : launchBound());
  if (status != kNotReady)
    return cuda_.check(status, "waiting for a launch");
  if (!isKnown)
    noteOverdue(stream);
  refuseToWait();
}

bool Gpu::returns(std::function<void(const Cuda &)> calls) const {
  auto task = std::make_shared<std::packaged_task<void()>>(
      [this, calls = std::move(calls)] { calls(use()); });
  std::future<void> done = task->get_future();
  startThread("the thread that waits for a GPU", [task] { (*task)(); }).detach();
  if (done.wait_for(launchBound()) != std::future_status::ready)
    return false;
  done.get();
  return true;
}

void Gpu::settle() const { DITRON_CUDA(use(), cuStreamSynchronize, nullptr); }

void Gpu::awaitAll() const {
  if (!returns([](const Cuda &cuda) { DITRON_CUDA(cuda, cuCtxSynchronize); }))
    refuseToWait();
}

void Gpu::refuseToWait() const {
  throw OverdueError(fmt::format("a launch on {} runs for longer than {} ms, the bound of a launch "
                                 "(DITRON_LAUNCH_TIMEOUT_MS), and computes on",
                                 name_, launchBound().count()));
}

void Gpu::noteOverdue(void *stream) const {
  void *event = nullptr;
  DITRON_CUDA(use(), cuEventCreate, &event, kDisablesTiming);
  DITRON_CUDA(use(), cuEventRecord, event, stream);
  std::lock_guard guard(lock_);
  overdue_.push_back(event);
}

bool Gpu::isOverdue() const {
  std::lock_guard guard(lock_);
  std::erase_if(overdue_, [&](void *event) {
    bool isOver = cuda_.cuEventQuery(event) != kNotReady;
    if (isOver)
      cuda_.cuEventDestroy_v2(event);
    return isOver;
  });
  return !overdue_.empty();
}

//===-- Memory --------------------------------------------------------------------------------===//

Memory::Memory(std::shared_ptr<Gpu> device, size_t bytes, std::string_view what)
    : device_(std::move(device)), bytes_(bytes) {
  const Cuda &cuda = device_->use();
  int status = cuda.cuMemAlloc_v2(&address_, bytes ? bytes : 1);
  if (status == kOutOfMemory)
    throw RuntimeError(fmt::format("{} has not enough memory{}{}: {} bytes asked for, {} available",
                                   device_->name(), what.empty() ? "" : " for ", what, bytes,
                                   device_->availableBytes()));
  cuda.check(status, "cuMemAlloc_v2");
}

Memory::Memory(Memory &&other) noexcept
    : device_(std::move(other.device_)), address_(std::exchange(other.address_, 0)),
      bytes_(other.bytes_) {}

Memory::~Memory() {
  if (address_ && !device_->isOverdue())
    device_->use().cuMemFree_v2(address_);
}

void Memory::upload(const void *from) const {
  DITRON_CUDA(device_->use(), cuMemcpyHtoD_v2, address_, from, bytes_);
  device_->settle();
}
void Memory::download(void *to) const {
  DITRON_CUDA(device_->use(), cuMemcpyDtoH_v2, to, address_, bytes_);
}
void Memory::fill(unsigned char byte, size_t bytes) const {
  DITRON_CUDA(device_->use(), cuMemsetD8_v2, address_, byte, bytes);
  device_->settle();
}

//===-- Streams and events --------------------------------------------------------------------===//

Stream::Stream(std::shared_ptr<Gpu> device) : device_(std::move(device)) {
  DITRON_CUDA(device_->use(), cuStreamCreate, &stream_, kNonBlocking);
}
Stream::Stream(std::shared_ptr<Gpu> device, void *handle)
    : device_(std::move(device)), stream_(handle), isBorrowed_(true) {}
Stream Stream::borrow(std::shared_ptr<Gpu> device, void *handle) {
  return Stream(std::move(device), handle);
}
Stream::Stream(Stream &&other) noexcept
    : device_(other.device_), stream_(other.stream_),
      isBorrowed_(std::exchange(other.isBorrowed_, true)) {}
Stream::~Stream() {
  if (!isBorrowed_)
    device_->use().cuStreamDestroy_v2(stream_);
}
bool Stream::isCaptured() const {
  int status = 0; // of CUstreamCaptureStatus: none
  DITRON_CUDA(device_->use(), cuStreamIsCapturing, stream_, &status);
  return status != 0;
}
void Stream::wait() const {
  device_->await(stream_, [this](const Cuda &cuda) { return cuda.cuStreamQuery(stream_); });
}
bool Stream::isDone() const { return device_->use().cuStreamQuery(stream_) != kNotReady; }
void Stream::waitFor(const Event &event) const {
  DITRON_CUDA(device_->use(), cuStreamWaitEvent, stream_, event.handle(), 0u);
}

Event::Event(std::shared_ptr<Gpu> device, bool isTimed) : device_(std::move(device)) {
  DITRON_CUDA(device_->use(), cuEventCreate, &event_, isTimed ? 0 : kDisablesTiming);
}
Event::~Event() { device_->use().cuEventDestroy_v2(event_); }
void Event::record(const Stream &stream) const {
  DITRON_CUDA(device_->use(), cuEventRecord, event_, stream.handle());
  stream_ = stream.handle();
}
void Event::wait() const {
  device_->await(stream_, [this](const Cuda &cuda) { return cuda.cuEventQuery(event_); });
}
double Event::secondsSince(const Event &begin) const {
  begin.wait();
  wait();
  const Cuda &cuda = device_->use();
  float milliseconds = 0;
  DITRON_CUDA(cuda, cuEventElapsedTime, &milliseconds, begin.event_, event_);
  return milliseconds * 1e-3;
}

//===-- Kernels -------------------------------------------------------------------------------===//

/// Code that was loaded, until a kernel has it.
struct LoadedKernel::Code {
  explicit Code(std::shared_ptr<Gpu> on) : device(std::move(on)) {}
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;
  ~Code() {
    if (module && !device->isOverdue())
      device->use().cuModuleUnload(module);
  }

  std::shared_ptr<Gpu> device;
  void *module = nullptr, *function = nullptr;
  int registers = 0;
};

void LoadedKernel::load(const Cuda &cuda, const std::string &image, const Launch &launch,
                        Code &code) {
  std::string log(8192, '\0');
  int options[] = {kErrorLog, kErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  int status = cuda.cuModuleLoadDataEx(&code.module, image.c_str(), 2, options, values);
  if (status != 0 && log[0])
    throw RuntimeError(fmt::format("the driver refuses a kernel's code: {}", log.c_str()));
  cuda.check(status, "cuModuleLoadDataEx");
  DITRON_CUDA(cuda, cuModuleGetFunction, &code.function, code.module, launch.entry.c_str());
  DITRON_CUDA(cuda, cuFuncSetAttribute, code.function, kDynamicSharedBytes, launch.sharedBytes);
  DITRON_CUDA(cuda, cuFuncGetAttribute, &code.registers, kRegisters, code.function);
}

LoadedKernel::LoadedKernel(std::shared_ptr<Gpu> device, const std::string &image, Launch launch)
    : device_(std::move(device)), launch_(std::move(launch)) {
  auto code = std::make_shared<Code>(device_);
  if (!device_->returns(
          [code, image, launch = launch_](const Cuda &cuda) { load(cuda, image, launch, *code); }))
    throw RuntimeError(fmt::format("the driver loads a kernel's code on {} for longer than {} ms, "
                                   "the bound of a launch (DITRON_LAUNCH_TIMEOUT_MS)",
                                   device_->name(), device_->launchBound().count()));
  function_ = code->function, registers_ = code->registers;
  cores_ = countCores();
  module_ = std::exchange(code->module, nullptr);
}

namespace {

/// One attribute of a launch: its number, and 64 bytes of value.
struct LaunchAttribute {
  int number = 0;
  alignas(8) uint32_t value[16] = {};
};

/// What the driver takes for a launch.
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, sharedBytes = 0;
  void *stream = nullptr;
  LaunchAttribute *attributes = nullptr;
  unsigned attributeCount = 0;
};

/// A launch of `cores` CTAs, with what it points to.
struct DescribedLaunch {
  DescribedLaunch(const LoadedKernel::Launch &launch, int cores, bool dependentLaunch) {
    config.grid[0] = static_cast<unsigned>(cores);
    config.block[0] = static_cast<unsigned>(launch.threads);
    config.sharedBytes = static_cast<unsigned>(launch.sharedBytes);
    config.attributes = attributes;
    if (launch.cluster > 1)
      add(kClusterExtents, {static_cast<uint32_t>(launch.cluster), 1, 1});
    if (dependentLaunch)
      add(kBeginsEarly, {1});
  }
  DescribedLaunch(const DescribedLaunch &) = delete;
  DescribedLaunch &operator=(const DescribedLaunch &) = delete;

  LaunchConfig config;

private:
  void add(int number, std::initializer_list<uint32_t> value) {
    LaunchAttribute &attribute = attributes[config.attributeCount++];
    attribute.number = number;
    std::copy(value.begin(), value.end(), attribute.value);
  }
  LaunchAttribute attributes[2];
};

} // namespace

int LoadedKernel::countCores() const {
  const Cuda &cuda = device_->use();
  int blocks = 0, clusters = 0;
  DITRON_CUDA(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, function_,
              launch_.threads, size_t(launch_.sharedBytes));
  int cores = blocks * device_->sms();
  if (blocks > 0 && launch_.cluster > 1) {
    DescribedLaunch described(launch_, cores / launch_.cluster * launch_.cluster, false);
    DITRON_CUDA(cuda, cuOccupancyMaxActiveClusters, &clusters, function_, &described.config);
    cores = clusters * launch_.cluster;
  }
  if (cores == 0)
    throw RuntimeError(fmt::format(
        "{} block(s) of {} threads side by side, with {} registers a thread and {} bytes of shared "
        "memory each, do not fit {}",
        launch_.cluster, launch_.threads, registers_, launch_.sharedBytes, device_->name()));
  return cores;
}

LoadedKernel::~LoadedKernel() {
  if (!device_->isOverdue())
    device_->use().cuModuleUnload(module_);
}

LaunchParameters::LaunchParameters(std::vector<int64_t> words, std::vector<TensorMap> maps)
    : words_(std::move(words)), maps_(std::move(maps)) {
  for (int64_t &word : words_)
    addresses_.push_back(&word);
  for (TensorMap &map : maps_)
    addresses_.push_back(map.data());
}

void LoadedKernel::launch(const LaunchParameters &parameters, const Stream &stream, int cores,
                          bool isSeparate) const {
  const Cuda &cuda = device_->use();
  bool dependentLaunch =
      launch_.dependentLaunch && !isSeparate && cuda.version() >= kDependentLaunchInGraphs;
  DescribedLaunch described(launch_, cores ? cores : cores_, dependentLaunch);
  described.config.stream = stream.handle();
  DITRON_CUDA(cuda, cuLaunchKernelEx, &described.config, function_, parameters.data(), nullptr);
}

} // namespace ditron::runtime::nvidia
