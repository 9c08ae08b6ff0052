// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver, loaded when it is asked for: programs run without it as well.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace ditron::runtime::nvidia {

class Cuda {
public:
  /// The driver of this machine, initialised. UnavailableError saying what is missing: the library,
  /// a version of it that is new enough, a device.
  static const Cuda &get();
  /// The same as a text, empty if the driver is there.
  static std::string whyNot();

  /// RuntimeError with the driver's words unless a call succeeded.
  void check(int status, const char *call) const;

  int version() const { return version_; } ///< of CUDA, 12040 for 12.4
  int devices() const { return devices_; }

#define CUDA(name, parameters) int(*name) parameters = nullptr;
#include "ditron/runtime/nvidia/CudaDriver.def"

private:
  Cuda();
  int version_ = 0, devices_ = 0;
};

/// DITRON_CUDA(cuda, cuMemFree_v2, address): a call whose failure is an error.
#define DITRON_CUDA(cuda, name, ...) (cuda).check((cuda).name(__VA_ARGS__), #name)

} // namespace ditron::runtime::nvidia
