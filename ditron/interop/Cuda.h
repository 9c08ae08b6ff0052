// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where programs that use CUDA themselves meet ditron's: its handles, of the device's primary
// context, as arguments and streams of a context on backend `nvidia`.
//
//   Tensor x = cuda::tensor(ctx, reinterpret_cast<CUdeviceptr>(pointer), DType::bf16, {M, K});
//   run.on(cuda::stream(ctx, torchStream))(x, w, y);
#pragma once
#include "ditron/driver/Context.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ditron::cuda {

/// A view of memory of the context's GPU, or that it can reach: a CUdeviceptr, or a pointer of the
/// runtime API. As Tensor::borrow. UsageError where the context is on another backend.
Tensor tensor(const Context &context, uint64_t address, DType type, std::vector<int64_t> shape,
              std::vector<int64_t> strides = {});

/// Another library's stream (a CUstream or cudaStream_t), which must outlive it. It may be one that
/// is being captured.
Stream stream(const Context &context, void *handle);

/// The CUstream of a stream, and the CUdeviceptr of a tensor's first element.
void *handle(const Stream &stream);
uint64_t address(const Tensor &tensor);

/// The number of a context's GPU, as cuDeviceGet takes it, and its compute capability.
int ordinal(const Context &context);
std::pair<int, int> capability(const Context &context);

/// A GPU of this machine.
struct DeviceInfo {
  std::string name;
  std::pair<int, int> capability;
  int sms = 0;
  size_t memoryBytes = 0;
};
/// Those of this machine. UnavailableError saying what is missing: the driver, a device.
std::vector<DeviceInfo> devices();
/// The version of CUDA that the driver is for: 12040 for 12.4.
int driverVersion();

} // namespace ditron::cuda
