// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/HeaderLines.h"
#include <algorithm>
#include <fmt/format.h>

namespace serve {

static bool isControl(char c) {
  return (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 127;
}

std::string byteProblem(std::string_view header, size_t seen) {
  for (size_t n = seen; n < header.size(); ++n) {
    bool isBehindCr = n > 0 && header[n - 1] == '\r';
    if (isBehindCr != (header[n] == '\n'))
      return fmt::format("a line of the header ends in {} alone, expected CR LF",
                         isBehindCr ? "CR" : "LF");
    if (isControl(header[n]))
      return fmt::format("the header has a byte of value {}, expected HTTP, which is text, without "
                         "TLS",
                         int(header[n]));
  }
  return "";
}

/// What names of headers are made of.
static bool isOfName(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kOthers.find(c) != kOthers.npos;
}

std::string lineProblem(std::string_view header) {
  constexpr size_t kMostShown = 60, kMostOfLine = 8190; // httplib takes no longer ones
  constexpr std::string_view kEnd = "\r\n";
  size_t begin = header.find(kEnd) + kEnd.size();
  for (size_t end; (end = header.find(kEnd, begin)) != header.npos && end > begin;
       begin = end + kEnd.size()) {
    std::string_view line = header.substr(begin, end - begin),
                     name = line.substr(0, line.find(':'));
    if (line.size() > kMostOfLine)
      return fmt::format("'{}' of the header has a line of {} bytes, expected at most {}",
                         name.substr(0, kMostShown), line.size(), kMostOfLine);
    if (name.empty() || name.size() == line.size() || !std::ranges::all_of(name, isOfName))
      return fmt::format("the header has the line '{}', expected a name, a colon and a value",
                         line.substr(0, kMostShown));
  }
  return "";
}

} // namespace serve
