// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Signature.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <optional>

namespace ditron {

std::string Dimension::text() const {
  std::string result = fmt::format("{}", fmt::join(factors, "*"));
  for (const std::string &divisor : divisors)
    result += "/" + divisor;
  if (isRoundedUp)
    result = "ceil(" + result + ")";
  if (more)
    result += fmt::format("+{}", more);
  return result;
}

std::string Argument::text() const {
  if (isScalar)
    return name;
  std::vector<std::string> extents;
  for (const Dimension &dimension : dims)
    extents.push_back(dimension.text());
  return fmt::format("{}[{}]", name, fmt::join(extents, ","));
}

//===-- Parsing -------------------------------------------------------------------------------===//

namespace {

/// Recursive descent over `name(argument, ...) -> argument, ...`.
class Parser {
public:
  Parser(std::string_view text, std::source_location where) : text_(text), where_(where) {}

  enum class Hyphens { no, yes };
  std::string word(const char *what, Hyphens hyphens = Hyphens::no) {
    skipSpace();
    auto belongs = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
             (hyphens == Hyphens::yes && c == '-' && !peek("->"));
    };
    size_t first = at_;
    while (at_ < text_.size() && belongs(text_[at_]))
      ++at_;
    if (at_ == first)
      fail(what);
    return std::string(text_.substr(first, at_ - first));
  }

  /// A name, or an integer of 1 to 2^63 - 1.
  std::string factor() {
    size_t first = at_;
    std::string text = word("a dimension");
    int64_t value = 0;
    const char *begin = text.data(), *end = begin + text.size();
    if (!std::isdigit(static_cast<unsigned char>(text.front())))
      return text;
    if (auto [rest, error] = std::from_chars(begin, end, value);
        error != std::errc() || rest != end || value < 1) {
      at_ = first;
      fail("a dimension, which is a name or a positive integer,");
    }
    return text;
  }

  bool accept(std::string_view token) {
    skipSpace();
    if (!peek(token))
      return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token))
      fail(fmt::format("'{}'", token));
  }

  Dimension dimension() {
    Dimension result;
    result.isRoundedUp = accept("ceil(");
    result.factors.push_back(factor());
    while (true) {
      if (accept("*"))
        result.factors.push_back(factor());
      else if (accept("/"))
        result.divisors.push_back(factor());
      else
        break;
    }
    if (result.isRoundedUp)
      expect(")");
    if (accept("+"))
      result.more = integer();
    return result;
  }

  int64_t integer() {
    skipSpace();
    int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 1)
      fail("a positive integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  /// Whether the sign of an absent argument stands here; it is passed over.
  bool acceptAbsent() {
    skipSpace();
    if (!peek("-") || peek("->"))
      return false;
    ++at_;
    return true;
  }

  Argument argument(bool isOutput) {
    Argument result{word("the name of an argument"), isOutput, false, {}};
    if (!accept("[")) {
      result.isScalar = true;
      return result;
    }
    do
      result.dims.push_back(dimension());
    while (accept(","));
    expect("]");
    return result;
  }

  void end() {
    skipSpace();
    if (at_ != text_.size())
      fail("the end");
  }

  [[noreturn]] void fail(std::string_view expected) const {
    throw CompileError(
        fmt::format("signature \"{}\": expected {} at column {}", text_, expected, at_ + 1),
        where_);
  }

private:
  bool peek(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  void skipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
      ++at_;
  }

  std::string_view text_;
  std::source_location where_;
  size_t at_ = 0;
};

/// What the parser has found to be one.
bool isNumber(const std::string &factor) {
  return std::isdigit(static_cast<unsigned char>(factor.front()));
}
int64_t numberOf(const std::string &factor) {
  int64_t value = 0;
  std::from_chars(factor.data(), factor.data() + factor.size(), value);
  return value;
}

/// x * y; CompileError where an extent, which `what` says, cannot be as large.
int64_t multiplied(int64_t x, int64_t y, const std::string &what) {
  int64_t result = 0;
  if (__builtin_mul_overflow(x, y, &result))
    throw CompileError(fmt::format("{} is larger than 2^63 - 1", what));
  return result;
}

