// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Headers.h"
#include <algorithm>
#include <arpa/inet.h>
#include <fmt/format.h>

namespace serve {

static std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return text;
}

/// The value of a header, not all of it if it is long.
static std::string shown(const httplib::Request &request, const char *name) {
  constexpr size_t kMost = 100;
  return request.get_header_value(name).substr(0, kMost);
}

std::string hostProblem(const httplib::Request &request) {
  size_t hosts = request.get_header_value_count("Host");
  bool isEnough = hosts == 1 || (hosts == 0 && request.version == "HTTP/1.0");
  return isEnough ? "" : fmt::format("there are {} Host, expected one", hosts);
}

bool isOfThisMachine(const httplib::Request &request, const std::string &known) {
  std::string host = lower(request.get_header_value("Host"));
  if (host.empty() || host.starts_with('['))
    return true; // HTTP/1.0, or an address of IPv6
  host.resize(std::min(host.find(':'), host.size()));
  in_addr address;
  return host == "localhost" || host == lower(known) ||
         inet_pton(AF_INET, host.c_str(), &address) == 1;
}

std::string lengthProblem(const httplib::Request &request) {
  size_t lengths = request.get_header_value_count("Content-Length");
  size_t encodings = request.get_header_value_count("Transfer-Encoding");
  if (lengths + encodings > 1)
    return fmt::format("there are {} Content-Length and {} Transfer-Encoding, expected one of them",
                       lengths, encodings);
  if (encodings == 1 && lower(request.get_header_value("Transfer-Encoding")) != "chunked")
    return fmt::format("Transfer-Encoding is '{}', expected chunked",
                       shown(request, "Transfer-Encoding"));
  std::string length = request.get_header_value("Content-Length");
  constexpr size_t kMostDigits = 18;
  bool isNumber = !length.empty() && length.size() <= kMostDigits &&
                  length.find_first_not_of("0123456789") == std::string::npos;
  if (lengths == 1 && !isNumber)
    return fmt::format("Content-Length is '{}', expected the number of bytes of the body",
                       shown(request, "Content-Length"));
  if (request.method == "POST" && lengths + encodings == 0)
    return "Content-Length is missing, expected the number of bytes of the body";
  return {};
}

std::string typeProblem(const httplib::Request &request) {
  std::string type = lower(request.get_header_value("Content-Type"));
  type.resize(std::min(type.find(';'), type.size()));
  type.resize(type.find_last_not_of(" \t") + 1);
  if (size_t types = request.get_header_value_count("Content-Type"); types > 1)
    return fmt::format("there are {} Content-Type, expected one", types);
  // Pages of the web can send other types to any server without asking it.
  if (type != "application/json")
    return fmt::format("Content-Type is '{}', expected application/json",
                       shown(request, "Content-Type"));
  std::string packed = request.get_header_value("Content-Encoding");
  if (!packed.empty() && packed != "gzip" && packed != "deflate" && packed != "br")
    return fmt::format("Content-Encoding is '{}', expected gzip, deflate or br",
                       shown(request, "Content-Encoding"));
  return {};
}

std::string wholeProblem(const httplib::Request &request) {
  std::string problem = "the body does not come whole in time";
  if (request.has_header("Content-Encoding"))
    problem += fmt::format(", or is not packed as its Content-Encoding '{}' says",
                           shown(request, "Content-Encoding"));
  if (request.has_header("Transfer-Encoding"))
    problem += ", or its chunks are not as Transfer-Encoding has them";
  return problem;
}

} // namespace serve
