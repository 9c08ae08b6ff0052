// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Wavefront.h"
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace ditron::amd_emulator {

namespace {

using Requests = std::array<Request *, kLanes>;

[[noreturn]] void refuse(const Request &request, const char *why) {
  throw std::runtime_error(std::string(why) + ": " + std::string(request.name));
}

//===-- Lanes read one another ----------------------------------------------------------------===//

/// Each lane gets the word of operand `n` of another one. A lane that is not there has none, and takes none.
void exchange(const Requests &requests, size_t n, const std::function<size_t(size_t lane)> &from) {
  std::array<uint32_t, kLanes> words{};
  for (size_t lane = 0; lane < kLanes; ++lane)
    if (requests[lane])
      words[lane] = requests[lane]->operand<uint32_t>(n);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (!requests[lane])
      continue;
    if (size_t other = from(lane); requests[other])
      requests[lane]->give(words[other]);
    else
      refuse(*requests[lane], "a lane reads one that is not there");
  }
}

void moveInRows(const Requests &requests, const Request &any) {
  constexpr int32_t kRotations = 0x120, kRow = 16;
  auto control = any.operand<int32_t>(2);
  if (any.operand<int32_t>(3) != 0xf || any.operand<int32_t>(4) != 0xf)
    refuse(any, "some rows or banks only");
  if (control < 0x100)
    return exchange(requests, 1, [&](size_t lane) {
      return lane / 4 * 4 + size_t(control >> 2 * (lane % 4) & 3);
    });
  if (control <= kRotations || control >= kRotations + kRow)
    refuse(any, "not a permutation of quads or a rotation of rows");
  auto by = size_t(control - kRotations);
  exchange(requests, 1,
           [&](size_t lane) { return lane / kRow * kRow + (lane + kRow - by) % kRow; });
}

void swizzle(const Requests &requests, const Request &any) {
  constexpr size_t kHalf = 32;
  auto pattern = any.operand<uint32_t>(1);
  if (pattern >> 15)
    refuse(any, "not by masks");
  exchange(requests, 0, [&](size_t lane) {
    size_t within = ((lane % kHalf & pattern) | pattern >> 5) & 31;
    return lane / kHalf * kHalf + (within ^ (pattern >> 10 & 31));
  });
}

void ballot(const Requests &requests) {
  uint64_t lanes = 0;
  for (size_t lane = 0; lane < kLanes; ++lane)
    if (requests[lane] && requests[lane]->operand<uint8_t>(0) & 1)
      lanes |= uint64_t(1) << lane;
  for (Request *request : requests)
    if (request)
      request->give(lanes);
}

//===-- MFMA ----------------------------------------------------------------------------------===//

double ofHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double size = exponent == 0    ? std::ldexp(mantissa, -24)
                : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                 : std::ldexp(1024 + mantissa, exponent - 25);
  return bits >> 15 ? -size : size;
}

float ofTf32(float value) { // to nearest, 10 bits of mantissa
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000) & ~uint32_t(0x1fff));
}

constexpr size_t kRows = 16; ///< of each side

/// One kind of instruction: 16 rows of each side, of which a lane has some neighbouring terms.
struct Kind {
  std::string_view name;
  size_t terms, bytes;                       ///< of a lane, and of one of them
  std::function<double(const void *)> value; ///< of one
  bool isOfIntegers = false;
};

const std::vector<Kind> &kinds() {
  auto read = []<class T>(const void *place, T) {
    T value;
    std::memcpy(&value, place, sizeof(T));
    return value;
  };
  auto byte = [=](const void *place) { return double(read(place, int8_t())); };
  static const std::vector<Kind> all = {
      {"mfma.f32.16x16x16bf16.1k", 4, 2,
       [=](const void *place) {
         return double(std::bit_cast<float>(uint32_t(read(place, uint16_t())) << 16));
       }},
      {"mfma.f32.16x16x16f16", 4, 2,
       [=](const void *place) { return ofHalf(read(place, uint16_t())); }},
      {"mfma.f32.16x16x4f32", 1, 4,
       [=](const void *place) { return double(read(place, float())); }},
      {"mfma.f32.16x16x8.xf32", 2, 4,
       [=](const void *place) { return double(ofTf32(read(place, float()))); }},
      {"mfma.i32.16x16x32.i8", 8, 1, byte, true},
      {"mfma.i32.16x16x16i8", 4, 1, byte, true}};
  return all;
}

