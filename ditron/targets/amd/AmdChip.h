// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The chips of AMD that code is made for. Their names stand in Chip.cpp and nowhere else.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace ditron::amd {

struct Chip {
  std::string_view name;    ///< of the target: "gfx942"
  int64_t lanes;            ///< of a wavefront
  int64_t ldsBytes;         ///< that a workgroup may have
  int64_t vectorRegisters;  ///< that instructions of a thread reach: VGPRs
  int64_t registers;        ///< of a CU, of 4 bytes
  int64_t threads;          ///< of a CU
  int64_t clockNanoseconds; ///< that a tick of the constant clock takes
  int64_t computeUnits;     ///< of a large device with this chip
  /// Of CDNA: MFMA takes twice the terms in 8 bits, and f32 rounded to 10 bits of mantissa.
  bool isThirdGeneration;
};

/// Every chip that code is made for, newest first.
const std::vector<Chip> &chips();

} // namespace ditron::amd
