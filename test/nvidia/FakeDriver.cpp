// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libcuda.so.1 for machines that have none: every call succeeds and does nothing, memory is the
// host's, but for what FAKE_CUDA asks for:
//
//   old       a driver for CUDA 11.8
//   none      no device
//   ancient   a device of capability 7.5
//   memory    allocations fail
//   code      the driver's assembler refuses a kernel's code
//   stuck     code is loaded without end
//   room      no block of a kernel fits an SM
//   launch    a launch fails
//   fault     the kernel does, as is found later
//   late      a launch never ends, and whatever waits for the whole device does not either
//
// LaunchTest.cpp asks it what it was called with, by the functions whose names begin with `fake`.
// FakeCalls.cpp has the calls of which nothing is expected but success.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>

namespace {

constexpr int kOutOfMemory = 2, kInvalidImage = 200, kNotReady = 600, kBadAddress = 700,
              kBadLaunch = 701;

bool asks(std::string_view what) {
  const char *text = std::getenv("FAKE_CUDA");
  return text && what == text;
}

int launches = 0, encodings = 0, modules = 0;

/// Of what is launched, to who looks and to who waits.
int statusOf() {
  return !launches ? 0 : asks("fault") ? kBadAddress : asks("late") ? kNotReady : 0;
}
int waitForAll() {
  while (statusOf() == kNotReady)
    sleep(1);
  return statusOf();
}
unsigned lastCores = 0;
void **lastParameters = nullptr;
std::string lastCode;

} // namespace

extern "C" {

int cuDriverGetVersion(int *version) {
  *version = asks("old") ? 11080 : 13000;
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = asks("none") ? 0 : 1;
  return 0;
}
int cuDeviceGetName(char *name, int size, int) {
  std::strncpy(name, "Fake GPU", size_t(size));
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  constexpr int kMajor = 75, kMinor = 76, kSmCount = 16;
  *value = attribute == kMajor     ? (asks("ancient") ? 7 : 9)
           : attribute == kMinor   ? (asks("ancient") ? 5 : 0)
           : attribute == kSmCount ? 132
                                   : 1;
  return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = size_t(1) << 30;
  return 0;
}
int cuMemGetInfo_v2(size_t *available, size_t *total) {
  *available = 1000, *total = size_t(1) << 30;
  return 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (asks("memory"))
    return kOutOfMemory;
  *address = reinterpret_cast<uint64_t>(std::calloc(bytes, 1));
  return 0;
}
int cuMemFree_v2(uint64_t address) {
  waitForAll();
  std::free(reinterpret_cast<void *>(address));
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return 0;
}
int cuModuleLoadDataEx(void **, const void *code, unsigned, int *, void **values) {
  while (asks("stuck"))
    usleep(1000);
  lastCode = static_cast<const char *>(code);
  ++modules;
  if (!asks("code"))
    return 0;
  std::strcpy(static_cast<char *>(values[0]), "ptxas fatal   : a word that it does not know");
  return kInvalidImage;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int, size_t) {
  *blocks = asks("room") ? 0 : 1;
  return 0;
}
int cuLaunchKernelEx(const void *config, void *, void **parameters, void **) {
  ++launches;
  lastCores = *static_cast<const unsigned *>(config); // the first extent of the grid
  lastParameters = parameters;
  return asks("launch") ? kBadLaunch : 0;
}
int cuTensorMapEncodeTiled(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                           const uint32_t *, const uint32_t *, int, int, int, int) {
  ++encodings;
  return 0;
}
unsigned fakeCores() { return lastCores; }
const char *fakeCode() { return lastCode.c_str(); }
int fakeLaunches() { return launches; }
int fakeModules() { return modules; }
int fakeEncodings() { return encodings; }
void **fakeParameters() { return lastParameters; }
int cuModuleUnload(void *) { return waitForAll(); }
int cuCtxSynchronize() { return waitForAll(); }
int cuStreamSynchronize(void *stream) { return stream ? waitForAll() : 0; }
int cuStreamQuery(void *) { return statusOf(); }
int cuEventSynchronize(void *) { return waitForAll(); }
int cuEventQuery(void *) { return statusOf(); }
int cuStreamCreate(void **stream, unsigned) { return *stream = &launches, 0; }
int cuEventElapsedTime(float *milliseconds, void *, void *) {
  *milliseconds = 1;
  return 0;
}
int cuGetErrorName(int status, const char **text) {
  *text =
      status == kBadAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
  return 0;
}
int cuGetErrorString(int status, const char **text) {
  *text = status == kBadAddress ? "an illegal memory access was encountered"
                                : "too many resources requested for launch";
  return 0;
}
}
