// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Architecture.h"
#include "ditron/support/Error.h"
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace generate {

[[noreturn]] static void fail(const std::string &path, const std::string &problem) {
  throw ditron::RuntimeError(fmt::format("'{}': {}", path, problem));
}

static void checkSize(const std::string &path, const char *what, int64_t size, int64_t most) {
  if (size < 1 || size > most)
    fail(path, fmt::format("the {} {}, expected 1 to {}", what, size, most));
}

void Architecture::check(const std::string &path) const {
  constexpr int64_t kMost = 1 << 22;
  checkSize(path, "number of layers is", layers, 4096);
  checkSize(path, "width is", width, kMost);
  checkSize(path, "width of the feed-forward layers is", feedForward, kMost);
  checkSize(path, "number of heads is", heads, 65536);
  checkSize(path, "number of key heads is", keyHeads, heads);
  checkSize(path, "size of a head is", headSize, 1024);
  checkSize(path, "size of the vocabulary is", vocabulary, kMost);
  checkSize(path, "context is", context, int64_t(1) << 31);
  if (heads % keyHeads != 0)
    fail(path, fmt::format("{} heads do not share {} key heads", heads, keyHeads));
  if (headSize % 2 != 0)
    fail(path, fmt::format("heads have {} elements, expected an even number", headSize));
  if (!(epsilon > 0 && epsilon < 1))
    fail(path, fmt::format("the norms' epsilon is {}, expected 0 to 1", epsilon));
  if (!(ropeBase > 1 && std::isfinite(ropeBase)))
    fail(path, fmt::format("rope's base is {}, expected more than 1", ropeBase));
  if (!ropeFactors.empty() && std::ssize(ropeFactors) != headSize / 2)
    fail(path, fmt::format("rope has {} factors, expected {}", ropeFactors.size(), headSize / 2));
}

int64_t Architecture::headRows(int64_t ranks) const {
  return vocabulary % ranks == 0 ? vocabulary / ranks : vocabulary;
}

Architecture Architecture::shard(int64_t ranks) const {
  for (auto [what, size] : {std::pair{"heads", heads}, std::pair{"key heads", keyHeads},
                            std::pair{"rows of the feed-forward layers", feedForward}})
    if (size % ranks != 0)
      throw ditron::UsageError(
          fmt::format("--ranks is {}, expected a divisor of the model's {} {}", ranks, size, what));
  Architecture result = *this;
  result.heads /= ranks;
  result.keyHeads /= ranks;
  result.feedForward /= ranks;
  return result;
}

} // namespace generate
