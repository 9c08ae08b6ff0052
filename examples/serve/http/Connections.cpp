// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Connections.h"
#include "http/SocketEnds.h"
#include <algorithm>
#include <poll.h>
#include <sys/socket.h>

namespace serve {

/// As handlers hear of it.
static std::string clientOf(int socket) {
  auto [address, port] = theirEnd(socket);
  return nameOfClient(address, port.empty() ? 0 : std::stoi(port));
}

Connections::Taken::Taken(Connections &connections, int socket)
    : connections_(connections), socket_(socket) {
  std::string client = clientOf(socket);
  std::lock_guard guard(connections_.lock_);
  connections_.sockets_.emplace(client, socket);
  if (connections_.isEnding_)
    shutdown(socket, SHUT_RD);
}

Connections::Taken::~Taken() {
  std::lock_guard guard(connections_.lock_);
  std::erase_if(connections_.sockets_, [&](const auto &one) { return one.second == socket_; });
}

bool Connections::isGone(const std::string &client) const {
  std::lock_guard guard(lock_);
  auto found = sockets_.find(client);
  if (found == sockets_.end())
    return true;
  pollfd file{found->second, POLLRDHUP, 0}; // it is seen behind bytes that nobody has read
  return poll(&file, 1, 0) > 0;
}

void Connections::end() {
  std::lock_guard guard(lock_);
  isEnding_ = true;
  for (const auto &[client, socket] : sockets_)
    shutdown(socket, SHUT_RD);
}

} // namespace serve
