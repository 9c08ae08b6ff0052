// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/reference/ViewedMemory.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sizes.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::reference {

using llvm::ArrayRef;

Extents denseStrides(ArrayRef<int64_t> sizes) {
  Extents strides(sizes.size(), 1);
  for (int d = static_cast<int>(sizes.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * std::max<int64_t>(sizes[d + 1], 1);
  return strides;
}

//===-- Windows -------------------------------------------------------------------------------===//

View chunkOf(const View &view, ArrayRef<int64_t> coords, ArrayRef<int64_t> shape) {
  size_t leading = coords.size() - shape.size();
  View chunk{view.memory, view.offset, {}, {}};
  bool inside = true;
  for (size_t d = 0; d < coords.size(); ++d) {
    int64_t extent = d < leading ? 1 : shape[d - leading];
    // Compared in tiles: a coordinate times its extent may not fit.
    int64_t tiles = view.sizes[d] < 1 ? 0 : (view.sizes[d] - 1) / extent + 1;
    bool within = coords[d] >= 0 && coords[d] < tiles;
    int64_t first = within ? coords[d] * extent : 0;
    chunk.offset += first * view.strides[d];
    if (d < leading) {
      inside &= within;
    } else {
      chunk.sizes.push_back(within ? std::min(extent, view.sizes[d] - first) : 0);
      chunk.strides.push_back(view.strides[d]);
    }
  }
  if (!inside)
    std::fill(chunk.sizes.begin(), chunk.sizes.end(), 0);
  return chunk;
}

View subview(const View &view, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
             ArrayRef<int64_t> strides, ArrayRef<bool> dropped) {
  View result{view.memory, view.offset, {}, {}};
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    int64_t extent = view.sizes[d], count = sizes[d];
    bool fits = offsets[d] >= 0 && count >= 0 && strides[d] >= 1 && offsets[d] <= extent &&
                (count == 0 || (count - 1) <= (extent - 1 - offsets[d]) / strides[d]);
    if (!fits || (count > 0 && offsets[d] >= extent))
      throw CompileError(fmt::format("takes {} elements from {} on, {} apart, along dimension {} "
                                     "of a view of [{}] of '{}'",
                                     count, offsets[d], strides[d], d, fmt::join(view.sizes, ", "),
                                     view.memory->name));
    if (count > 0)
      result.offset += offsets[d] * view.strides[d];
    if (dropped[d])
      continue;
    result.sizes.push_back(count);
    result.strides.push_back(count > 1 ? strides[d] * view.strides[d] : view.strides[d]);
  }
  return result;
}

View expandShape(const View &view, ArrayRef<llvm::SmallVector<int64_t, 2>> groups,
                 ArrayRef<int64_t> sizes) {
  View result{view.memory, view.offset, Extents(sizes), Extents(sizes.size())};
  for (size_t d = 0; d < groups.size(); ++d) {
    Extents parts;
    for (int64_t inner : groups[d])
      parts.push_back(sizes[inner]);
    std::optional<int64_t> product = checkedProduct(parts);
    if (!product || *product != view.sizes[d])
      throw CompileError(fmt::format("cuts a view of [{}] of '{}' into [{}], but dimension {} has "
                                     "{} elements and its parts {}",
                                     fmt::join(view.sizes, ", "), view.memory->name,
                                     fmt::join(sizes, ", "), d, view.sizes[d],
                                     product ? std::to_string(*product) : "no number of them"));
    int64_t stride = view.strides[d];
    for (int64_t inner : llvm::reverse(groups[d])) {
      result.strides[inner] = stride;
      stride *= std::max<int64_t>(sizes[inner], 1);
    }
  }
  return result;
}

View transposed(const View &view, ArrayRef<int64_t> permutation) {
  View result{view.memory, view.offset, {}, {}};
  for (int64_t d : permutation) {
    result.sizes.push_back(view.sizes[d]);
    result.strides.push_back(view.strides[d]);
  }
  return result;
}

//===-- Access --------------------------------------------------------------------------------===//

namespace {

/// Calls `visit` with the positions of each element in two strided arrays, in row-major order.
template <class Visit>
void forEachElement(ArrayRef<int64_t> sizes, ArrayRef<int64_t> stridesA, int64_t a,
                    ArrayRef<int64_t> stridesB, int64_t b, Visit &&visit) {
  if (sizes.empty())
    return visit(a, b);
  for (int64_t i = 0; i < sizes[0]; ++i)
    forEachElement(sizes.drop_front(), stridesA.drop_front(), a + i * stridesA[0],
                   stridesB.drop_front(), b + i * stridesB[0], visit);
}

/// The same for a chunk and the tile whose elements from `origin` on it covers.
template <class Visit>
void forEachElement(const View &chunk, ArrayRef<int64_t> shape, ArrayRef<int64_t> origin,
                    Visit &&visit) {
  Extents strides = denseStrides(shape);
  int64_t first = 0;
  for (size_t d = 0; d < origin.size(); ++d)
    first += origin[d] * strides[d];
  forEachElement(chunk.sizes, chunk.strides, chunk.offset, strides, first, visit);
}

/// One element as it lies in memory, to the form of a value and back. Integers do not pass through
/// double: an i64 would lose bits.
template <class T> auto decode(const std::byte *element) {
  if constexpr (std::is_same_v<T, i1>) {
    return -int64_t(*element != std::byte(0));
  } else {
    T value;
    std::memcpy(&value, element, sizeof(T));
    if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(value);
    else
      return static_cast<double>(static_cast<float>(value));
  }
}
template <class T, class Element> void encode(std::byte *element, Element value) {
  T stored;
  if constexpr (std::is_same_v<T, i1>)
    stored = value != 0;
  else if constexpr (std::is_integral_v<T>)
    stored = static_cast<T>(value);
  else
    stored = T(static_cast<float>(value)); // exact: the value is one of T's
  std::memcpy(element, &stored, sizeof(T));
}

/// double for floats, int64_t for integers.
template <class T> using ElementOf = decltype(decode<T>(nullptr));

void checkWritable(const View &view) {
  if (view.memory->readOnly)
    throw CompileError(fmt::format("writes '{}', which is an input", view.memory->name));
}

std::byte *locate(const View &view, ArrayRef<int64_t> indices) {
  int64_t position = view.offset;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d] < 0 || indices[d] >= view.sizes[d])
      throw CompileError(fmt::format("touches element [{}] of a view of [{}] of '{}'",
                                     fmt::join(indices, ", "), fmt::join(view.sizes, ", "),
                                     view.memory->name));
    position += indices[d] * view.strides[d];
  }
  return view.memory->data + position * static_cast<int64_t>(byteSize(view.memory->type));
}

} // namespace

