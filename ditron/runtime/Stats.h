// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace ditron::runtime {

/// What a core did beside computing.
struct CoreStats {
  uint64_t waitNs = 0;     ///< in waits and barriers
  uint64_t transferNs = 0; ///< in put and get
  uint64_t bytesPut = 0;
  uint64_t bytesGot = 0;

  CoreStats &operator+=(const CoreStats &other) {
    waitNs += other.waitNs;
    transferNs += other.transferNs;
    bytesPut += other.bytesPut;
    bytesGot += other.bytesGot;
    return *this;
  }
};

/// One launch on one rank.
struct LaunchStats {
  double seconds = 0; ///< from the first core's start to the last core's end
  CoreStats cores;    ///< summed over the cores
};

} // namespace ditron::runtime
