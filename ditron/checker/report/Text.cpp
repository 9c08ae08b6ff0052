// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A verdict for people.
#include "ditron/checker/Check.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sstream>

namespace ditron {

namespace {

/// A line without what it is indented by; empty where there is none.
std::string lineOf(std::istream &stream, int64_t number) {
  std::string line;
  for (int64_t n = 0; n < number && number > 0; ++n)
    if (!std::getline(stream, line))
      return "";
  for (char &c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7F') // a terminal would obey it
      c = ' ';
  size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first);
}

/// The line of a kernel's source. A location of textual IR may name any file of the machine: of
/// such a kernel only the text that was given is quoted.
std::string quote(const Verdict &verdict, const Party &party) {
  if (!verdict.quoted) {
    std::error_code problem;
    std::ifstream stream;
    if (std::filesystem::is_regular_file(party.file, problem))
      stream.open(party.file);
    return lineOf(stream, party.line);
  }
  std::istringstream stream(party.file == verdict.quoted->first ? verdict.quoted->second : "");
  return lineOf(stream, party.line);
}

std::string textOf(const Verdict &verdict, const Party &party) {
  std::string text = fmt::format("  {}: {}\n", party.source(), party.what);
  text += fmt::format("    by {}{}\n", party.who(),
                      party.op.empty() ? "" : fmt::format(", {}", party.op));
  if (std::string line = quote(verdict, party); !line.empty())
    text += fmt::format("    | {}\n", line);
  return text;
}

std::string textOf(const Verdict &verdict, const Finding &finding) {
  std::string text = fmt::format("{}: {}\n", name(finding.kind), finding.message);
  for (const Party &party : finding.parties)
    text += textOf(verdict, party);
  for (const std::string &note : finding.notes)
    text += fmt::format("  note: {}\n", note);
  if (!finding.steps.empty()) {
    text += fmt::format("  schedule \"{}\":\n", finding.schedule);
    for (size_t i = 0; i < finding.steps.size(); ++i)
      text += fmt::format("    {}. {}\n", i + 1, finding.steps[i]);
  }
  return text;
}

std::string textOf(const Waiver &waiver) {
  if (waiver.waived.empty())
    return fmt::format(
        "unused waiver '{}' ({}): nothing was found that it waives; its reason: {}\n", waiver.name,
        waiver.source, waiver.reason);
  std::string text =
      fmt::format("waived by '{}' ({}): {}\n", waiver.name, waiver.source, waiver.reason);
  for (const Finding &finding : waiver.waived)
    text += fmt::format("  {}: {}\n", name(finding.kind), finding.message);
  return text;
}

std::string reachOf(const Verdict &verdict) {
  int64_t launches = verdict.options.launches;
  switch (verdict.method) {
  case Method::proved:
    if (launches == 1)
      return "proved: every schedule of one launch";
    return verdict.isOfAllLaunches ? "proved: every schedule, any number of launches"
                                   : fmt::format("proved: every schedule of {} launches", launches);
  case Method::exhaustive:
    return fmt::format("exhaustive: every schedule, {} states", verdict.states);
  case Method::sampled:
    break;
  }
  return "sampled: only the schedules that were run";
}

} // namespace

std::string Verdict::text() const {
  std::string text;
  for (const Finding &finding : findings)
    text += textOf(*this, finding) + "\n";
  for (const Waiver &waiver : waivers)
    text += textOf(waiver);
  for (const std::string &note : notes)
    text += fmt::format("note: {}\n", note);
  std::string shape;
  for (const auto &[dimension, extent] : options.shape)
    shape += fmt::format(" {}={}", dimension, extent);
  for (const auto &[argument, extents] : options.extents)
    shape += fmt::format(" {}={}", argument, fmt::join(extents, "x"));
  auto count = [](int64_t n, const char *what, const char *plural) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : plural);
  };
  text += fmt::format("{}{}: {} x {}, {}: ", kernel, shape, count(options.ranks, "rank", "s"),
                      count(options.cores, "core", "s"), count(options.launches, "launch", "es"));
  text += clean() ? fmt::format("clean ({})\n", reachOf(*this))
                  : fmt::format("{} finding{}\n", findings.size(), findings.size() == 1 ? "" : "s");
  text += fmt::format("  {} events, {} operations in {} schedule{}, seed {}\n", events, operations,
                      schedules, schedules == 1 ? "" : "s", options.seed);
  return text;
}

} // namespace ditron
