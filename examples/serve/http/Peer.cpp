// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Peer.h"
#include <filesystem>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

namespace serve {

std::string clientOf(const std::string &address, int port) {
  return address + " " + std::to_string(port);
}

using NameOfSocket = int (*)(int, sockaddr *, socklen_t *);

/// Address and port of an end of a socket; empty where that is none.
static std::pair<std::string, std::string> endOf(int file, NameOfSocket name) {
  sockaddr_storage address;
  socklen_t size = sizeof(address);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (name(file, reinterpret_cast<sockaddr *>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr *>(&address), size, host, sizeof(host), port,
                  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  return {host, port};
}

std::pair<std::string, std::string> ownEnd(int socket) { return endOf(socket, getsockname); }
std::pair<std::string, std::string> theirEnd(int socket) { return endOf(socket, getpeername); }

static constexpr auto kFiles = "/proc/self/fd";

std::vector<std::pair<int, std::string>> peersAt(int port) {
  std::vector<std::pair<int, std::string>> result;
  std::error_code none; // where /proc is not there, nobody is seen
  for (const auto &entry : std::filesystem::directory_iterator(kFiles, none)) {
    int file = std::stoi(entry.path().filename().string());
    if (ownEnd(file).second != std::to_string(port))
      continue;
    if (auto [host, service] = theirEnd(file); !host.empty())
      result.emplace_back(file, host + " " + service);
  }
  return result;
}

Peer::Peer(const std::string &client, int port) {
  for (const auto &[file, found] : peersAt(port))
    if (found == client)
      socket_ = file;
  std::error_code none;
  isLost_ = socket_ < 0 && std::filesystem::exists(kFiles, none);
}

bool Peer::isGone() const {
  if (socket_ < 0)
    return isLost_;
  pollfd file{socket_, POLLRDHUP, 0}; // it is seen behind bytes that nobody has read
  return poll(&file, 1, 0) > 0;
}

} // namespace serve
