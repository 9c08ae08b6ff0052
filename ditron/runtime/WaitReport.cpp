// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/WaitReport.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::runtime {

namespace {

constexpr size_t kMostLines = 100;

/// ", task 'up', role 'multiply', gemm.cpp:31", what is known of it.
std::string describeSite(const CorePlace &place) {
  std::string text;
  if (!place.task.empty())
    text += fmt::format(", {}", place.task);
  if (!place.role.empty())
    text += fmt::format(", role '{}'", place.role);
  if (!place.site.empty())
    text += fmt::format(", {}", place.site);
  return text;
}

/// "rank 2" or "ranks 2 to 5".
std::string range(std::string_view noun, int64_t first, int64_t last) {
  return first == last ? fmt::format("{} {}", noun, first)
                       : fmt::format("{}s {} to {}", noun, first, last);
}

/// Cores of one rank that share a line.
struct CoreRun {
  int64_t first, last;
  std::string text;
  bool operator==(const CoreRun &) const = default;
};

/// Neighbouring ranks that share all their lines.
struct RankRun {
  int64_t first, last;
  std::vector<CoreRun> cores;
};

void append(std::vector<CoreRun> &runs, const CoreLine &line) {
  CoreRun next{line.place.core, line.place.core,
               fmt::format("{}: {}", describeSite(line.place), line.state)};
  if (!runs.empty() && runs.back().text == next.text && runs.back().last + 1 == next.first)
    runs.back().last = next.last;
  else
    runs.push_back(std::move(next));
}

std::vector<RankRun> fold(const std::vector<CoreLine> &lines) {
  std::vector<RankRun> ranks;
  for (const CoreLine &line : lines) {
    if (ranks.empty() || ranks.back().first != line.place.rank)
      ranks.push_back({line.place.rank, line.place.rank, {}});
    append(ranks.back().cores, line);
  }
  std::vector<RankRun> folded;
  for (RankRun &rank : ranks)
    if (!folded.empty() && folded.back().last + 1 == rank.first &&
        folded.back().cores == rank.cores)
      folded.back().last = rank.last;
    else
      folded.push_back(std::move(rank));
  return folded;
}

} // namespace

std::string describeRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;)
      ++end;
    if (end - begin == 2)
      --end; // two are no range
    text += fmt::format("{} {}", begin ? "," : "", ranks[begin]);
    if (end - begin > 1)
      text += fmt::format(" to {}", ranks[end - 1]);
  }
  return text;
}

std::string describe(const CorePlace &place) {
  std::string text = fmt::format("rank {}", place.rank);
  if (place.core >= 0)
    text += fmt::format(", core {}", place.core);
  return text + describeSite(place);
}

std::string describe(const WaitProgress &wait) {
  std::string text = fmt::format("{}: expected {}, seen {}", wait.what, wait.expected, wait.seen);
  return wait.note.empty() ? text : fmt::format("{}; {}", text, wait.note);
}

std::string describeNotifier(const CorePlace &place, std::string_view verb, uint64_t value) {
  return fmt::format("last notified by {}, which {} {}", describe(place), verb, value);
}

std::string formatReport(std::string_view headline, std::vector<CoreLine> lines) {
  if (lines.size() > kMostLines)
    std::stable_partition(lines.begin(), lines.end(),
                          [](const CoreLine &line) { return line.place.core < 0; });
  std::string text(headline);
  size_t written = 0, left = 0;
  for (const RankRun &rank : fold(lines))
    for (const CoreRun &cores : rank.cores) {
      if (written == kMostLines) {
        ++left;
        continue;
      }
      ++written;
      text += fmt::format("\n  {}", range("rank", rank.first, rank.last));
      if (cores.first >= 0)
        text += fmt::format(", {}", range("core", cores.first, cores.last));
      text += cores.text;
    }
  if (left > 0)
    text += fmt::format("\n  and {} more line{}", left, left == 1 ? "" : "s");
  return text;
}

} // namespace ditron::runtime
