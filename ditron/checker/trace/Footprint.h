// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that accesses touch. Tiles recur, so each set of bytes is kept once, under a number.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace ditron::checker {

/// Bytes [first, limit) of a memory.
struct Bytes {
  int64_t first = 0, limit = 0;
  bool operator==(const Bytes &) const = default;
};

class Footprints {
public:
  /// The number of a strided window: `offset` and `strides` in elements of `elementBytes`.
  uint32_t add(uint32_t memory, int64_t offset, const std::vector<int64_t> &sizes,
               const std::vector<int64_t> &strides, int64_t elementBytes);

  size_t size() const { return all_.size(); }
  uint32_t memoryOf(uint32_t footprint) const { return all_[footprint].memory; }
  /// Runs of bytes that do not touch, ascending.
  const std::vector<Bytes> &runs(uint32_t footprint) const { return all_[footprint].runs; }
  bool isEmpty(uint32_t footprint) const { return runs(footprint).empty(); }
  /// The first run of bytes that both have, if there is one.
  std::optional<Bytes> overlap(uint32_t a, uint32_t b) const;

private:
  struct Footprint {
    uint32_t memory;
    std::vector<Bytes> runs;
  };
  using Key = std::tuple<uint32_t, int64_t, std::vector<int64_t>, std::vector<int64_t>>;
  std::vector<Footprint> all_;
  std::map<Key, uint32_t> numbers_;
};

} // namespace ditron::checker