/// The terms of 16 rows of an operand, row by row.
std::vector<double> termsOf(const Requests &requests, const Kind &kind, size_t operand) {
  std::vector<double> terms(kLanes * kind.terms);
  for (size_t lane = 0; lane < kLanes; ++lane)
    for (size_t n = 0; n < kind.terms; ++n)
      terms[(lane % kRows * kLanes / kRows + lane / kRows) * kind.terms + n] =
          kind.value(static_cast<const char *>(requests[lane]->operands[operand]) + n * kind.bytes);
  return terms;
}

/// Sums of rows i of the first operand and j of the second one: lane 16 * (i / 4) + j has row i, as element i % 4.
template <class Sum> void multiply(const Requests &requests, const Kind &kind) {
  constexpr size_t kRun = 4;
  size_t depth = kLanes / kRows * kind.terms;
  std::vector<double> first = termsOf(requests, kind, 0), second = termsOf(requests, kind, 1);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    auto sums = requests[lane]->operand<std::array<Sum, kRun>>(2);
    const double *y = &second[lane % kRows * depth];
    for (size_t n = 0; n < kRun; ++n) {
      const double *x = &first[(lane / kRows * kRun + n) * depth];
      sums[n] = Sum(std::inner_product(x, x + depth, y, double(sums[n])));
    }
    requests[lane]->give(sums);
  }
}

void multiply(const Requests &requests, const Request &any) {
  for (const Request *request : requests)
    if (!request)
      refuse(any, "lanes that are not there multiply, too");
  for (const Kind &kind : kinds())
    if (any.name == kind.name)
      return kind.isOfIntegers ? multiply<int32_t>(requests, kind)
                               : multiply<float>(requests, kind);
  refuse(any, "unknown");
}

} // namespace

bool isTogether(const Request &request) {
  for (const char *name :
       {"mfma.", "readlane", "readfirstlane", "update.dpp", "ds.swizzle", "ds.bpermute", "ballot"})
    if (request.is(name))
      return true;
  return false;
}

void answer(const Requests &requests) {
  size_t first = 0;
  while (!requests[first])
    ++first;
  const Request &any = *requests[first];
  if (any.is("mfma."))
    return multiply(requests, any);
  if (any.is("readfirstlane"))
    return exchange(requests, 0, [&](size_t) { return first; });
  if (any.is("readlane"))
    return exchange(requests, 0, [&](size_t) { return size_t(any.operand<int32_t>(1)); });
  if (any.is("update.dpp"))
    return moveInRows(requests, any);
  if (any.is("ds.swizzle"))
    return swizzle(requests, any);
  if (any.is("ds.bpermute"))
    return exchange(requests, 1, [&](size_t lane) {
      return size_t(requests[lane]->operand<int32_t>(0) >> 2) % kLanes;
    });
  ballot(requests);
}

void answerAlone(const Request &request, size_t lane) {
  constexpr size_t kHalf = 32;
  auto below = [&](size_t lanes) { // of the mask's bits
    uint64_t mask = (uint64_t(1) << std::min(lanes, kHalf)) - 1;
    return request.operand<int32_t>(1) +
           std::popcount(request.operand<uint32_t>(0) & uint32_t(mask));
  };
  if (request.is("mbcnt.lo"))
    return request.give(int32_t(below(lane)));
  if (request.is("mbcnt.hi"))
    return request.give(int32_t(below(lane < kHalf ? 0 : lane - kHalf)));
  refuse(request, "unknown");
}

} // namespace ditron::amd_emulator
