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

Straggler Straggler::parse(std::string_view text, std::string_view what) {
  int64_t rank = -1, ms = -1;
  size_t comma = std::min(text.find(','), text.size());
  std::string_view first = text.substr(0, comma), second = text.substr(comma);
  if (!first.starts_with("rank=") || !parseInteger(first.substr(5), rank) || rank < 0 ||
      rank > INT32_MAX || !second.starts_with(",ms=") || !parseInteger(second.substr(4), ms) ||
      ms < 0 || ms > Options::kLongestMs)
    throw UsageError(fmt::format("{} is '{}': expected a rank and at most {} ms, for example "
                                 "rank=1,ms=30",
                                 what, text, Options::kLongestMs));
  return {int(rank), std::chrono::milliseconds(ms)};
}

Straggler Straggler::fromEnvironment() {
  std::optional<std::string> text = envString("DITRON_STRAGGLER");
  return text ? parse(*text, "DITRON_STRAGGLER") : Straggler{};
}

static void checkTime(std::string_view what, std::chrono::milliseconds time, int64_t least) {
  if (time.count() < least || time.count() > Options::kLongestMs)
    throw UsageError(fmt::format("{} is {} ms: expected {} to {} ms", what, time.count(), least,
                                 Options::kLongestMs));
}

void checkOptions(const Options &options) {
  if (options.cores < 1 || options.cores > 1024)
    throw UsageError(fmt::format("cores is {}: expected 1 to 1024", options.cores));
  checkTime("waitTimeout", options.waitTimeout, 1);
  checkTime("launchTimeout", options.launchTimeout, 1);
  checkTime("connectTimeout", options.connectTimeout, 1);
  checkTime("straggler.delay", options.straggler.delay, 0);
}

} // namespace ditron::runtime
