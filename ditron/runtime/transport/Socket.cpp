// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/transport/Socket.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
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

File makeSocket(int flags = 0) {
  File file(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  if (!file)
    refuse("a unix socket");
  return file;
}

/// `skipped`: the zero that leads an abstract name.
SocketAddress addressOf(const std::string &name, size_t skipped) {
  SocketAddress result{};
  result.address.sun_family = AF_UNIX;
  if (skipped + name.size() >= sizeof(result.address.sun_path))
    throw InternalError(fmt::format("the name of a socket has {} bytes", name.size()));
  std::memcpy(result.address.sun_path + skipped, name.data(), name.size());
  result.length = socklen_t(offsetof(sockaddr_un, sun_path) + skipped + name.size());
  return result;
}

bool readable(const File &file, Deadline deadline) {
  std::vector<pollfd> entry{{file.number(), POLLIN, 0}};
  return waitReadable(entry, deadline);
}

} // namespace

SocketAddress SocketAddress::abstract(const std::string &name) { return addressOf(name, 1); }
SocketAddress SocketAddress::file(const std::string &path) { return addressOf(path, 0); }

File listenAt(const SocketAddress &address) {
  File file = makeSocket();
  auto *name = reinterpret_cast<const sockaddr *>(&address.address);
  if (bind(file.number(), name, address.length) != 0) {
    if (errno == EADDRINUSE)
      return {};
    refuse("binding a unix socket");
  }
  if (listen(file.number(), SOMAXCONN) != 0)
    refuse("listening at a unix socket");
  return file;
}

Contact connectTo(const SocketAddress &address) {
  File file = makeSocket(SOCK_NONBLOCK);
  auto *name = reinterpret_cast<const sockaddr *>(&address.address);
  if (connect(file.number(), name, address.length) != 0)
    return {.file = {}, .isBusy = errno == EAGAIN, .isRefused = errno == ECONNREFUSED};
  if (fcntl(file.number(), F_SETFL, 0) != 0)
    refuse("a socket that waits");
  return {.file = std::move(file)};
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

bool waitReadable(std::vector<pollfd> &files, Deadline deadline) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    int ready =
        poll(files.data(), files.size(), int(std::clamp<int64_t>(left.count() + 1, 0, 1000)));
    if (ready > 0)
      return true;
    if (ready < 0 && errno != EINTR)
      refuse("poll");
    if (left.count() < 0)
      return false;
  }
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

std::optional<size_t> receiveAtMost(const File &socket, void *data, size_t room, Deadline deadline,
                                    std::vector<File> *files) {
  if (!readable(socket, deadline))
    return std::nullopt;
  iovec part{data, room};
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
  if (received <= 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
    return std::nullopt;
  return size_t(received);
}

bool receiveMessage(const File &socket, void *data, size_t bytes, Deadline deadline,
                    std::vector<File> *files) {
  return receiveAtMost(socket, data, bytes, deadline, files) == bytes;
}

} // namespace ditron::runtime
