// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What scalar instructions of PTX compute, in bits.
#pragma once
#include "Ptx.h"

namespace ditron::emulator {

/// What a load gives a register: signed integers are extended to its width.
uint64_t asLoaded(const Instruction &load, uint64_t bits);
/// The bits of a float as an element of "bf16" or "f16", rounded to nearest.
uint16_t narrow(Word type, float value);
/// The value of an element of these, or of "e4m3", "e5m2", "s8" or "tf32", as a float.
float widen(Word type, uint32_t bits);

/// The result of an instruction whose sources have these bits; Fault naming one that is not known.
uint64_t compute(const Instruction &instruction, const std::vector<uint64_t> &sources);

} // namespace ditron::emulator
