// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Matrix.h"
#include "ditron/support/Parallel.h"
#include "model/Library.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

using namespace ditron;

namespace generate {

static constexpr int64_t kBlock = 32, kRowsOfThread = 64;

/// Some rows and columns of a stored matrix.
struct Loader::Part {
  const StoredTensor *stored;
  int64_t firstRow, rows, firstColumn, columns;

  /// Calls fn(row of this part, its bytes in the file) for all rows, on several threads.
  template <class Fn> void forRows(const Fn &fn) const {
    inParallel(rows, kRowsOfThread, [&](int64_t first, int64_t end) {
      for (int64_t row = first; row < end; ++row)
        fn(row, rowsOf(*stored, stored->shape.front(), firstRow + row, firstRow + row + 1));
    });
  }
};

namespace {

/// A tensor that the host fills, and then the device's where that is another one.
class Filled {
public:
  Filled(const Context &ctx, DType type, const std::vector<int64_t> &shape)
      : device_(ctx.tensor(type, shape)),
        host_(device_.isHostAccessible() ? device_ : Tensor::own(type, shape)) {}
  template <class T> T *as() const { return host_.as<T>(); }
  std::byte *bytes() const { return static_cast<std::byte *>(host_.data()); }
  Tensor finish() const {
    if (!device_.isHostAccessible())
      device_.copyFrom(host_);
    return device_;
  }

private:
  Tensor device_, host_;
};

int64_t rowsOfAll(const auto &parts) {
  int64_t rows = 0;
  for (const auto &part : parts)
    rows += part.rows;
  return rows;
}

/// How blocks of a format can be held with all their weights as they are. Those of Q4_0 have -8 scales as their minimum in
/// Q4_1, which CPUs read faster; GPUs stream Q8_0.
Storage storageOf(Format format, bool isOfGpu) {
  switch (format) {
  case Format::q80:
  case Format::q50:
    return Storage::q80;
  case Format::q40:
    return isOfGpu ? Storage::q80 : Storage::q41;
  case Format::q41:
    return Storage::q41;
  default:
    return Storage::plain;
  }
}

/// Whether f16 has -8 times each scale of a matrix in Q4_0; of all of it, as ranks are to hold their parts alike.
bool hasMinima(const StoredTensor &stored) {
  constexpr float kMost = 65504.0F / 8;
  std::atomic<bool> hasAll = true;
  inParallel(stored.shape[0], kRowsOfThread, [&](int64_t first, int64_t end) {
    std::span<const std::byte> rows = rowsOf(stored, stored.shape[0], first, end);
    for (; !rows.empty(); rows = rows.subspan(size_t(traits(Format::q40).bytes)))
      if (!(std::abs(float(scaledBlock(Format::q40, rows.data()).scale)) <= kMost))
        hasAll = false;
  });
  return hasAll;
}

/// How these parts can be held together.
Storage storageOf(const auto &parts, bool isOfGpu) {
  Storage storage = storageOf(parts.front().stored->format, isOfGpu);
  bool fits = std::ranges::all_of(parts, [&](const auto &part) {
    Format format = part.stored->format;
    return storageOf(format, isOfGpu) == storage && part.columns % kBlock == 0 &&
           (storage != Storage::q41 || format != Format::q40 || hasMinima(*part.stored));
  });
  return fits ? storage : Storage::plain;
}

bool isInBlocks(Format format) { return traits(format).elements > 1; }

/// What the numbers of these parts are held in. Blocks become what the tensor cores of a GPU take.
DType typeOf(const auto &parts, bool isOfGpu) {
  auto areAll = [&](const auto &fits) {
    return std::ranges::all_of(parts, [&](const auto &part) { return fits(part.stored->format); });
  };
  auto areOf = [&](Format wanted) {
    return areAll([wanted](Format format) { return format == wanted; });
  };
  return areOf(Format::f16)                                       ? DType::f16
         : areOf(Format::bf16) || (isOfGpu && areAll(isInBlocks)) ? DType::bf16
                                                                  : DType::f32;
}

/// A row as numbers of a type, of bytes that are in this format.
class ConvertedRow {
public:
  ConvertedRow(DType type, Format format, std::span<const std::byte> bytes, int64_t columns) {
    if (type != DType::f32 && !isInBlocks(format)) {
      bytes_ = bytes;
      return;
    }
    floats_.resize(static_cast<size_t>(columns));
    dequantise(format, bytes, floats_);
    bytes_ = std::as_bytes(std::span(floats_));
    if (type != DType::bf16)
      return;
    rounded_ = std::vector<bf16>(floats_.begin(), floats_.end());
    bytes_ = std::as_bytes(std::span(rounded_));
  }
  const std::byte *from(int64_t offset) const { return bytes_.data() + offset; }

private:
  std::vector<float> floats_;
  std::vector<bf16> rounded_;
  std::span<const std::byte> bytes_;
};

} // namespace

std::vector<Loader::Part> Loader::cutParts(const std::vector<const StoredTensor *> &parts,
                                           Cut cut) const {
  std::vector<Part> result;
  for (const StoredTensor *stored : parts) {
    Part part{stored, 0, stored->shape[0], 0, stored->shape[1]};
    if (cut == Cut::rows) {
      part.rows /= ctx_.ranks();
      part.firstRow = ctx_.rank() * part.rows;
    } else if (cut == Cut::columns) {
      part.columns /= ctx_.ranks();
      part.firstColumn = ctx_.rank() * part.columns;
    }
    result.push_back(part);
  }
  return result;
}

Tensor Loader::tensor(const StoredTensor &stored) const {
  Filled result(ctx_, DType::f32, stored.shape);
  int64_t rows = stored.shape.size() > 1 ? stored.shape.front() : 1;
  int64_t width = stored.elements() / rows;
  inParallel(rows, kRowsOfThread, [&](int64_t first, int64_t end) {
    dequantise(stored.format, rowsOf(stored, rows, first, end),
               {result.as<float>() + first * width, size_t((end - first) * width)});
  });
  return result.finish();
}

Matrix Loader::matrix(const std::vector<const StoredTensor *> &parts, Cut cut) const {
  std::vector<Part> mine = cutParts(parts, cut);
  Storage storage = storageOf(mine, Library(ctx_).isOfGpu());
  Matrix result;
  if (storage == Storage::plain)
    result.values = plain(mine);
  else
    result = inBlocks(mine, storage);
  result.rows = rowsOfAll(mine);
  result.columns = mine.front().columns;
  return result;
}

Tensor Loader::table(const StoredTensor &stored) const {
  return plain(cutParts({&stored}, Cut::none));
}

Tensor Loader::plain(const std::vector<Part> &parts) const {
  int64_t columns = parts.front().columns;
  DType type = typeOf(parts, Library(ctx_).isOfGpu());
  auto elementBytes = int64_t(byteSize(type));
  Filled values(ctx_, type, {rowsOfAll(parts), columns});
  auto *to = values.bytes();
  for (const Part &part : parts) {
    part.forRows([&](int64_t row, std::span<const std::byte> bytes) {
      ConvertedRow numbers(type, part.stored->format, bytes, part.stored->shape[1]);
      std::memcpy(to + row * columns * elementBytes, numbers.from(part.firstColumn * elementBytes),
                  size_t(columns * elementBytes));
    });
    to += part.rows * columns * elementBytes;
  }
  return values.finish();
}

Matrix Loader::inBlocks(const std::vector<Part> &parts, Storage storage) const {
  bool hasMinima = storage == Storage::q41;
  int64_t blocks = parts.front().columns / kBlock, valueBytes = hasMinima ? kBlock / 2 : kBlock;
  int64_t rows = rowsOfAll(parts);
  Filled values(ctx_, DType::i8, {rows, blocks * valueBytes});
  Filled scales(ctx_, DType::f16, {rows, blocks});
  Filled minima(ctx_, DType::f16, {hasMinima ? rows : 0, blocks});
  int64_t done = 0;
  for (const Part &part : parts) {
    Format format = part.stored->format;
    int64_t blockBytes = traits(format).bytes;
    part.forRows([&](int64_t row, std::span<const std::byte> bytes) {
      const std::byte *from = bytes.data() + part.firstColumn / kBlock * blockBytes;
      int64_t to = (done + row) * blocks;
      for (int64_t n = to; n < to + blocks; ++n, from += blockBytes) {
        int8_t *numbers = values.as<int8_t>() + n * valueBytes;
        if (!hasMinima) {
          ScaledBlock block = scaledBlock(format, from);
          scales.as<f16>()[n] = block.scale;
          std::ranges::copy(block.numbers, numbers);
          continue;
        }
        std::memcpy(scales.as<f16>() + n, from, sizeof(f16));
        if (format == Format::q40)
          minima.as<f16>()[n] = f16(-8 * float(scales.as<f16>()[n]));
        else
          std::memcpy(minima.as<f16>() + n, from + sizeof(f16), sizeof(f16));
        std::memcpy(numbers, from + blockBytes - valueBytes, size_t(valueBytes));
      }
    });
    done += part.rows;
  }
  Matrix result{storage, values.finish(), scales.finish(), {}, 0, 0};
  if (hasMinima)
    result.minima = minima.finish();
  return result;
}

} // namespace generate
