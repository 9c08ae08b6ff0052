// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Server.h"
#include "http/Responses.h"
#include "http/SocketEnds.h"
#include <fmt/format.h>
#include <sys/socket.h>

namespace serve {

/// Answers a request that httplib does not get to see.
static bool refuse(RequestStream &stream, const char *status, const std::string &message) {
  std::string body = errorText("invalid_request_error", message);
  std::string text = fmt::format("HTTP/1.1 {}\r\nConnection: close\r\nContent-Type: "
                                 "application/json\r\nContent-Length: {}\r\n\r\n{}",
                                 status, body.size(), body);
  return stream.write(text.data(), text.size()) == ssize_t(text.size());
}

static bool refuseLong(RequestStream &stream) {
  if (!stream.hasLine())
    return refuse(stream, "414 URI Too Long", "the line of the request is too long");
  return refuse(stream, "431 Request Header Fields Too Large",
                fmt::format("the header is longer than {} bytes, expected at most that",
                            RequestStream::kMostHeader));
}

bool Server::isLocal() const {
  std::string address = ownEnd(svr_sock_).first;
  return address.starts_with("127.") || address == "::1";
}

void Server::holdConnections() { ::listen(svr_sock_, SOMAXCONN); }

bool Server::answer(socket_t socket) {
  Connections::Taken taken(connections_, socket);
  RequestStream stream(socket, bounds_);
  bool isClosed = false;
  // Answers are whole: of others httplib writes what was asked for, be it there or not.
  auto dropRanges = [](httplib::Request &request) { request.ranges.clear(); };
  switch (stream.readHeader()) {
  case RequestStream::Header::whole:
    return process_request(stream, true, isClosed, dropRanges);
  case RequestStream::Header::cut:
    return refuse(stream, "400 Bad Request", "the header does not come whole in time");
  case RequestStream::Header::malformed:
    return refuse(stream, "400 Bad Request", stream.problem());
  case RequestStream::Header::tooLong:
    return refuseLong(stream);
  case RequestStream::Header::none:
    return false;
  }
  return false;
}

bool Server::process_and_close_socket(socket_t socket) {
  bool isAnswered = answer(socket);
  hangUp(socket);
  return isAnswered;
}

} // namespace serve
