// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/RequestStream.h"
#include "http/HeaderLines.h"
#include "http/SocketEnds.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace serve {

using namespace std::chrono_literals;

/// Whether there is something to do at a socket by then.
static bool waitFor(int socket, short events, std::chrono::steady_clock::time_point end) {
  for (;;) {
    auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd file{socket, events, 0};
    int found = poll(&file, 1, int(std::max(left, 0ms).count()));
    if (found >= 0 || errno != EINTR)
      return found > 0;
  }
}

RequestStream::Clock::time_point RequestStream::endOfPause() const {
  constexpr std::chrono::seconds kMost{5};
  return Clock::now() + std::min(bounds_.patience, kMost);
}

bool RequestStream::is_readable() const { return waitFor(socket_, POLLIN, endOfPause()); }
bool RequestStream::is_writable() const { return waitFor(socket_, POLLOUT, endOfPause()); }

/// Adds up to this number of bytes to those that are here.
ssize_t RequestStream::receive(size_t most, Clock::time_point end) {
  constexpr size_t kPiece = 4096;
  if (!waitFor(socket_, POLLIN, std::min(end, endOfPause())))
    return -1;
  char piece[kPiece];
  ssize_t count = recv(socket_, piece, std::min(most, kPiece), 0);
  if (count > 0)
    received_.append(piece, size_t(count));
  return count;
}

RequestStream::Header RequestStream::readHeader() {
  constexpr std::string_view kEnd = "\n\r\n"; // a line with nothing in it
  Clock::time_point end = endOfPatience();
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
    if (receive(kMostHeader - seen, end) <= 0)
      return seen == 0 ? Header::none : Header::cut;
  }
}

ssize_t RequestStream::read(char *bytes, size_t size) {
  if (taken_ == received_.size()) {
    received_.clear();
    taken_ = 0;
    ssize_t count = bodyLeft_ > 0 ? receive(bodyLeft_, endOfPause()) : -1;
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
  Clock::time_point end = endOfPatience();
  for (size_t sent = 0; sent < size;) {
    if (!waitFor(socket_, POLLOUT, std::min(end, endOfPause())))
      return -1;
    ssize_t count = send(socket_, bytes + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN)
      return -1;
    sent += size_t(std::max<ssize_t>(count, 0));
  }
  return ssize_t(size);
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
  char rest[1 << 14];
  while (std::chrono::steady_clock::now() < end && waitFor(socket, POLLIN, end) &&
         recv(socket, rest, sizeof(rest), MSG_DONTWAIT) > 0)
    ;
  close(socket);
}

} // namespace serve
