// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "formats/GgufParser.h"
#include "ditron/support/Error.h"
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace generate {

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian");

/// Types of values, by their numbers in the file.
enum ValueType : uint32_t {
  u8,
  s8,
  u16,
  s16,
  u32,
  s32,
  real32,
  boolean,
  string,
  list,
  u64,
  s64,
  real64
};

void GgufParser::fail(const std::string &problem) const {
  throw ditron::RuntimeError(
      fmt::format("'{}' is no GGUF file that can be used: {} (at byte {})", path_, problem, at_));
}

template <class T> T GgufParser::number() {
  if (bytes_.size() - at_ < sizeof(T))
    fail(fmt::format("it ends in a number of {} bytes", sizeof(T)));
  T value;
  std::memcpy(&value, bytes_.data() + at_, sizeof value);
  at_ += sizeof value;
  return value;
}

/// A count of things that take at least so many bytes each.
uint64_t GgufParser::count(const char *what, uint64_t leastBytes) {
  auto value = number<uint64_t>();
  if (value > (bytes_.size() - at_) / leastBytes)
    fail(fmt::format("{} {} do not fit the {} bytes behind", value, what, bytes_.size() - at_));
  return value;
}

std::string_view GgufParser::text(const char *what) {
  uint64_t length = count(what, 1);
  std::string_view result(reinterpret_cast<const char *>(bytes_.data() + at_), length);
  at_ += length;
  return result;
}

GgufParser::Counts GgufParser::header() {
  constexpr uint64_t kLeastTensor = 8 + 4 + 8 + 4 + 8, kLeastValue = 8 + 4 + 1;
  if (bytes_.size() < 4 || std::memcmp(bytes_.data(), "GGUF", 4) != 0)
    fail("it does not begin with GGUF");
  at_ = 4;
  auto version = number<uint32_t>();
  if (version == 2U << 24 || version == 3U << 24)
    fail("it is big-endian, expected a little-endian one");
  if (version != 2 && version != 3)
    fail(fmt::format("its version is {}, expected 2 or 3", version));
  uint64_t tensors = count("tensors", kLeastTensor);
  return {tensors, count("keys", kLeastValue)};
}

GgufValue GgufParser::scalar(uint32_t type, const std::string &key) {
  switch (type) {
  case u8:
    return int64_t(number<uint8_t>());
  case s8:
    return int64_t(number<int8_t>());
  case u16:
    return int64_t(number<uint16_t>());
  case s16:
    return int64_t(number<int16_t>());
  case u32:
    return int64_t(number<uint32_t>());
  case s32:
    return int64_t(number<int32_t>());
  case s64:
    return number<int64_t>();
  case real32:
    return double(number<float>());
  case real64:
    return number<double>();
  case boolean:
    return number<uint8_t>() != 0;
  case string:
    return text("bytes of a text");
  case u64:
    break;
  default:
    fail(fmt::format("'{}' has type {}, expected one of 0 to 12", key, type));
  }
  auto value = number<uint64_t>();
  if (value > uint64_t(std::numeric_limits<int64_t>::max()))
    fail(fmt::format("'{}' is {}, expected at most 2^63 - 1", key, value));
  return int64_t(value);
}

/// The bytes that an element of this type takes at least.
static uint64_t leastBytes(uint32_t type) {
  constexpr uint64_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};
  return type < std::size(sizes) ? sizes[type] : 0;
}

GgufValue GgufParser::array(const std::string &key) {
  auto type = number<uint32_t>();
  uint64_t least = leastBytes(type);
  if (least == 0)
    fail(fmt::format("'{}' is a list of type {}, expected one of 0 to 12 but 9", key, type));
  uint64_t length = count("elements", least);
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string_view> texts;
  for (uint64_t n = 0; n < length; ++n) {
    GgufValue value = scalar(type, key);
    if (const auto *integer = std::get_if<int64_t>(&value))
      integers.push_back(*integer);
    else if (const auto *real = std::get_if<double>(&value))
      reals.push_back(*real);
    else if (const auto *flag = std::get_if<bool>(&value))
      integers.push_back(*flag);
    else
      texts.push_back(std::get<std::string_view>(value));
  }
  if (type == string)
    return texts;
  return type == real32 || type == real64 ? GgufValue(reals) : GgufValue(integers);
}

GgufValue GgufParser::value(uint32_t type, const std::string &key) {
  return type == list ? array(key) : scalar(type, key);
}

std::pair<std::string, GgufValue> GgufParser::keyAndValue() {
  std::string key(text("bytes of a key"));
  auto type = number<uint32_t>();
  return {key, value(type, key)};
}

GgufParser::Placed GgufParser::tensor() {
  StoredTensor result;
  result.name = text("bytes of a name");
  auto dims = number<uint32_t>();
  if (dims < 1 || dims > 4)
    fail(fmt::format("tensor '{}' has {} dimensions, expected 1 to 4", result.name, dims));
  for (uint32_t d = 0; d < dims; ++d)
    result.shape.insert(result.shape.begin(), std::bit_cast<int64_t>(number<uint64_t>()));
  if (!countElements(result.shape))
    fail(fmt::format("tensor '{}' has the shape {}", result.name, result.describeShape()));
  auto type = number<uint32_t>();
  std::optional<Format> format = formatOfGguf(type);
  if (!format)
    fail(fmt::format("tensor '{}' is of type {}, expected that of {}", result.name,
                     ggufTypeName(type), formatNames()));
  result.format = *format;
  if (result.shape.back() % traits(*format).elements != 0)
    fail(fmt::format("tensor '{}' has rows of {} elements, expected a multiple of {} for {}",
                     result.name, result.shape.back(), traits(*format).elements,
                     traits(*format).name));
  return {std::move(result), number<uint64_t>()};
}

uint64_t GgufParser::dataStart(int64_t alignment) const {
  return (at_ + uint64_t(alignment) - 1) / uint64_t(alignment) * uint64_t(alignment);
}

void GgufParser::place(Placed &placed, uint64_t dataStart, int64_t alignment) const {
  StoredTensor &tensor = placed.tensor;
  const FormatTraits &format = traits(tensor.format);
  auto bytes = uint64_t(tensor.elements() / format.elements * format.bytes);
  uint64_t space = bytes_.size() > dataStart ? bytes_.size() - dataStart : 0;
  if (placed.offset % uint64_t(alignment) != 0)
    fail(fmt::format("tensor '{}' begins at {}, expected a multiple of {}", tensor.name,
                     placed.offset, alignment));
  if (placed.offset > space || bytes > space - placed.offset)
    fail(fmt::format("tensor '{}' has {} bytes from {} on, but the file has {}", tensor.name, bytes,
                     placed.offset, space));
  tensor.bytes = bytes_.subspan(dataStart + placed.offset, bytes);
}

} // namespace generate
