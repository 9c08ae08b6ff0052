// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/CudaDriver.h"
#include "ditron/support/Error.h"
#include <dlfcn.h>
#include <fmt/format.h>

namespace ditron::runtime::nvidia {

/// The first version whose driver knows the PTX that the compiler writes.
static constexpr int kOldest = 12040;

Cuda::Cuda() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw UnavailableError(fmt::format("no NVIDIA driver: {}", dlerror()));
  auto find = [&](const char *name) {
    void *symbol = dlsym(library, name);
    if (!symbol)
      throw UnavailableError(
          fmt::format("the NVIDIA driver has no {}: expected one for CUDA 12.4 or newer", name));
    return symbol;
  };
#define CUDA(name, parameters) name = reinterpret_cast<decltype(name)>(find(#name));
#include "ditron/runtime/nvidia/CudaDriver.def"
  if (int status = cuInit(0); status != 0) {
    const char *text = nullptr;
    cuGetErrorString(status, &text);
    throw UnavailableError(
        fmt::format("the NVIDIA driver does not start: {}", text ? text : "unknown error"));
  }
  check(cuDriverGetVersion(&version_), "cuDriverGetVersion");
  if (version_ < kOldest)
    throw UnavailableError(
        fmt::format("the NVIDIA driver is for CUDA {}.{}, expected 12.4 or newer", version_ / 1000,
                    version_ % 1000 / 10));
  check(cuDeviceGetCount(&devices_), "cuDeviceGetCount");
  if (devices_ == 0)
    throw UnavailableError("the NVIDIA driver finds no GPU");
}

const Cuda &Cuda::get() {
  static const Cuda cuda;
  return cuda;
}

std::string Cuda::whyNot() {
  try {
    get();
  } catch (const UnavailableError &error) {
    return error.what();
  }
  return "";
}

void Cuda::check(int status, const char *call) const {
  if (status == 0)
    return;
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(status, &name);
  cuGetErrorString(status, &text);
  throw RuntimeError(fmt::format("{}: {} ({})", call, text ? text : "unknown error",
                                 name ? name : std::to_string(status)));
}

} // namespace ditron::runtime::nvidia
