// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/KernelInfo.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

namespace ditron::abi {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
concept Structure = requires(T &value) { T::fields(value, [](const char *, auto &) {}); };

template <class T> constexpr bool kIsVector = false;
template <class T> constexpr bool kIsVector<std::vector<T>> = true;

/// The words of an enumeration's values.
template <class T> constexpr std::nullptr_t kNames = nullptr;
template <> constexpr std::array kNames<ArgumentKind> = {"view", "index", "scalar"};
template <> constexpr std::array kNames<SymmetricKind> = {"buffer", "signals", "inbox"};
template <>
constexpr std::array kNames<CopyKind> = {"put",  "notify add", "notify set", "wait",
                                         "loop", "branch",     "require"};

//===-- Writing -------------------------------------------------------------------------------===//

template <class T> Json toJson(const T &value) {
  if constexpr (Structure<T>) {
    Json object = Json::object();
    T::fields(value, [&](const char *name, auto &field) { object[name] = toJson(field); });
    return object;
  } else if constexpr (kIsVector<T>) {
    Json array = Json::array();
    for (const auto &element : value)
      array.push_back(toJson(element));
    return array;
  } else if constexpr (std::is_same_v<T, Extent>) {
    return value.text();
  } else if constexpr (std::is_same_v<T, DType>) {
    return std::string(name(value));
  } else if constexpr (std::is_enum_v<T>) {
    return kNames<T>[static_cast<size_t>(value)];
  } else {
    return value;
  }
}

//===-- Reading -------------------------------------------------------------------------------===//

/// Reads a description, field by field, into `info`.
class Reader {
public:
  explicit Reader(KernelInfo &info) : info_(info) {}

  /// `place` is the path of the value in the text: "symmetric[1].extents[0]".
  template <class T> void read(const Json &json, const std::string &place, T &value) {
    if constexpr (Structure<T>)
      readFields(json, place, value);
    else if constexpr (kIsVector<T>)
      readElements(json, place, value);
    else if constexpr (std::is_same_v<T, bool>)
      value = expect(json.is_boolean(), json, place, "true or false").template get<bool>();
    else if constexpr (std::is_same_v<T, int64_t>)
      value = expect(json.is_number_integer(), json, place, "an integer").template get<int64_t>();
    else if constexpr (std::is_same_v<T, std::string>)
      value = wordOf(json, place);
    else
      readWord(wordOf(json, place), place, value);
  }

private:
  [[noreturn]] static void refuse(const std::string &place, std::string_view problem) {
    throw RuntimeError(
        fmt::format("description of a kernel: {}{}{}", place, place.empty() ? "" : " ", problem));
  }

  static const Json &expect(bool holds, const Json &json, const std::string &place,
                            std::string_view expected) {
    if (!holds)
      refuse(place, fmt::format("is {}, expected {}", json.type_name(), expected));
    return json;
  }

  static std::string wordOf(const Json &json, const std::string &place) {
    return expect(json.is_string(), json, place, "a string").get<std::string>();
  }

  template <class T> void readFields(const Json &json, const std::string &place, T &value) {
    expect(json.is_object(), json, place, "an object");
    std::set<std::string> known;
    T::fields(value, [&](const char *name, auto &field) {
      std::string path = place.empty() ? name : fmt::format("{}.{}", place, name);
      auto found = json.find(name);
      if (found == json.end())
        refuse(path, "is missing");
      read(*found, path, field);
      isComplete_ |= path == "symmetric";
      known.insert(name);
    });
    for (const auto &[name, ignored] : json.items())
      if (!known.contains(name) && !(place.empty() && name == "version"))
        refuse(place.empty() ? name : fmt::format("{}.{}", place, name), "is not a known field");
  }

  template <class T> void readElements(const Json &json, const std::string &place, T &values) {
    expect(json.is_array(), json, place, "an array");
    values.clear();
    for (size_t n = 0; n < json.size(); ++n)
      read(json[n], fmt::format("{}[{}]", place, n), values.emplace_back());
  }

  void readWord(const std::string &word, const std::string &place, Extent &extent) {
    try {
      extent = Extent(word, arguments());
    } catch (const RuntimeError &error) {
      refuse(place, fmt::format("is wrong: {}", error.what()));
    }
  }
  static void readWord(const std::string &word, const std::string &place, DType &type) {
    try {
      type = parseDType(word);
    } catch (const Error &error) {
      refuse(place, fmt::format("is wrong: {}", error.what()));
    }
  }
  template <class T>
  static void readWord(const std::string &word, const std::string &place, T &value) {
    auto found = std::find(std::begin(kNames<T>), std::end(kNames<T>), word);
    if (found == std::end(kNames<T>))
      refuse(place, fmt::format("is the unknown word '{}'", word));
    value = static_cast<T>(found - std::begin(kNames<T>));
  }

  /// Those of the kernel, and its symmetric memory as views behind them.
  std::vector<Argument> arguments() const {
    std::vector<Argument> all = info_.arguments;
    for (const Symmetric &one : info_.symmetric)
      if (isComplete_)
        all.push_back(
            {one.name, ArgumentKind::view, DType::i64, static_cast<int64_t>(one.extents.size())});
    return all;
  }

