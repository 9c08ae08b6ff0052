// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may be chosen about a kernel of the library: tile sizes, numbers of communicating cores,
// variants. A Config changes the traced program; the tuner walks the candidates.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::kernels {

/// That another choice has one of these values.
struct ChoiceNeed {
  std::string choice;
  std::vector<int64_t> values;
};

/// One choice.
struct ConfigParameter {
  std::string name, summary;
  std::vector<int64_t> candidates; ///< what the tuner tries; others may be given by hand
  std::vector<std::string> names =
      {}; ///< of the values 0, 1, ... where they are names, not numbers
  int64_t minimum = 1;
  /// What it takes to have an effect, and the value that says so where it has none.
  std::vector<ChoiceNeed> needs = {};
  int64_t without = 1;
};

/// A value for every choice of a kernel, in the order of its parameters.
class Config {
public:
  struct Value {
    std::string name;
    int64_t value;
  };

  Config(std::initializer_list<Value> values) : values_(values) {}

  /// The value of a choice; InternalError if there is none of that name.
  int64_t operator[](std::string_view name) const;
  /// The same as an int, for tile sizes.
  int get(std::string_view name) const { return static_cast<int>((*this)[name]); }
  /// The same, or `otherwise` if there is none.
  int64_t valueOr(std::string_view name, int64_t otherwise) const;
  /// A choice behind those that there are.
  void add(Value value) { values_.push_back(std::move(value)); }
  /// Changes a value; InternalError if there is none of that name.
  void set(std::string_view name, int64_t value);
  const std::vector<Value> &values() const { return values_; }

  /// Changes the values named in "m=64,activation=relu". UsageError that names what is wrong and
  /// what is known: an unknown name, a value that is no number, one below the minimum.
  void parse(std::string_view text, const std::vector<ConfigParameter> &parameters);
  /// Why a choice has no effect: "senders is 32, which has no effect with protocol=ll; expected 0, or
  /// engine=cores and protocol=simple". Empty: all have, or say that they have none.
  std::string whatHasNoEffect(const std::vector<ConfigParameter> &parameters) const;
  /// Choices that have no effect say so, but those named in `text`: UsageError where one of them has
  /// none.
  void settle(std::string_view text, const std::vector<ConfigParameter> &parameters);
  /// "m=64,n=256,...": what parse reads.
  std::string text(const std::vector<ConfigParameter> &parameters) const;

private:
  Value *find(std::string_view name);
  /// What a choice needs and does not find; null: nothing.
  const ChoiceNeed *unmet(const ConfigParameter &parameter) const;
  std::vector<Value> values_;
};

/// The pairs of "a=1,b=x"; UsageError naming `what` where a part is not `name=value`, or a name is
/// there twice.
std::vector<std::pair<std::string, std::string>> parseAssignments(std::string_view text,
                                                                  std::string_view what);
/// The assignments of `text` over those of `defaults`: "m=8,k=16" over "m=4,n=4" is
/// "n=4,m=8,k=16".
std::string assignOver(std::string_view defaults, std::string_view text, std::string_view what);
/// A decimal integer from `minimum` to `maximum`; UsageError "`name` is `text`, expected ...".
int64_t parseInteger(std::string_view name, std::string_view text, int64_t minimum,
                     int64_t maximum = INT64_MAX);
/// The name of today of an option ("--resident") or of a choice of a configuration ("resident")
/// that had another one; empty: it was not renamed.
std::string_view renamed(std::string_view given);
/// The one of `known` that looks most like `given`: "; did you mean X?", or nothing if none does.
std::string suggestion(std::string_view given, const std::vector<std::string> &known);

} // namespace ditron::kernels
