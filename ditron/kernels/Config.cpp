// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/Config.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace ditron::kernels {

//===-- Reading text --------------------------------------------------------------------------===//

std::vector<std::pair<std::string, std::string>> parseAssignments(std::string_view text,
                                                                  std::string_view what) {
  std::vector<std::pair<std::string, std::string>> result;
  for (bool more = !text.empty(); more;) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size())
      throw UsageError(fmt::format("{}: found '{}', expected name=value", what, part));
    std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
    for (const auto &[earlier, other] : result)
      if (earlier == name)
        throw UsageError(fmt::format("{}: {} is given twice, {} and {}", what, name, other, value));
    result.emplace_back(name, value);
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : 0);
  }
  return result;
}

std::string assignOver(std::string_view defaults, std::string_view text, std::string_view what) {
  std::vector<std::string> all;
  auto chosen = parseAssignments(text, what);
  for (const auto &[name, value] : parseAssignments(defaults, what))
    if (std::none_of(chosen.begin(), chosen.end(),
                     [&](const auto &pair) { return pair.first == name; }))
      all.push_back(name + "=" + value);
  for (const auto &[name, value] : chosen)
    all.push_back(name + "=" + value);
  return fmt::format("{}", fmt::join(all, ","));
}

int64_t parseInteger(std::string_view name, std::string_view text, int64_t minimum,
                     int64_t maximum) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool isInteger = error != std::errc::invalid_argument && end == text.data() + text.size();
  bool isNegative = text.starts_with('-'), overflows = error == std::errc::result_out_of_range;
  if (!isInteger || (overflows ? isNegative : value < minimum))
    throw UsageError(
        fmt::format("{} is '{}', expected an integer{}", name, text,
                    minimum == INT64_MIN ? "" : fmt::format(" of at least {}", minimum)));
  if (overflows || value > maximum)
    throw UsageError(fmt::format("{} is {}, expected at most {}", name, text, maximum));
  return value;
}

std::string_view renamed(std::string_view given) {
  static constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"resident", "ctas-per-sm"},
      {"weights", "transB"},
      {"--resident", "--config ctas-per-sm=N"}, // ditron check has one of its own
  };
  for (const auto &[before, now] : kRenamed)
    if (before == given)
      return now;
  return {};
}

