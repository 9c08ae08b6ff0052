// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The other ends of connections. httplib keeps the sockets to itself, so they are looked for among
// those of the process.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace serve {

/// "127.0.0.1 5000": how the client of a request is called here.
std::string clientOf(const std::string &address, int port);

/// The sockets that this process has accepted at a port, and their clients.
std::vector<std::pair<int, std::string>> peersAt(int port);

/// The other end of a connection, while a request of it is answered.
class Peer {
public:
  /// `port`: where the connection was accepted.
  Peer(const std::string &client, int port);
  /// Whether it has closed the connection: it wants no answer any more.
  bool isGone() const;

private:
  int socket_ = -1; ///< of httplib; -1: not found
};

} // namespace serve
