// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/LaunchWords.h"
#include <iterator>

namespace ditron::abi {

void addView(std::vector<int64_t> &words, int64_t address, std::span<const int64_t> extents,
             std::span<const int64_t> strides) {
  words.push_back(address);
  words.insert(words.end(), extents.begin(), extents.end());
  words.insert(words.end(), strides.begin(), strides.end());
}

std::vector<int64_t> distributedWords(const WorkspaceLayout &layout, const RankLaunch &launch) {
  std::vector<int64_t> all;
  for (size_t n = 0; n < layout.arrays().size(); ++n) {
    const std::vector<int64_t> &extents = layout.arrays()[n].extents;
    addView(all, launch.head + layout.offset(n), extents, denseStrides(extents));
  }
  int64_t words[kLaunchWords];
  words[kStatus] = launch.status;
  words[kRank] = launch.rank;
  words[kRanks] = launch.ranks;
  words[kStride] = launch.stride;
  words[kHead] = launch.head;
  words[kSignalPage] = layout.signalPage();
  words[kBufferPage] = layout.bufferPage();
  words[kCells] = layout.cells();
  words[kBound] = launch.bound;
  all.insert(all.end(), std::begin(words), std::end(words));
  return all;
}

} // namespace ditron::abi
