// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/RequestStream.h"
#include "http/HeaderLines.h"
#include "http/Peer.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace serve {

using namespace std::chrono_literals;

/// Whether there is something to do at a socket within a time.
static bool waitFor(int socket, short events, std::chrono::milliseconds time) {
  pollfd file{socket, events, 0};
  int found;
  do
    found = poll(&file, 1, int(time.count()));
  while (found < 0 && errno == EINTR);
  return found > 0;
}

bool RequestStream::is_readable() const { return waitFor(socket_, POLLIN, patience_); }
bool RequestStream::is_writable() const { return waitFor(socket_, POLLOUT, patience_); }

/// Adds up to this number of bytes to those that are here.
ssize_t RequestStream::receive(size_t most) {
  constexpr size_t kPiece = 4096;
  if (!is_readable())
    return -1;
  char piece[kPiece];
  ssize_t count = recv(socket_, piece, std::min(most, kPiece), 0);
  if (count > 0)
    received_.append(piece, size_t(count));
  return count;
}

RequestStream::Header RequestStream::readHeader() {
  constexpr std::string_view kEnd = "\n\r\n"; // a line with nothing in it
  for (size_t seen = 0;;) {
    size_t found = received_.find(kEnd, seen - std::min(seen, kEnd.size() - 1));
    bool isWhole = found != std::string::npos;
    auto header =
        std::string_view(received_).substr(0, isWhole ? found + kEnd.size() : received_.size());
    problem_ = byteProblem(header, seen);
    if (problem_.empty() && isWhole)
      problem_ = lineProblem(header);
    if (!problem_.empty())
      return Header::malformed;
    if (isWhole)
      return Header::whole;
    seen = received_.size();
    if (seen == kMostHeader)
      return Header::tooLong;
    if (receive(kMostHeader - seen) <= 0)
      return seen == 0 ? Header::none : Header::cut;
  }
}

ssize_t RequestStream::read(char *bytes, size_t size) {
  if (taken_ == received_.size()) {
    received_.clear();
    taken_ = 0;
    ssize_t count = bodyLeft_ > 0 ? receive(bodyLeft_) : -1;
    if (count <= 0)
      return count;
    bodyLeft_ -= size_t(count);
  }
  size_t count = std::min(size, received_.size() - taken_);
  std::memcpy(bytes, received_.data() + taken_, count);
  taken_ += count;
  return ssize_t(count);
}

ssize_t RequestStream::write(const char *bytes, size_t size) {
  return is_writable() ? send(socket_, bytes, size, MSG_NOSIGNAL) : -1;
}

static void take(const std::pair<std::string, std::string> &end, std::string &address, int &port) {
  address = end.first;
  port = end.second.empty() ? 0 : std::stoi(end.second);
}

void RequestStream::get_remote_ip_and_port(std::string &address, int &port) const {
  take(theirEnd(socket_), address, port);
}

void RequestStream::get_local_ip_and_port(std::string &address, int &port) const {
  take(ownEnd(socket_), address, port);
}

void hangUp(int socket) {
  constexpr auto kTime = 2s;
  shutdown(socket, SHUT_WR);
  auto end = std::chrono::steady_clock::now() + kTime;
  auto left = [&] {
    return std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  };
  char rest[1 << 14];
  while (left() > 0ms && waitFor(socket, POLLIN, left()) &&
         recv(socket, rest, sizeof(rest), MSG_DONTWAIT) > 0)
    ;
  close(socket);
}

} // namespace serve
