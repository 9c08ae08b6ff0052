// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/transport/Socket.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace ditron::runtime {

namespace {

constexpr size_t kMaxFiles = 253; // Linux's bound on the files of one message

[[noreturn]] void refuse(const char *what) {
  const char *advice = errno == EMFILE ? " (ulimit -n: ranks that are processes need a socket for "
                                         "every two of them)"
                                       : "";
  throw RuntimeError(fmt::format("{} is refused: {}{}", what, std::strerror(errno), advice));
}

File makeSocket() {
  File file(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!file)
    refuse("a unix socket");
  return file;
}

std::pair<sockaddr_un, socklen_t> abstractAddress(const std::string &name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length); // a leading zero: no name in any folder
  return {address, socklen_t(offsetof(sockaddr_un, sun_path) + 1 + length)};
}

/// Waits until the file can be read; false at the deadline.
bool readable(const File &file, Deadline deadline) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd entry{file.number(), POLLIN, 0};
    int ready = poll(&entry, 1, int(std::clamp<int64_t>(left.count() + 1, 0, 1000)));
    if (ready > 0)
      return true;
    if (ready < 0 && errno != EINTR)
      refuse("poll");
    if (left.count() < 0)
      return false;
  }
}

} // namespace

File listenAt(const std::string &name) {
  File file = makeSocket();
  auto [address, length] = abstractAddress(name);
  if (bind(file.number(), reinterpret_cast<sockaddr *>(&address), length) != 0) {
    if (errno == EADDRINUSE)
      return {};
    refuse("binding a unix socket");
  }
  if (listen(file.number(), SOMAXCONN) != 0)
    refuse("listening at a unix socket");
  return file;
}

File connectTo(const std::string &name) {
  File file = makeSocket();
  auto [address, length] = abstractAddress(name);
  if (connect(file.number(), reinterpret_cast<sockaddr *>(&address), length) != 0)
    return {};
  return file;
}

File acceptFrom(const File &listener, Deadline deadline) {
  while (readable(listener, deadline)) {
    File file(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (file)
      return file;
    if (errno != EINTR && errno != ECONNABORTED)
      refuse("accepting a connection");
  }
  return {};
}

std::pair<File, File> socketPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    refuse("a pair of unix sockets");
  return {File(ends[0]), File(ends[1])};
}

PeerProcess peerOf(const File &socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    refuse("asking a unix socket for its peer");
  return {credentials.uid, credentials.pid};
}

bool sendMessage(const File &socket, const void *data, size_t bytes,
                 const std::vector<int> &files) {
  if (files.size() > kMaxFiles)
    throw RuntimeError(
        fmt::format("{} open files for one message: {} is the most", files.size(), kMaxFiles));
  iovec part{const_cast<void *>(data), bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  std::vector<char> control(CMSG_SPACE(sizeof(int) * files.size()));
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * files.size());
    std::memcpy(CMSG_DATA(header), files.data(), sizeof(int) * files.size());
  }
  ssize_t sent;
  do
    sent = sendmsg(socket.number(), &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == ssize_t(bytes);
}

bool receiveMessage(const File &socket, void *data, size_t bytes, Deadline deadline,
                    std::vector<File> *files) {
  if (!readable(socket, deadline))
    return false;
  iovec part{data, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  std::vector<char> control(CMSG_SPACE(sizeof(int) * kMaxFiles));
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received;
  do
    received = recvmsg(socket.number(), &message, MSG_CMSG_CLOEXEC);
  while (received < 0 && errno == EINTR);
  for (cmsghdr *header = CMSG_FIRSTHDR(&message); received >= 0 && header;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
      continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      File file(number);
      if (files)
        files->push_back(std::move(file));
    }
  }
  return received == ssize_t(bytes) && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
}

} // namespace ditron::runtime
