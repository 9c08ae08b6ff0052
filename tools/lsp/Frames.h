// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace ditron::tools {

/// The messages of the language server protocol in a stream of bytes: "Content-Length: 12", an empty
/// line, and as many bytes.
class Frames {
public:
  static constexpr size_t kMostBytes = size_t(256) << 20;

  void append(std::string_view bytes) { bytes_ += bytes; }
  /// The next message that is whole; nothing where there is none yet. What is no header is skipped.
  std::optional<std::string> next();

private:
  std::string bytes_;
};

/// Whether the values of a message nest deeper than functions that call themselves should follow.
bool isTooDeep(std::string_view message);

/// A message with its header.
std::string framed(std::string_view message);

} // namespace ditron::tools
