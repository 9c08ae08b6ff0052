// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of requests: texts of whom nobody knows, made into tasks or refused.
#pragma once
#include "engine/Engine.h"
#include "formats/Json.h"
#include <stdexcept>
#include <string>
#include <string_view>

namespace serve {

/// A request that is wrong: status 400.
class BadRequest : public std::runtime_error {
public:
  /// `parameter`: of the body; empty where it is wrong as a whole.
  BadRequest(std::string parameter, const std::string &message)
      : std::runtime_error(message), parameter(std::move(parameter)) {}
  std::string parameter;
};

enum class Api { completions, chat };

/// What a request asks for.
struct Asked {
  Task task;
  bool isStream = false;
  bool isUsageWanted = false; ///< behind a stream
};

/// What requests are measured by.
struct Served {
  std::string model; ///< its name
  const generate::Tokenizer &tokenizer;
  int64_t context;
};

/// BadRequest naming the parameter, what was found, and what was expected.
Asked parseRequest(const Served &served, Api api, std::string_view body);

} // namespace serve
