// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch/Pages.h"

namespace generate {

Pages::Pages(int64_t count) {
  for (int64_t page = count - 1; page >= 0; --page)
    free_.push_back(page);
}

std::optional<std::vector<int64_t>> Pages::take(int64_t count) {
  if (count > left())
    return std::nullopt;
  std::vector<int64_t> taken(free_.rbegin(), free_.rbegin() + count);
  free_.resize(free_.size() - size_t(count));
  return taken;
}

void Pages::giveBack(const std::vector<int64_t> &pages) {
  free_.insert(free_.end(), pages.rbegin(), pages.rend());
}

} // namespace generate
