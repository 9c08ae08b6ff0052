// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/Extent.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <sstream>

namespace ditron::abi {

namespace {

/// Why a value cannot be computed; null where it can.
using Fault = const char *;
constexpr Fault kOverflows = "goes beyond 64 bits", kDivides = "divides by 0";

Fault divide(int64_t a, int64_t b, int64_t &result) {
  if (b == 0)
    return kDivides;
  if (b == -1)
    return __builtin_sub_overflow(int64_t(0), a, &result) ? kOverflows : nullptr;
  result = a / b;
  return nullptr;
}

/// The quotient rounded up, or down.
Fault divideRounded(int64_t a, int64_t b, bool up, int64_t &result) {
  if (Fault fault = divide(a, b, result))
    return fault;
  bool isExact = b == -1 || a % b == 0, isNegative = (a < 0) != (b < 0);
  if (!isExact && isNegative != up)
    result += up ? 1 : -1;
  return nullptr;
}

/// The number, with a sign, of the low `bits` bits of a.
Fault wrap(int64_t a, int64_t bits, int64_t &result) {
  if (bits < 1 || bits > 64)
    return kOverflows;
  auto shift = static_cast<unsigned>(64 - bits);
  result = static_cast<int64_t>(static_cast<uint64_t>(a) << shift) >> shift;
  return nullptr;
}

struct Operation {
  std::string_view word;
  Fault (*compute)(int64_t a, int64_t b, int64_t &result);
};

constexpr Operation kOperations[] = {
    {"add",
     [](int64_t a, int64_t b, int64_t &r) -> Fault {
       return __builtin_add_overflow(a, b, &r) ? kOverflows : nullptr;
     }},
    {"sub",
     [](int64_t a, int64_t b, int64_t &r) -> Fault {
       return __builtin_sub_overflow(a, b, &r) ? kOverflows : nullptr;
     }},
    {"mul",
     [](int64_t a, int64_t b, int64_t &r) -> Fault {
       return __builtin_mul_overflow(a, b, &r) ? kOverflows : nullptr;
     }},
    {"div", divide},
    {"rem",
     [](int64_t a, int64_t b, int64_t &r) -> Fault {
       if (b == 0)
         return kDivides;
       r = b == -1 ? 0 : a % b;
       return nullptr;
     }},
    {"ceildiv",
     [](int64_t a, int64_t b, int64_t &r) -> Fault { return divideRounded(a, b, true, r); }},
    {"floordiv",
     [](int64_t a, int64_t b, int64_t &r) -> Fault { return divideRounded(a, b, false, r); }},
    {"min", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = std::min(a, b), nullptr; }},
    {"max", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = std::max(a, b), nullptr; }},
    {"and", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = a & b, nullptr; }},
    {"or", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = a | b, nullptr; }},
    {"xor", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = a ^ b, nullptr; }},
    {"wrap", wrap},
    {"eq", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = a == b, nullptr; }},
    {"ne", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = a != b, nullptr; }},
    {"lt", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = a < b, nullptr; }},
    {"le", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = a <= b, nullptr; }},
    {"gt", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = a > b, nullptr; }},
    {"ge", [](int64_t a, int64_t b, int64_t &r) -> Fault { return r = a >= b, nullptr; }},
};

std::optional<int64_t> integerOf(std::string_view word) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  bool isWhole = error == std::errc() && end == word.data() + word.size();
  return isWhole ? std::optional(value) : std::nullopt;
}

} // namespace

void Extent::refuse(std::string_view problem) const {
  throw RuntimeError(fmt::format("extent '{}' {}", text_, problem));
}

Extent::Extent(std::string text, std::span<const Argument> arguments) : text_(std::move(text)) {
  std::istringstream words(text_);
  size_t depth = 0;
  for (std::string word; words >> word;) {
    Step step = stepOf(word, arguments);
    size_t taken = step.kind == Kind::operation ? 2 : step.kind == Kind::select ? 3 : 0;
    if (depth < taken)
      refuse(fmt::format("lacks operands of '{}'", word));
    depth += 1 - taken;
    if (depth > kMostDepth)
      refuse("is nested too deeply");
    if (step.kind == Kind::word)
      words_ = std::max(words_, static_cast<size_t>(step.value) + 1);
    steps_.push_back(step);
  }
  if (depth != 1)
    refuse(fmt::format("is {} values, expected one", depth));
}

