// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/interop/Cuda.h"
#include "ditron/runtime/nvidia/GpuDevice.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>

namespace ditron::cuda {

using runtime::nvidia::Cuda;
using runtime::nvidia::Gpu;
using runtime::nvidia::GpuDevice;
using runtime::nvidia::GpuStream;

static GpuDevice &deviceOf(const Context &context) {
  auto *device = dynamic_cast<GpuDevice *>(context.device().get());
  if (!device)
    throw UsageError(fmt::format("a context on backend '{}' has no handles of CUDA: expected one "
                                 "on backend 'nvidia'",
                                 context.backend()));
  return *device;
}

Tensor tensor(const Context &context, uint64_t address, DType type, std::vector<int64_t> shape,
              std::vector<int64_t> strides) {
  deviceOf(context);
  return Tensor::borrow(context.device(), reinterpret_cast<void *>(address), type, std::move(shape),
                        std::move(strides));
}

Stream stream(const Context &context, void *handle) {
  return {context.device(), deviceOf(context).borrowStream(handle)};
}

void *handle(const Stream &stream) {
  auto *gpu = dynamic_cast<GpuStream *>(&stream.handle());
  if (!gpu)
    throw UsageError("a stream of another backend has no handle of CUDA");
  return gpu->driver().handle();
}

uint64_t address(const Tensor &tensor) { return reinterpret_cast<uint64_t>(tensor.data()); }

int ordinal(const Context &context) { return deviceOf(context).driver()->number(); }

std::pair<int, int> capability(const Context &context) {
  const auto &driver = deviceOf(context).driver();
  return {driver->major(), driver->minor()};
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> result;
  for (int n = 0; n < Cuda::get().devices(); ++n) {
    auto device = Gpu::open(n);
    result.push_back(
        {device->name(), {device->major(), device->minor()}, device->sms(), device->memoryBytes()});
  }
  return result;
}

int driverVersion() { return Cuda::get().version(); }

} // namespace ditron::cuda
