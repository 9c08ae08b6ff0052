// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace generate {

/// The pages of a cache that no sequence has. There are no more than there were at first.
class Pages {
public:
  explicit Pages(int64_t count);
  /// So many of them, or none where there are fewer.
  std::optional<std::vector<int64_t>> take(int64_t count);
  void giveBack(const std::vector<int64_t> &pages);
  int64_t left() const { return std::ssize(free_); }

private:
  std::vector<int64_t> free_; ///< the last one is taken first
};

} // namespace generate
