// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How files hold the elements of a tensor: as numbers, or in blocks of small integers with scales
// of their own. The block formats are those of GGUF.
#pragma once
#include "ditron/support/DType.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace generate {

enum class Format : uint8_t { f32, f16, bf16, q40, q41, q50, q51, q80, q4k, q6k };

/// Of one format: its name, its number in GGUF, and the elements and bytes of a block.
struct FormatTraits {
  std::string_view name;
  uint32_t ggufType;
  int64_t elements, bytes;
};
const FormatTraits &traits(Format format);
/// The format with this number in GGUF, if it is one of ours.
std::optional<Format> formatOfGguf(uint32_t type);
/// "Q5_K (13)" of any type in GGUF, for messages.
std::string ggufTypeName(uint32_t type);
/// "F32, F16, ...", for messages.
std::string formatNames();

/// Converts whole blocks to floats.
void dequantise(Format format, std::span<const std::byte> blocks, std::span<float> values);

/// A block of 32 in Q4_0, Q5_0 or Q8_0: whole numbers, and the scale that multiplies them.
struct ScaledBlock {
  ditron::f16 scale;
  std::array<int8_t, 32> numbers;
};
ScaledBlock scaledBlock(Format format, const std::byte *block);

/// A tensor of a file, dense and row-major, its outermost dimension first. The bytes are the
/// file's; there are as many as format and shape say.
struct StoredTensor {
  std::string name;
  Format format = Format::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  int64_t elements() const;
  /// "[49152, 576]"
  std::string describeShape() const;
};

/// Elements of a shape, or none where a size is below 1 or they are more than a file can hold.
std::optional<int64_t> countElements(std::span<const int64_t> shape);

/// The bytes of rows [first, end) of a tensor of so many rows.
std::span<const std::byte> rowsOf(const StoredTensor &tensor, int64_t rows, int64_t first,
                                  int64_t end);

} // namespace generate
