// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/report/Report.h"
#include "ditron/runtime/Launcher.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ditron::tools {

using Json = nlohmann::ordered_json;

/// Where stderr cannot be written there is nobody to tell, and the exit status says enough.
static void printOnStderr(const std::string &text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void printOutput(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw OutputError(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
}

void printJson(const Json &object) {
  // One write, so that the lines of several processes do not mix.
  printOutput(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void printText(const std::string &line, bool json) {
  std::string text = withoutControls(line) + "\n";
  if (!json)
    return printOutput(text);
  printOnStderr(text);
}

void printError(const std::string &message) {
  printOnStderr("ditron: " + withoutControls(message) + "\n");
}

void printFailure(const std::string &message) {
  if (!runtime::reportToLauncher(message))
    printError(message);
}

std::string formatBytes(double bytes) {
  constexpr const char *kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} bytes", bytes)
                   : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string formatShape(const Dimensions &dims) {
  std::string text;
  for (const auto &[name, extent] : dims)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, extent);
  return text;
}

Json shapeJson(const Dimensions &dims) {
  Json shape = Json::object();
  for (const auto &[name, extent] : dims)
    shape[name] = extent;
  return shape;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Progress::Progress(bool enabled)
    : enabled_(enabled && isatty(STDERR_FILENO)),
      next_(Clock::now() + std::chrono::milliseconds(400)) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string &text) {
  if (!enabled_ || Clock::now() < next_)
    return;
  next_ = Clock::now() + std::chrono::milliseconds(50);
  printOnStderr("\r\033[K" + text);
  shown_ = true;
}

void Progress::clear() {
  if (shown_)
    printOnStderr("\r\033[K");
  shown_ = false;
}

} // namespace ditron::tools