Extent::Step Extent::stepOf(std::string_view word, std::span<const Argument> arguments) const {
  if (std::optional<int64_t> number = integerOf(word))
    return {Kind::number, *number};
  if (word == "n")
    return {Kind::ranks};
  if (word == "r")
    return {Kind::rank};
  if (std::optional<int64_t> loop = integerOf(word.substr(1)); word.starts_with('v') && loop)
    return {Kind::variable, *loop};
  if (word == "select")
    return {Kind::select};
  auto known = std::find_if(std::begin(kOperations), std::end(kOperations),
                            [&](const Operation &one) { return one.word == word; });
  if (known != std::end(kOperations))
    return {Kind::operation, known - std::begin(kOperations)};
  return argumentOf(word, arguments);
}

/// "a0.1", "a0.s1" or "a2".
Extent::Step Extent::argumentOf(std::string_view word, std::span<const Argument> arguments) const {
  size_t dot = std::min(word.find('.'), word.size());
  std::optional<int64_t> number = integerOf(word.substr(0, dot).substr(word.starts_with('a')));
  std::string_view part = word.substr(std::min(dot + 1, word.size()));
  bool isStride = part.starts_with('s');
  std::optional<int64_t> dim = integerOf(part.substr(isStride ? 1 : 0));
  bool isExtent = dot < word.size();
  if (!word.starts_with('a') || !number || (isExtent && !dim))
    refuse(fmt::format("has the unknown word '{}'", word));
  if (*number < 0 || *number >= static_cast<int64_t>(arguments.size()))
    refuse(fmt::format("takes argument {} of {}", *number, arguments.size()));
  auto place = static_cast<int64_t>(firstWord(arguments, static_cast<size_t>(*number)));
  const Argument &argument = arguments[static_cast<size_t>(*number)];
  if (isExtent != (argument.kind == ArgumentKind::view) || (!isExtent && isFloat(argument.type)))
    refuse(fmt::format("takes '{}', but '{}' is {}", word, argument.name,
                       argument.kind == ArgumentKind::view ? "a view" : "a number"));
  if (isExtent && (*dim < 0 || *dim >= argument.rank))
    refuse(
        fmt::format("takes extent {} of '{}', which has {}", *dim, argument.name, argument.rank));
  int64_t strides = isStride ? argument.rank : 0;
  return {Kind::word, isExtent ? place + 1 + strides + *dim : place};
}

int64_t Extent::evaluate(const LaunchValues &launch, std::string_view what) const {
  if (launch.words.size() < words_)
    throw InternalError(fmt::format("extent '{}' needs {} words of arguments, there are {}", text_,
                                    words_, launch.words.size()));
  std::array<int64_t, kMostDepth> stack;
  size_t top = 0;
  for (const Step &step : steps_) {
    switch (step.kind) {
    case Kind::number:
      stack[top++] = step.value;
      break;
    case Kind::word:
      stack[top++] = launch.words[static_cast<size_t>(step.value)];
      break;
    case Kind::ranks:
      stack[top++] = launch.ranks;
      break;
    case Kind::rank:
      stack[top++] = launch.rank;
      break;
    case Kind::variable:
      if (step.value < 0 || step.value >= static_cast<int64_t>(launch.variables.size()))
        throw InternalError(fmt::format("extent '{}' takes a loop that does not run", text_));
      stack[top++] = launch.variables[static_cast<size_t>(step.value)];
      break;
    case Kind::select:
      top -= 2;
      stack[top - 1] = stack[top - 1] ? stack[top] : stack[top + 1];
      break;
    case Kind::operation: {
      --top;
      int64_t a = stack[top - 1], b = stack[top];
      const Operation &operation = kOperations[step.value];
      if (Fault fault = operation.compute(a, b, stack[top - 1]))
        throw CompileError(fmt::format("{}: the extent '{}' {} ({} {} {})", what, text_, fault, a,
                                       operation.word, b));
      break;
    }
    }
  }
  return stack[0];
}

} // namespace ditron::abi
