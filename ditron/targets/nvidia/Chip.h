// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the passes of this backend ask a chip. Names of chips stand in Chip.cpp and nowhere else.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::nvidia {

struct Chip {
  std::string_view name;     ///< of the target: "sm_90a"
  int major, minor;          ///< compute capability
  std::string_view features; ///< of LLVM's code generator: the version of PTX
  int64_t sharedBytes;       ///< that a block may have
  /// Warpgroups (4 warps) multiply tiles in shared memory (wgmma), TMA fills it
  /// (cp.async.bulk.tensor), and warps hand registers to one another (setmaxnreg).
  bool hasWarpgroups;
  /// Programmatic dependent launch (PDL): a launch may begin while the one before it in its stream
  /// runs (griddepcontrol).
  bool hasDependentLaunch;

  /// What tiles are chosen by: elements of the largest accumulator of f32 whose products of 16-bit
  /// floats go at full speed, and SMs of a large device with this chip.
  int64_t accumulator, sms;

  int64_t coreRegisters = 64 * 1024; ///< of 4 bytes, that the threads of a block share

  /// The most registers of 4 bytes that the values of one thread may take together; beyond, tiles
  /// are refused before the assembler spills.
  int64_t registers = 255;

  /// Whether its code runs on a device of this compute capability.
  bool runsOn(int deviceMajor, int deviceMinor) const;
  /// What one of `ctas` CTAs per SM has of it; 0 is as good as 1.
  Chip share(int64_t ctas) const;
};

/// Every chip that code is made for, newest first.
const std::vector<Chip> &chips();
/// The chip of that name, or none.
const Chip *findChip(std::string_view name);
/// The chip whose code runs on a device of this compute capability, or none.
const Chip *chipFor(int major, int minor);

} // namespace ditron::nvidia
