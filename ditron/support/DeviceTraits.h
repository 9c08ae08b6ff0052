// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tiles and algorithms are chosen by. A target fills it in; who chooses (ditron/heuristics,
// the tuner's model) asks for nothing else, and for no target by name.
#pragma once
#include <algorithm>
#include <cstdint>

namespace ditron {

struct DeviceTraits {
  //===-- CPUs --------------------------------------------------------------------------------===//
  int64_t vectorBytes = 64; ///< of a vector register

  //===-- GPUs --------------------------------------------------------------------------------===//
  int64_t sms = 0; ///< of a large device; 0: a core is a thread of a CPU
  int64_t lanes = 32;
  /// Groups of four warps multiply tiles that lie in shared memory, and may be two to share
  /// operands by cluster multicast.
  bool hasWarpgroups = false;
  /// A release waits for all that the SM reads, so tasks had better look for what others write.
  bool hasSlowReleases = false;
  /// Elements of the largest f32 accumulator whose products of 16-bit floats go at full speed.
  int64_t accumulator = 128 * 128;

  /// Of an SM, which its CTAs share.
  int64_t registersPerSm = 64 * 1024, sharedBytesPerSm = 0, threadsPerSm = 2048, ctasPerSm = 32;
  int64_t registersPerThread = 255; ///< at most
  int64_t threadsPerCta = 1024;     ///< at most
  int64_t reservedBytesPerCta = 0;  ///< of shared memory, beside what a kernel asks for

  bool isGpu() const { return sms > 0; }
};

} // namespace ditron
