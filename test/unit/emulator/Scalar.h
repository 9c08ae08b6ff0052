// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What scalar instructions of PTX compute, in bits.
#pragma once
#include "Ptx.h"

namespace ditron::emulator {

/// What a load gives a register: signed integers are extended to its width.
uint64_t asLoaded(const Instruction &load, uint64_t bits);
/// An integer of a type as it reads these bits of a register.
int64_t integer(Word type, unsigned bits, uint64_t value);

/// The bits of a float as an element of "bf16" or "f16", rounded to nearest.
uint16_t narrow(Word type, float value);
/// The same of a number that a float may not hold: rounded once.
uint16_t narrowOnce(Word type, long double value);
/// The value of an element of these, or of "e4m3", "e5m2", "s8" or "tf32", as a float.
float widen(Word type, uint32_t bits);

/// Whether registers hold one float: "f64", "f32", "f16" or "bf16".
bool isFloat(Word type);
/// The float in a register, and back, rounded to nearest. Fault for types of none.
double number(Word type, uint64_t bits);
uint64_t ofNumber(Word type, double value);

/// The type of both elements of a register: "f16" of "f16x2"; an empty word of other types.
Word halfOf(Word type);
/// What an instruction on floats of 16 bits computes, and one on two elements in a register.
uint64_t ofHalves(const Instruction &instruction, Word type, const std::vector<uint64_t> &sources);
uint64_t ofPairs(const Instruction &instruction, Word half, const std::vector<uint64_t> &sources);
/// What one on integers of a type computes, above whose bits there may be others.
uint64_t arithmetic(const Instruction &instruction, Word type, unsigned bits,
                    const std::vector<uint64_t> &sources);

/// The result of an instruction whose sources have these bits; Fault naming one that is not known.
uint64_t compute(const Instruction &instruction, const std::vector<uint64_t> &sources);

} // namespace ditron::emulator
