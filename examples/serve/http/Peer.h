// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

namespace serve {

/// The other end of a connection, while a request of it is answered. httplib keeps the socket to
/// itself, so it is looked for among those of the process, by the address of its other end.
class Peer {
public:
  Peer(const std::string &address, int port);
  /// Whether it has closed the connection: it wants no answer any more.
  bool isGone() const;

private:
  int socket_ = -1; ///< of httplib; -1: not found
};

} // namespace serve
