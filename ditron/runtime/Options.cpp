// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Options.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ditron::runtime {

namespace {

bool parseInteger(std::string_view text, int64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

TransportKind parseTransport(std::string_view text) {
  for (auto kind : {TransportKind::automatic, TransportKind::threads, TransportKind::processes})
    if (text == name(kind))
      return kind;
  throw UsageError(
      fmt::format("unknown transport '{}': expected automatic, threads or processes", text));
}

std::string_view name(TransportKind kind) {
  switch (kind) {
  case TransportKind::threads:
    return "threads";
  case TransportKind::processes:
    return "processes";
  case TransportKind::automatic:
    break;
  }
  return "automatic";
}

Straggler Straggler::parse(std::string_view text) {
  Straggler straggler;
  int64_t rank = -1, ms = -1;
  for (std::string_view rest = text; !rest.empty();) {
    auto part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    bool known = (part.starts_with("rank=") && parseInteger(part.substr(5), rank)) ||
                 (part.starts_with("ms=") && parseInteger(part.substr(3), ms));
    if (!known)
      break;
  }
  if (rank < 0 || ms < 0)
    throw UsageError(fmt::format("straggler '{}': expected, for example, rank=1,ms=30", text));
  straggler.rank = int(rank);
  straggler.delay = std::chrono::milliseconds(ms);
  return straggler;
}

Straggler Straggler::fromEnvironment() {
  std::optional<std::string> text = envString("DITRON_STRAGGLER");
  return text ? parse(*text) : Straggler{};
}

} // namespace ditron::runtime
