// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The other ends of connections. httplib tells handlers of no sockets, so they are looked for among
// those of the process.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace serve {

/// "127.0.0.1 5000": how the client of a request is called here.
std::string clientOf(const std::string &address, int port);

/// Address and port of the ends of a socket; empty where it has none.
std::pair<std::string, std::string> ownEnd(int socket);
std::pair<std::string, std::string> theirEnd(int socket);

/// The sockets that this process has accepted at a port, and their clients.
std::vector<std::pair<int, std::string>> peersAt(int port);

/// The other end of a connection, while a request of it is answered.
class Peer {
public:
  /// `port`: where the connection was accepted.
  Peer(const std::string &client, int port);
  /// Whether it has closed the connection: it wants no answer any more. One that has only said that it
  /// sends nothing more (SHUT_WR) is gone, too: the other end of TCP cannot tell the two apart.
  bool isGone() const;

private:
  int socket_ = -1;     ///< of the server; -1: not found
  bool isLost_ = false; ///< it was not there any more
};

} // namespace serve
