// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Peer.h"
#include <cerrno>
#include <filesystem>
#include <netdb.h>
#include <string>
#include <sys/socket.h>

namespace serve {

/// "127.0.0.1 5000" of the other end of a socket; empty where that is none.
static std::string addressOf(int file) {
  sockaddr_storage address;
  socklen_t size = sizeof(address);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getpeername(file, reinterpret_cast<sockaddr *>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr *>(&address), size, host, sizeof(host), port,
                  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  return std::string(host) + " " + port;
}

Peer::Peer(const std::string &address, int port) {
  std::string wanted = address + " " + std::to_string(port);
  std::error_code none; // where /proc is not there, nobody is seen to go
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd", none)) {
    int file = std::stoi(entry.path().filename().string());
    if (addressOf(file) == wanted)
      socket_ = file;
  }
}

bool Peer::isGone() const {
  if (socket_ < 0)
    return false;
  char byte;
  ssize_t found = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return found == 0 || (found < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

} // namespace serve