void readChunk(const View &chunk, Tile &tile, ArrayRef<int64_t> origin) {
  dispatch(tile.type, [&]<class T>() {
    auto &elements = tile.as<ElementOf<T>>();
    forEachElement(chunk, tile.shape, origin, [&](int64_t position, int64_t i) {
      elements[i] = decode<T>(chunk.memory->data + position * int64_t(sizeof(T)));
    });
  });
}

void writeChunk(const View &chunk, const Tile &tile, ArrayRef<int64_t> origin) {
  checkWritable(chunk);
  dispatch(tile.type, [&]<class T>() {
    const auto &elements = tile.as<ElementOf<T>>();
    forEachElement(chunk, tile.shape, origin, [&](int64_t position, int64_t i) {
      encode<T>(chunk.memory->data + position * int64_t(sizeof(T)), elements[i]);
    });
  });
}

void checkCopy(const View &source, const View &destination) {
  checkWritable(destination);
  if (source.sizes != destination.sizes)
    throw CompileError(fmt::format(
        "moves a chunk of [{}] of '{}' into one of [{}] of '{}', expected equal extents",
        fmt::join(source.sizes, ", "), source.memory->name, fmt::join(destination.sizes, ", "),
        destination.memory->name));
}

void copyChunk(const View &source, const View &destination) {
  checkCopy(source, destination);
  auto bytes = static_cast<int64_t>(byteSize(source.memory->type));
  forEachElement(source.sizes, source.strides, source.offset, destination.strides,
                 destination.offset, [&](int64_t from, int64_t to) {
                   std::memmove(destination.memory->data + to * bytes,
                                source.memory->data + from * bytes, bytes);
                 });
}

Value loadElementOf(const View &view, ArrayRef<int64_t> indices) {
  const std::byte *element = locate(view, indices);
  return dispatch(view.memory->type, [&]<class T>() -> Value { return decode<T>(element); });
}

void storeElementTo(const View &view, ArrayRef<int64_t> indices, const Value &value) {
  checkWritable(view);
  std::byte *element = locate(view, indices);
  dispatch(view.memory->type,
           [&]<class T>() { encode<T>(element, std::get<ElementOf<T>>(value)); });
}

} // namespace ditron::reference
