// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where things lie in a workspace: nothing overlaps, and what is fixed has no pages.
#include "ditron/abi/WorkspaceLayout.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace ditron::abi;

namespace {

SymmetricArray fixed(SymmetricArray array) {
  array.isFixed = true;
  return array;
}

/// Bytes from and to which something lies.
using Range = std::pair<int64_t, int64_t>;

std::vector<Range> rangesOf(const WorkspaceLayout &layout, int64_t ranks) {
  std::vector<Range> ranges{{0, Head::bytes(ranks)}};
  for (size_t n = 0; n < layout.arrays().size(); ++n) {
    const SymmetricArray &array = layout.arrays()[n];
    int64_t pages = array.isFixed ? 1 : array.isSignals() ? kSignalPages : layout.bufferPages();
    int64_t page = array.isSignals() ? layout.signalPage() : layout.bufferPage();
    for (int64_t number = 0; number < pages; ++number) {
      int64_t begin = layout.offset(n) + number * page;
      ranges.push_back({begin, begin + array.bytes()});
    }
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

TEST(WorkspaceLayout, KeepsThingsApart) {
  for (int64_t ranks : {1, 4, 64, 200}) {
    WorkspaceLayout layout({SymmetricArray::buffer("a", 1000), SymmetricArray::signals("s", {3, 5}),
                            fixed(SymmetricArray::buffer("b", 5000)),
                            fixed(SymmetricArray::signals("t", {7})),
                            SymmetricArray::signals("u", {2}), SymmetricArray::buffer("c", 24),
                            fixed(SymmetricArray::signals("v", {2, 2}))},
                           {.ranks = ranks, .barriers = 2});
    std::vector<Range> ranges = rangesOf(layout, ranks);
    for (size_t n = 1; n < ranges.size(); ++n)
      EXPECT_LE(ranges[n - 1].second, ranges[n].first) << ranks << " ranks, range " << n;
    EXPECT_LE(ranges.back().second, layout.bytes());
    EXPECT_EQ(layout.cells(), 15 + 2 + 4);
  }
}

TEST(WorkspaceLayout, NamesCounters) {
  WorkspaceLayout layout(
      {SymmetricArray::signals("s", {2, 2}), fixed(SymmetricArray::signals("t", {3}))},
      {.ranks = 2});
  EXPECT_EQ(layout.nameOf(2), "'s'[1, 0]");
  EXPECT_EQ(layout.nameOf(4), std::nullopt);
  EXPECT_EQ(layout.nameOfFixed(layout.offset(1) + 8), "'t'[1]");
  EXPECT_EQ(layout.nameOfFixed(layout.offset(1) + 24), std::nullopt);
  EXPECT_EQ(layout.nameOfFixed(layout.offset(0)), std::nullopt);
}

TEST(WorkspaceLayout, NamesRowsOfBuffers) {
  WorkspaceLayout layout(
      {SymmetricArray::buffer("a", 16), {"box", SymmetricKind::buffer, 4, {2, 3, 8}}},
      {.ranks = 2});
  for (int64_t page : {0, 1}) {
    int64_t box = layout.offset(1) + page * layout.bufferPage();
    EXPECT_EQ(layout.nameOfRow(box), "'box'[0, 0]");
    EXPECT_EQ(layout.nameOfRow(box + (3 * 1 + 2) * 32 + 31), "'box'[1, 2]");
    EXPECT_EQ(layout.nameOfRow(box + 6 * 32), std::nullopt);
  }
  EXPECT_EQ(layout.nameOfRow(layout.bufferStart() - 1), std::nullopt);
}

/// Poisoning buffers leaves signals alone, fixed ones too.
TEST(WorkspaceLayout, HasBuffersBehindSignals) {
  WorkspaceLayout layout({fixed(SymmetricArray::buffer("b", 8)),
                          fixed(SymmetricArray::signals("t", {3})), SymmetricArray::buffer("a", 8)},
                         {.ranks = 2});
  EXPECT_GE(layout.offset(0), layout.bufferStart());
  EXPECT_LT(layout.offset(1), layout.bufferStart());
  EXPECT_GE(layout.offset(1), layout.fixedSignalStart());
}

} // namespace