  KernelInfo &info_;
  bool isComplete_ = false; ///< symmetric memory has been read
};

Json parsed(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object())
    throw RuntimeError("description of a kernel: is no JSON object");
  auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer())
    throw RuntimeError("description of a kernel: version is missing");
  if (version->get<int64_t>() != KernelInfo::kVersion)
    throw RuntimeError(fmt::format("description of a kernel: version is {}, expected {}",
                                   version->get<int64_t>(), KernelInfo::kVersion));
  return json;
}

/// RuntimeError unless a step of copy engines has what its kind takes.
template <class Check> void checkStep(const KernelInfo &info, size_t number, const Check &check) {
  struct Shape {
    size_t arguments, values;
  };
  static constexpr Shape kShapes[] = {{2, 3}, {1, 3}, {1, 3}, {1, 2}, {0, 3}, {0, 1}, {0, 1}};
  const CopyStep &step = info.copyProgram[number];
  Shape shape = kShapes[static_cast<size_t>(step.kind)];
  size_t values = step.values.size();
  bool hasValues = step.kind == CopyKind::put       ? values >= shape.values && values % 3 == 0
                   : step.kind == CopyKind::require ? values >= shape.values
                                                    : values == shape.values;
  auto behind = static_cast<int64_t>(info.copyProgram.size() - number - 1);
  if (step.arguments.size() != shape.arguments || !hasValues || step.body < 0 ||
      step.otherwise < 0 || step.body > behind || step.otherwise > behind - step.body)
    throw RuntimeError(
        fmt::format("description of a kernel: copy_program[{}] is no step of its kind", number));
  for (int64_t argument : step.arguments)
    check("copy_program", argument);
}

/// RuntimeError unless numbers of arguments are of some that there are.
void checkNumbers(const KernelInfo &info) {
  auto check = [count = info.arguments.size() + info.symmetric.size()](const char *field,
                                                                       int64_t number) {
    if (number < 0 || number >= static_cast<int64_t>(count))
      throw RuntimeError(
          fmt::format("description of a kernel: {} has argument {} of {}", field, number, count));
  };
  bool isLine = info.team.size() == 2 && info.team[0] >= 1 && info.team[1] >= 1;
  if (!info.team.empty() && !isLine)
    throw RuntimeError("description of a kernel: team is no stride and extent of 1 or more");
  for (int64_t number : info.readSingly)
    check("read_singly", number);
  for (int64_t number : info.readAhead)
    check("read_ahead", number);
  for (const TensorMap &map : info.tensorMaps)
    if (check("tensor_maps", map.argument); map.fitted >= std::ssize(map.box))
      throw RuntimeError(
          fmt::format("description of a kernel: tensor_maps fits dimension {} of a box of {}",
                      map.fitted, map.box.size()));
  for (size_t n = 0; n < info.copyProgram.size(); ++n)
    checkStep(info, n, check);
}

} // namespace

std::vector<int64_t> TensorMap::boxFor(std::span<const int64_t> extents) const {
  std::vector<int64_t> result = box;
  if (fitted >= 0) {
    int64_t rows = (extents[size_t(fitted)] + kFittedRows - 1) / kFittedRows * kFittedRows;
    result[size_t(fitted)] = std::min(result[size_t(fitted)], rows);
  }
  return result;
}

std::optional<MeshAxes::Line> KernelInfo::teamLine() const {
  if (team.size() != 2)
    return std::nullopt;
  return MeshAxes::Line{team[0], team[1]};
}

std::string toText(const KernelInfo &info) {
  Json json = {{"version", KernelInfo::kVersion}};
  json.update(toJson(info));
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

KernelInfo fromText(std::string_view text) {
  KernelInfo info;
  Reader(info).read(parsed(text), "", info);
  checkNumbers(info);
  return info;
}

std::string pack(const CompiledKernel &kernel) { return toText(kernel.info) + "\n" + kernel.code; }

CompiledKernel unpack(std::string_view bytes) {
  size_t end = std::min(bytes.find('\n'), bytes.size());
  return {fromText(bytes.substr(0, end)),
          std::string(bytes.substr(std::min(end + 1, bytes.size())))};
}

int64_t KernelInfo::cores(const LaunchValues &launch) const {
  int64_t most = 1;
  for (const Extent &count : tiles)
    most = std::max(most, count.evaluate(launch, "the number of tiles"));
  return most;
}

/// The words of each argument.
static std::vector<std::span<const int64_t>> byArgument(const KernelInfo &info,
                                                        std::span<const int64_t> words) {
  std::vector<std::span<const int64_t>> result;
  for (const Argument &argument : info.arguments) {
    auto count = static_cast<size_t>(argument.words());
    result.push_back(words.first(count));
    words = words.subspan(count);
  }
  return result;
}

std::vector<int64_t> viewTable(const KernelInfo &info, std::span<const int64_t> words) {
  std::vector<std::span<const int64_t>> all = byArgument(info, words);
  std::vector<int64_t> table;
  for (int64_t argument : info.viewTable) {
    std::span<const int64_t> own = all[static_cast<size_t>(argument)];
    table.insert(table.end(), own.begin(), own.end());
  }
  return table;
}

std::vector<int64_t> parameters(const KernelInfo &info, std::span<const int64_t> words) {
  std::vector<std::span<const int64_t>> all = byArgument(info, words);
  for (int64_t argument : info.tabled)
    all[static_cast<size_t>(argument)] = {};
  std::vector<int64_t> kept;
  for (std::span<const int64_t> own : all)
    kept.insert(kept.end(), own.begin(), own.end());
  return kept;
}

} // namespace ditron::abi
