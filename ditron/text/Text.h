// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Textual IR from anywhere, before it is parsed in this process. MLIR's parser and verifiers take
// some texts for granted and crash on them, so that a text is
//
//   1. held to limits that the parser does not have: bytes, and how deep brackets nest (the parser
//      calls itself);
//   2. parsed, verified and dropped in a child process, whose verdict is the error here.
//
// What passes both is then parsed in this process.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ditron::text {

inline constexpr size_t kMostBytes = size_t(64) << 20;
inline constexpr int kDeepestNesting = 256;

/// Reads a text, behind which is a byte of value 0, to the end and drops what it has made: the first
/// error with its place, or nothing.
using Reader = std::function<std::string(std::string_view text)>;

/// Why a text must not be parsed in this process.
struct Hazard {
  size_t line = 0; ///< 0: none in particular
  std::string message;
};

/// "kernel.mlir:12: ..."
std::string describe(const Hazard &hazard, std::string_view file);

/// The limit that a text exceeds.
std::optional<Hazard> findExcess(std::string_view text);

/// What a child process made of a text, behind which is a byte of value 0.
struct Verdict {
  std::optional<Hazard> hazard; ///< the text exceeds a limit, or its reader crashed or did not end
  std::string error;            ///< of the reader
};
Verdict judge(std::string_view text, const Reader &reader);

/// CompileError "kernel.mlir:12: ..." where a text is a hazard or its reader finds an error.
void requireReadable(std::string_view text, std::string_view file, const Reader &reader);

} // namespace ditron::text
