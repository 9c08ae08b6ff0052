// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace generate {

using Json = nlohmann::json;

/// RuntimeError naming the file, and the place where the text does not parse.
Json parseJson(const std::string &path, std::string_view text);
Json readJson(const std::string &path);

/// The value of a key of an object of this file, converted to T. RuntimeError naming file and key
/// where it is missing or of another type.
[[noreturn]] void failJson(const std::string &path, const std::string &problem);
template <class T> T field(const std::string &path, const Json &object, const std::string &key) {
  if (!object.is_object() || !object.contains(key))
    failJson(path, "\"" + key + "\" is missing");
  try {
    return object.at(key).get<T>();
  } catch (const Json::exception &error) {
    failJson(path, "\"" + key + "\": " + error.what());
  }
}
/// The same, or a default where the key is missing or null.
template <class T>
T field(const std::string &path, const Json &object, const std::string &key, T otherwise) {
  if (!object.is_object() || !object.contains(key) || object.at(key).is_null())
    return otherwise;
  return field<T>(path, object, key);
}

} // namespace generate
