// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every call of the driver that ditron makes, doing nothing: see FakeDriver.cpp.
#include <cstddef>
#include <cstdint>

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define CUDA(name, parameters)                                                                     \
  extern "C" __attribute__((weak)) int name parameters { return 0; }
#include "ditron/runtime/nvidia/CudaDriver.def"
