// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ditron::runtime {

/// What a core did beside computing.
struct CoreStats {
  uint64_t waitNs = 0;     ///< in waits and barriers
  uint64_t transferNs = 0; ///< in put and get
  uint64_t bytesPut = 0;
  uint64_t bytesGot = 0;
  uint64_t presentNs = 0; ///< from the start of the kernel on the core to its end
  uint64_t cpuNs = 0;     ///< of these, with a CPU; 0 where it was not taken

  /// The part of the time in which the cores did not wait for which they had a CPU; nothing where
  /// it was not taken. It is taken where a host has more core threads than CPUs.
  std::optional<double> cpuShare() const {
    if (cpuNs == 0 || presentNs <= waitNs)
      return std::nullopt;
    return std::min(1.0, double(cpuNs) / double(presentNs - waitNs));
  }

  CoreStats &operator+=(const CoreStats &other) {
    waitNs += other.waitNs;
    transferNs += other.transferNs;
    bytesPut += other.bytesPut;
    bytesGot += other.bytesGot;
    presentNs += other.presentNs;
    cpuNs += other.cpuNs;
    return *this;
  }
};

/// How long a rank transferred, and how much of it behind computation: see Account.h.
struct TransferTime {
  uint64_t transferNs = 0; ///< in which at least one core was in put or get
  uint64_t hiddenNs = 0;   ///< of these, in which another core computed
  uint64_t dropped = 0;    ///< events that the logs had no room for; the times end before the first

  /// In which no core of the rank computed.
  uint64_t exposedNs() const { return transferNs - hiddenNs; }

  TransferTime &operator+=(const TransferTime &other) {
    transferNs += other.transferNs;
    hiddenNs += other.hiddenNs;
    dropped += other.dropped;
    return *this;
  }
};

/// One launch on one rank.
struct LaunchStats {
  double seconds = 0;                     ///< from the first core's start to the last core's end
  CoreStats cores;                        ///< summed over the cores
  TransferTime transfers;                 ///< of the rank's time
  std::vector<std::string> warnings = {}; ///< what is odd about it: see reference::Result
};

} // namespace ditron::runtime
