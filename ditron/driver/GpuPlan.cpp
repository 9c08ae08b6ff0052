// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The extents of symmetric memory and the numbers of tiles of a launch.
#include "ditron/driver/Compile.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <functional>
#include <map>
#include <sstream>

namespace ditron {

namespace {

int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

using Binary = std::function<int64_t(int64_t, int64_t)>;

/// Operations on two numbers by their words.
const std::map<std::string, Binary, std::less<>> &binaries() {
  static const std::map<std::string, Binary, std::less<>> all{
      {"add", [](int64_t a, int64_t b) { return a + b; }},
      {"sub", [](int64_t a, int64_t b) { return a - b; }},
      {"mul", [](int64_t a, int64_t b) { return a * b; }},
      {"div", [](int64_t a, int64_t b) { return a / b; }},
      {"rem", [](int64_t a, int64_t b) { return a % b; }},
      {"ceildiv", [](int64_t a, int64_t b) { return -floorDiv(-a, b); }},
      {"floordiv", floorDiv},
      {"min", [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"max", [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"eq", [](int64_t a, int64_t b) { return int64_t(a == b); }},
      {"ne", [](int64_t a, int64_t b) { return int64_t(a != b); }},
      {"lt", [](int64_t a, int64_t b) { return int64_t(a < b); }},
      {"le", [](int64_t a, int64_t b) { return int64_t(a <= b); }},
      {"gt", [](int64_t a, int64_t b) { return int64_t(a > b); }},
      {"ge", [](int64_t a, int64_t b) { return int64_t(a >= b); }},
  };
  return all;
}

bool divides(const std::string &word) {
  return word == "div" || word == "rem" || word == "ceildiv" || word == "floordiv";
}

class Evaluation {
public:
  Evaluation(const std::vector<KernelArgument> &arguments, int64_t ranks)
      : arguments_(arguments), ranks_(ranks) {}

  int64_t of(const std::string &text) {
    std::istringstream words(text);
    for (std::string word; words >> word;)
      step(word, text);
    return pop();
  }

private:
  int64_t pop() {
    if (stack_.empty())
      throw InternalError("an extent that lacks operands");
    int64_t value = stack_.back();
    stack_.pop_back();
    return value;
  }

  void step(const std::string &word, const std::string &text) {
    if (word == "n")
      return stack_.push_back(ranks_);
    if (word[0] == 'c' && word.size() > 1 && (std::isdigit(word[1]) || word[1] == '-'))
      return stack_.push_back(std::stoll(word.substr(1)));
    if ((word[0] == 'a' || word[0] == 's') && word.size() > 1 && std::isdigit(word[1]))
      return stack_.push_back(argument(word));
    if (word == "select") {
      int64_t otherwise = pop(), value = pop();
      return stack_.push_back(pop() ? value : otherwise);
    }
    auto found = binaries().find(word);
    if (found == binaries().end())
      throw InternalError(fmt::format("an extent with '{}'", word));
    int64_t b = pop(), a = pop();
    if (b == 0 && divides(word))
      throw CompileError(fmt::format("an extent divides by 0: {}", text));
    stack_.push_back(found->second(a, b));
  }

  /// "a0.1": extent 1 of argument 0. "s2": argument 2 itself.
  int64_t argument(const std::string &word) const {
    size_t dot = word.find('.');
    const KernelArgument &value = arguments_.at(std::stoul(word.substr(1, dot)));
    if (word[0] == 's')
      return std::get<int64_t>(value);
    return std::get<Tensor>(value).shape().at(std::stoul(word.substr(dot + 1)));
  }

  const std::vector<KernelArgument> &arguments_;
  int64_t ranks_;
  std::vector<int64_t> stack_;
};

} // namespace

int64_t evaluateExtent(const std::string &text, const std::vector<KernelArgument> &arguments,
                       int64_t ranks) {
  return Evaluation(arguments, ranks).of(text);
}

} // namespace ditron
