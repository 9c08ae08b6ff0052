// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "formats/Blocks.h"
#include "ditron/support/Error.h"
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace generate {

static constexpr std::array<FormatTraits, 10> kFormats = {{{"F32", 0, 1, 4},
                                                           {"F16", 1, 1, 2},
                                                           {"BF16", 30, 1, 2},
                                                           {"Q4_0", 2, 32, 18},
                                                           {"Q4_1", 3, 32, 20},
                                                           {"Q5_0", 6, 32, 22},
                                                           {"Q5_1", 7, 32, 24},
                                                           {"Q8_0", 8, 32, 34},
                                                           {"Q4_K", 12, 256, 144},
                                                           {"Q6_K", 14, 256, 210}}};

const FormatTraits &traits(Format format) { return kFormats[static_cast<size_t>(format)]; }

std::optional<Format> formatOfGguf(uint32_t type) {
  for (size_t n = 0; n < kFormats.size(); ++n)
    if (kFormats[n].ggufType == type)
      return static_cast<Format>(n);
  return std::nullopt;
}

std::string ggufTypeName(uint32_t type) {
  constexpr std::array<std::string_view, 40> kNames = {
      "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
      "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
      "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
      "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
      "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};
  std::string_view name = type < kNames.size() ? kNames[type] : "";
  return name.empty() ? fmt::format("{}", type) : fmt::format("{} ({})", name, type);
}

std::string formatNames() {
  std::vector<std::string_view> names;
  for (const FormatTraits &format : kFormats)
    names.push_back(format.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

//===-- One block of each format --------------------------------------------------------------===//

/// What stands unaligned in a file.
template <class T> static T load(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
static float half(const uint8_t *from) { return load<ditron::f16>(from); }

static void decodeF32(const uint8_t *block, float *y) { *y = load<float>(block); }
static void decodeF16(const uint8_t *block, float *y) { *y = half(block); }
static void decodeBf16(const uint8_t *block, float *y) { *y = load<ditron::bf16>(block); }

static constexpr int kHalfBlock = 16;

static void decodeQ41(const uint8_t *block, float *y) {
  float scale = half(block), least = half(block + 2);
  const uint8_t *nibbles = block + 4;
  for (int n = 0; n < kHalfBlock; ++n) {
    y[n] = static_cast<float>(nibbles[n] & 15) * scale + least;
    y[n + kHalfBlock] = static_cast<float>(nibbles[n] >> 4) * scale + least;
  }
}

/// Element n of a block of 5 bits: a nibble, and its fifth bit out of `high`.
static int fiveBits(const uint8_t *nibbles, uint32_t high, int n) {
  int low = n < kHalfBlock ? nibbles[n] & 15 : nibbles[n - kHalfBlock] >> 4;
  return low | static_cast<int>(high >> n & 1) << 4;
}

static void decodeQ51(const uint8_t *block, float *y) {
  float scale = half(block), least = half(block + 2);
  auto high = load<uint32_t>(block + 4);
  for (int n = 0; n < 2 * kHalfBlock; ++n)
    y[n] = static_cast<float>(fiveBits(block + 8, high, n)) * scale + least;
}

ScaledBlock scaledBlock(Format format, const std::byte *block) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(block);
  ScaledBlock result{load<ditron::f16>(bytes), {}};
  bytes += sizeof result.scale;
  if (format == Format::q80) {
    std::memcpy(result.numbers.data(), bytes, result.numbers.size());
    return result;
  }
  bool isOfFive = format == Format::q50;
  uint32_t high = isOfFive ? load<uint32_t>(bytes) : 0;
  const uint8_t *nibbles = isOfFive ? bytes + sizeof high : bytes;
  for (int n = 0; n < 2 * kHalfBlock; ++n)
    result.numbers[size_t(n)] =
        static_cast<int8_t>(fiveBits(nibbles, high, n) - (isOfFive ? 16 : 8));
  return result;
}

template <Format format> static void decodeScaled(const uint8_t *block, float *y) {
  ScaledBlock scaled = scaledBlock(format, reinterpret_cast<const std::byte *>(block));
  for (int8_t number : scaled.numbers)
    *y++ = static_cast<float>(number) * static_cast<float>(scaled.scale);
}

/// Scale and minimum of part n of 8, of 6 bits each: four of both in the low bits of 8 bytes, the
/// other four in the nibbles of the last 4 bytes and the top bits of the others.
static std::array<int, 2> scaleAndLeast(const uint8_t *packed, int n) {
  if (n < 4)
    return {packed[n] & 63, packed[n + 4] & 63};
  return {(packed[n + 4] & 15) | (packed[n - 4] >> 6) << 4, (packed[n + 4] >> 4) | (packed[n] >> 6)
                                                                                       << 4};
}

static void decodeQ4K(const uint8_t *block, float *y) {
  constexpr int kPart = 32;
  float scale = half(block), least = half(block + 2);
  const uint8_t *nibbles = block + 16;
  for (int part = 0; part < 8; ++part) {
    auto [partScale, partLeast] = scaleAndLeast(block + 4, part);
    float step = scale * static_cast<float>(partScale);
    float base = least * static_cast<float>(partLeast);
    const uint8_t *bytes = nibbles + part / 2 * kPart;
    for (int n = 0; n < kPart; ++n)
      y[part * kPart + n] =
          step * static_cast<float>(part % 2 ? bytes[n] >> 4 : bytes[n] & 15) - base;
  }
}

static void decodeQ6K(const uint8_t *block, float *y) {
  const uint8_t *low = block, *high = block + 128, *scales = block + 192;
  float scale = half(block + 208);
  for (int n = 0; n < 256; ++n) {
    // In each half of the block, 4 groups of 32 share bytes: two by nibble, all four by their two
    // high bits.
    int side = n / 128, group = n % 128 / 32, lane = n % 32;
    int byte = low[side * 64 + group % 2 * 32 + lane];
    int bits = (group < 2 ? byte & 15 : byte >> 4) | (high[side * 32 + lane] >> (2 * group) & 3)
                                                         << 4;
    float step = scale * static_cast<float>(static_cast<int8_t>(scales[n / 16]));
    y[n] = step * static_cast<float>(bits - 32);
  }
}

using Decoder = void (*)(const uint8_t *, float *);
static Decoder decoderOf(Format format) {
  constexpr Decoder decoders[] = {decodeF32,  decodeF16,
                                  decodeBf16, decodeScaled<Format::q40>,
                                  decodeQ41,  decodeScaled<Format::q50>,
                                  decodeQ51,  decodeScaled<Format::q80>,
                                  decodeQ4K,  decodeQ6K};
  static_assert(std::size(decoders) == kFormats.size());
  return decoders[static_cast<size_t>(format)];
}

void dequantise(Format format, std::span<const std::byte> blocks, std::span<float> values) {
  const FormatTraits &size = traits(format);
  int64_t count = static_cast<int64_t>(values.size()) / size.elements;
  if (count * size.elements != std::ssize(values) || count * size.bytes != std::ssize(blocks))
    throw ditron::InternalError(
        fmt::format("{} bytes of {} for {} elements", blocks.size(), size.name, values.size()));
  Decoder decode = decoderOf(format);
  const auto *from = reinterpret_cast<const uint8_t *>(blocks.data());
  for (int64_t n = 0; n < count; ++n)
    decode(from + n * size.bytes, values.data() + n * size.elements);
}

//===-- Tensors -------------------------------------------------------------------------------===//

std::optional<int64_t> countElements(std::span<const int64_t> shape) {
  constexpr int64_t kMost = int64_t(1) << 48;
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 1 || size > kMost / count)
      return std::nullopt;
    count *= size;
  }
  return count;
}

int64_t StoredTensor::elements() const { return countElements(shape).value_or(0); }

std::string StoredTensor::describeShape() const {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::span<const std::byte> rowsOf(const StoredTensor &tensor, int64_t rows, int64_t first,
                                  int64_t end) {
  auto rowBytes = tensor.bytes.size() / size_t(rows);
  return tensor.bytes.subspan(size_t(first) * rowBytes, size_t(end - first) * rowBytes);
}

} // namespace generate