/// How many single-character edits turn x into y.
static size_t editDistance(std::string_view x, std::string_view y) {
  std::vector<size_t> row(y.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= x.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= y.size(); ++j) {
      size_t replaced = diagonal + (x[i - 1] != y[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string suggestion(std::string_view given, const std::vector<std::string> &known) {
  const std::string *best = nullptr;
  size_t least = std::max<size_t>(2, given.size() / 2);
  for (const std::string &name : known) {
    size_t distance = editDistance(given, name);
    if (distance <= least && (!best || distance < least)) {
      best = &name;
      least = distance;
    }
  }
  return best ? fmt::format("; did you mean {}?", *best) : "";
}

//===-- Config --------------------------------------------------------------------------------===//

Config::Value *Config::find(std::string_view name) {
  auto found = std::find_if(values_.begin(), values_.end(),
                            [&](const Value &value) { return value.name == name; });
  return found == values_.end() ? nullptr : &*found;
}

int64_t Config::operator[](std::string_view name) const {
  if (const Value *found = const_cast<Config *>(this)->find(name))
    return found->value;
  throw InternalError(fmt::format("a configuration has no {}", name));
}

int64_t Config::valueOr(std::string_view name, int64_t otherwise) const {
  for (const Value &value : values_)
    if (value.name == name)
      return value.value;
  return otherwise;
}

void Config::set(std::string_view name, int64_t value) {
  Value *found = find(name);
  if (!found)
    throw InternalError(fmt::format("a configuration has no {}", name));
  found->value = value;
}

/// The number that stands for a value by name.
static int64_t parseName(const ConfigParameter &parameter, const std::string &text) {
  auto found = std::find(parameter.names.begin(), parameter.names.end(), text);
  if (found == parameter.names.end())
    throw UsageError(fmt::format("{} is '{}', expected one of {}", parameter.name, text,
                                 fmt::join(parameter.names, ", ")));
  return found - parameter.names.begin();
}

void Config::parse(std::string_view text, const std::vector<ConfigParameter> &parameters) {
  for (const auto &[name, value] : parseAssignments(text, "config")) {
    auto found = std::find_if(parameters.begin(), parameters.end(),
                              [&](const ConfigParameter &p) { return p.name == name; });
    if (found == parameters.end()) {
      if (std::string_view now = renamed(name); !now.empty())
        throw UsageError(fmt::format("config: '{}' is now '{}'", name, now));
      std::vector<std::string> known;
      for (const ConfigParameter &parameter : parameters)
        known.push_back(parameter.name);
      throw UsageError(fmt::format("config: unknown '{}', expected one of {}{}", name,
                                   fmt::join(known, ", "), suggestion(name, known)));
    }
    set(name, found->names.empty() ? parseInteger(name, value, found->minimum, INT32_MAX)
                                   : parseName(*found, value));
  }
}

/// "m=64", or "engine=copy".
static std::string assignmentOf(const ConfigParameter &parameter, int64_t value) {
  return parameter.names.empty()
             ? fmt::format("{}={}", parameter.name, value)
             : fmt::format("{}={}", parameter.name, parameter.names.at(size_t(value)));
}

std::string Config::text(const std::vector<ConfigParameter> &parameters) const {
  std::vector<std::string> parts;
  for (const ConfigParameter &parameter : parameters)
    parts.push_back(assignmentOf(parameter, (*this)[parameter.name]));
  return fmt::format("{}", fmt::join(parts, ","));
}

//===-- Choices without effect ----------------------------------------------------------------===//

const ChoiceNeed *Config::unmet(const ConfigParameter &parameter) const {
  for (const ChoiceNeed &need : parameter.needs)
    if (std::find(need.values.begin(), need.values.end(), (*this)[need.choice]) ==
        need.values.end())
      return &need;
  return nullptr;
}

static const ConfigParameter &named(std::string_view name,
                                    const std::vector<ConfigParameter> &parameters) {
  auto found = std::find_if(parameters.begin(), parameters.end(),
                            [&](const ConfigParameter &p) { return p.name == name; });
  if (found == parameters.end())
    throw InternalError(fmt::format("a configuration has no {}", name));
  return *found;
}

/// "engine=copy or engine=direct"
static std::string textOf(const ChoiceNeed &need, const std::vector<ConfigParameter> &parameters) {
  std::vector<std::string> values;
  for (int64_t value : need.values)
    values.push_back(assignmentOf(named(need.choice, parameters), value));
  return fmt::format("{}", fmt::join(values, " or "));
}

std::string Config::whatHasNoEffect(const std::vector<ConfigParameter> &parameters) const {
  for (const ConfigParameter &parameter : parameters) {
    const ChoiceNeed *missing = unmet(parameter);
    int64_t value = (*this)[parameter.name];
    if (!missing || value == parameter.without)
      continue;
    auto valueOf = [&](const std::string &assignment) {
      return assignment.substr(parameter.name.size() + 1);
    };
    std::vector<std::string> needs;
    for (const ChoiceNeed &need : parameter.needs)
      needs.push_back(textOf(need, parameters));
    return fmt::format("{} is {}, which has no effect with {}; expected {}, or {}", parameter.name,
                       valueOf(assignmentOf(parameter, value)),
                       assignmentOf(named(missing->choice, parameters), (*this)[missing->choice]),
                       valueOf(assignmentOf(parameter, parameter.without)),
                       fmt::join(needs, " and "));
  }
  return "";
}

void Config::settle(std::string_view text, const std::vector<ConfigParameter> &parameters) {
  auto given = parseAssignments(text, "config");
  for (const ConfigParameter &parameter : parameters) {
    bool isGiven = std::any_of(given.begin(), given.end(),
                               [&](const auto &pair) { return pair.first == parameter.name; });
    if (!isGiven && unmet(parameter))
      set(parameter.name, parameter.without);
  }
  if (std::string problem = whatHasNoEffect(parameters); !problem.empty())
    throw UsageError("config: " + problem);
}

} // namespace ditron::kernels
