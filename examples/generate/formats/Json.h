// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <concepts>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace generate {

using Json = nlohmann::json;

/// RuntimeError naming the file, and the place where the text does not parse.
Json parseJson(const std::string &path, std::string_view text);
/// The same, where no object may have a key twice: of a text that parses, the last one would count.
Json parseJsonOnce(const std::string &path, std::string_view text);
Json readJson(const std::string &path);

/// Whether there is a number that is not whole: converted to an integer it would be another one.
bool hasReals(const Json &value);
/// Whether a T is an integer, or is made of them.
template <class T> constexpr bool kIsOfIntegers = std::integral<T> && !std::same_as<T, bool>;
template <class T>
  requires requires { typename T::value_type; }
constexpr bool kIsOfIntegers<T> = kIsOfIntegers<typename T::value_type>;
template <class Key, class T> constexpr bool kIsOfIntegers<std::map<Key, T>> = kIsOfIntegers<T>;
template <> inline constexpr bool kIsOfIntegers<std::string> = false;
template <> inline constexpr bool kIsOfIntegers<Json> = false;

/// What is wrong, without the library's number of it.
std::string reasonOf(const Json::exception &error);
/// The value of a key of an object of this file, converted to T. RuntimeError naming file and key
/// where it is missing or of another type.
[[noreturn]] void failJson(const std::string &path, const std::string &problem);
/// `owner`: "tensor 'x'", whose object it is, for the message.
template <class T>
T fieldOf(const std::string &owner, const std::string &path, const Json &object,
          const std::string &key) {
  std::string name = (owner.empty() ? "\"" : owner + ": \"") + key + "\"";
  if (!object.is_object() || !object.contains(key))
    failJson(path, name + " is missing");
  if (kIsOfIntegers<T> && hasReals(object.at(key)))
    failJson(path, name + " has a number that is not whole");
  try {
    return object.at(key).get<T>();
  } catch (const Json::exception &error) {
    failJson(path, name + ": " + reasonOf(error));
  }
}
template <class T> T field(const std::string &path, const Json &object, const std::string &key) {
  return fieldOf<T>("", path, object, key);
}
/// The same, or a default where the key is missing or null.
template <class T>
T field(const std::string &path, const Json &object, const std::string &key, T otherwise) {
  if (!object.is_object() || !object.contains(key) || object.at(key).is_null())
    return otherwise;
  return field<T>(path, object, key);
}

} // namespace generate
