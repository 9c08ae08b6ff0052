// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/SocketEnds.h"
#include <netdb.h>
#include <sys/socket.h>

namespace serve {

std::string nameOfClient(const std::string &address, int port) {
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

} // namespace serve
