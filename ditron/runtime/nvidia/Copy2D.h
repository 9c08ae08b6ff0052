// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>

namespace ditron::runtime::nvidia {

/// The driver's CUDA_MEMCPY2D: rows of bytes between memory of devices and of the host.
struct Copy2D {
  struct Side {
    size_t x = 0, y = 0;
    uint32_t type = kDevice;
    const void *host = nullptr;
    uint64_t device = 0;
    void *array = nullptr;
    size_t pitch = 0; ///< bytes from a row to the next: no fewer than a row has

    static constexpr uint32_t kHost = 1, kDevice = 2;
    static Side at(uint64_t address, size_t pitch, bool isOfHost = false) {
      if (isOfHost)
        return {.type = kHost, .host = reinterpret_cast<const void *>(address), .pitch = pitch};
      return {.device = address, .pitch = pitch};
    }
  };
  Side from, to;
  size_t width, height; ///< bytes of a row, rows
};
static_assert(sizeof(Copy2D) == 128);

} // namespace ditron::runtime::nvidia