/// "gemm(A[M,K], B[K,N]) -> C[M,N]": the arguments that there are.
std::string textOf(const std::string &name, const std::vector<Argument> &arguments) {
  std::vector<std::string> inputs, outputs;
  for (const Argument &argument : arguments)
    (argument.isOutput ? outputs : inputs).push_back(argument.text());
  return fmt::format("{}({}){}{}", name, fmt::join(inputs, ", "), outputs.empty() ? "" : " -> ",
                     fmt::join(outputs, ", "));
}

} // namespace

Signature::Signature(std::string_view text, bool hasOutputs, std::source_location where)
    : text_(text) {
  Parser parser(text, where);
  name_ = parser.word("the kernel's name", Parser::Hyphens::yes);
  parser.expect("(");
  if (!parser.accept(")")) {
    do {
      isAbsent_.push_back(parser.acceptAbsent());
      if (!isAbsent_.back())
        arguments_.push_back(parser.argument(false));
    } while (parser.accept(","));
    parser.expect(")");
  }
  bool lacksSome = arguments_.size() < isAbsent_.size();
  if (hasOutputs) {
    parser.expect("->");
    do {
      arguments_.push_back(parser.argument(true));
      isAbsent_.push_back(false);
    } while (parser.accept(","));
  }
  parser.end();
  if (lacksSome)
    text_ = textOf(name_, arguments_);
  for (const Argument &argument : arguments_)
    if (argument.isScalar && argument.isOutput)
      throw CompileError(
          fmt::format("signature \"{}\": the output {} has no dimensions", text_, argument.name),
          where);
  requireOneOfEachName(where);
}

void Signature::requireOneOfEachName(std::source_location where) const {
  for (size_t n = 0; n < arguments_.size(); ++n)
    for (size_t other = 0; other < n; ++other)
      if (arguments_[n].name == arguments_[other].name)
        throw CompileError(
            fmt::format("signature \"{}\": two arguments are called {}", text_, arguments_[n].name),
            where);
}

//===-- Shapes --------------------------------------------------------------------------------===//

int64_t Signature::evaluate(const Dimension &dimension, const Dimensions &dims,
                            const std::string &argument) const {
  auto value = [&](const std::string &factor) {
    if (isNumber(factor))
      return numberOf(factor);
    auto found = dims.find(factor);
    if (found == dims.end())
      throw CompileError(fmt::format("{}: {} of {} is not known from the other arguments", text_,
                                     factor, argument));
    return found->second;
  };
  std::string what = fmt::format("{}: {} of {}", text_, dimension.text(), argument);
  int64_t result = 1;
  for (const std::string &factor : dimension.factors)
    result = multiplied(result, value(factor), what);
  for (const std::string &divisor : dimension.divisors) {
    int64_t by = value(divisor);
    if (by == 0)
      throw CompileError(fmt::format("{} is divided by {}, which is 0", what, divisor));
    if (result % by && !dimension.isRoundedUp)
      throw CompileError(fmt::format("{}: {} of {} is {} by {}, which leaves a rest", text_,
                                     dimension.text(), argument, result, by));
    result = result / by + (result % by != 0);
  }
  return result + dimension.more;
}

std::vector<int64_t> Signature::shape(const Argument &argument, const Dimensions &dims) const {
  std::vector<int64_t> result;
  for (const Dimension &dimension : argument.dims)
    result.push_back(evaluate(dimension, dims, argument.name));
  return result;
}

/// The name in a product whose extent the others do not give, and the product of the others over
/// the divisors: `multiple / divisor` times the name.
struct Signature::Unknown {
  std::string name;
  int64_t multiple = 1, divisor = 1;
};

/// None if the dimension, which `what` says, has no unknown name, several, one that divides or one that is rounded.
static std::optional<Signature::Unknown>
unknownOf(const Dimension &dimension, const Dimensions &dims, const std::string &what) {
  if (dimension.isRoundedUp)
    return {};
  Signature::Unknown unknown;
  auto known = [&](const std::string &factor) -> std::optional<int64_t> {
    if (isNumber(factor))
      return numberOf(factor);
    auto found = dims.find(factor);
    return found == dims.end() ? std::nullopt : std::optional(found->second);
  };
  for (const std::string &factor : dimension.factors) {
    if (std::optional<int64_t> value = known(factor))
      unknown.multiple = multiplied(unknown.multiple, *value, what);
    else if (unknown.name.empty())
      unknown.name = factor;
    else
      return {};
  }
  for (const std::string &divisor : dimension.divisors) {
    std::optional<int64_t> value = known(divisor);
    if (!value)
      return {};
    if (*value == 0)
      throw CompileError(fmt::format("{} is divided by {}, which is 0", what, divisor));
    unknown.divisor = multiplied(unknown.divisor, *value, what);
  }
  return unknown.name.empty() ? std::nullopt : std::optional(unknown);
}

