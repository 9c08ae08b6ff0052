// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lanes of a wavefront do together, and what a lane asks alone, as AMD's "Instinct MI300" instruction set
// architecture has it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ditron::amd_emulator {

inline constexpr size_t kLanes = 64;

/// A call of an intrinsic by one lane. `name` is behind "llvm.amdgcn.".
struct Request {
  std::string_view name;
  void **operands = nullptr;
  void *result = nullptr;

  bool is(std::string_view other) const { return name.starts_with(other); }
  template <class T> T operand(size_t n) const {
    T value;
    std::memcpy(&value, operands[n], sizeof(T));
    return value;
  }
  template <class T> void give(T value) const { std::memcpy(result, &value, sizeof(T)); }
};

/// Whether lanes meet for it.
bool isTogether(const Request &request);
/// The same call of all lanes that are there; null: of one that is not. std::runtime_error where lanes are needed that
/// are not there.
void answer(const std::array<Request *, kLanes> &requests);
/// std::runtime_error where the intrinsic is not known.
void answerAlone(const Request &request, size_t lane);

} // namespace ditron::amd_emulator