/// Binds the names that stand in products only, once everything else of the product is known: one
/// may make another one known.
void Signature::bindProducts(const std::vector<const std::vector<int64_t> *> &given,
                             Dimensions &dims) const {
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (size_t n = 0; n < arguments_.size() && n < given.size(); ++n)
      for (size_t d = 0; given[n] && d < arguments_[n].dims.size(); ++d) {
        const Dimension &dimension = arguments_[n].dims[d];
        std::string what = fmt::format("{}: {} of {}", text_, dimension.text(), arguments_[n].name);
        std::optional<Unknown> unknown = unknownOf(dimension, dims, what);
        if (!unknown)
          continue;
        int64_t extent = multiplied((*given[n])[d] - dimension.more, unknown->divisor, what);
        if (unknown->multiple < 1 || extent % unknown->multiple)
          throw CompileError(
              fmt::format("{}: {} is {} in {}, expected a multiple of {}{}", text_,
                          dimension.text(), (*given[n])[d], arguments_[n].name,
                          unknown->multiple / std::gcd(unknown->multiple, unknown->divisor),
                          dimension.more ? fmt::format(" and {} more", dimension.more) : ""));
        dims[unknown->name] = extent / unknown->multiple;
        isNew = true;
      }
  }
}

Dimensions Signature::bind(const std::vector<const std::vector<int64_t> *> &given, int64_t ranks,
                           const MeshAxes &mesh) const {
  Dimensions dims{{"R", ranks}};
  for (const MeshAxes::Axis &axis : mesh.axes())
    dims["R_" + axis.name] = axis.extent;
  std::map<std::string, std::string> definedBy;
  auto eachGiven = [&](auto visit) {
    for (size_t n = 0; n < arguments_.size() && n < given.size(); ++n)
      if (given[n] && !arguments_[n].isScalar)
        visit(arguments_[n], *given[n]);
  };
  eachGiven([&](const Argument &argument, const std::vector<int64_t> &shape) {
    if (shape.size() != argument.dims.size())
      throw CompileError(fmt::format("{}: {} has {} dimensions, expected {}", text_, argument.name,
                                     shape.size(), argument.dims.size()));
    for (size_t d = 0; d < shape.size(); ++d) {
      const Dimension &dimension = argument.dims[d];
      if (shape[d] < dimension.more)
        throw CompileError(fmt::format("{}: {} is {} in {}, expected {} or more", text_,
                                       dimension.text(), shape[d], argument.name, dimension.more));
      const std::string &name = dimension.factors.front();
      if (dimension.factors.size() != 1 || !dimension.divisors.empty() || dimension.more ||
          dimension.isRoundedUp || isNumber(name))
        continue;
      auto [found, isNew] = dims.emplace(name, shape[d]);
      if (isNew)
        definedBy[name] = argument.name;
      else if (found->second != shape[d])
        throw CompileError(fmt::format(
            "{}: {} is {} in {} but {} in {}", text_, name, found->second,
            definedBy.contains(name) ? definedBy[name] : "the run", shape[d], argument.name));
    }
  });
  bindProducts(given, dims);
  eachGiven([&](const Argument &argument, const std::vector<int64_t> &given) {
    std::vector<int64_t> expected = shape(argument, dims);
    for (size_t d = 0; d < expected.size(); ++d)
      if (expected[d] != given[d])
        throw CompileError(fmt::format("{}: {} is {} in {}, expected {}", text_,
                                       argument.dims[d].text(), given[d], argument.name,
                                       expected[d]));
  });
  return dims;
}

std::vector<std::string> Signature::dimensionNames() const {
  std::vector<std::string> names;
  auto add = [&](const std::string &factor) {
    bool countsRanks = factor == "R" || factor.starts_with("R_");
    if (!countsRanks && !isNumber(factor) &&
        std::find(names.begin(), names.end(), factor) == names.end())
      names.push_back(factor);
  };
  for (const Argument &argument : arguments_)
    for (const Dimension &dimension : argument.dims) {
      std::for_each(dimension.factors.begin(), dimension.factors.end(), add);
      std::for_each(dimension.divisors.begin(), dimension.divisors.end(), add);
    }
  return names;
}

} // namespace ditron
