// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace serve {

/// The connections that threads have taken, by client: httplib tells handlers of a request's client,
/// not of its socket.
class Connections {
public:
  /// One of them, from when a thread takes its socket until just before it is closed.
  class Taken {
  public:
    Taken(Connections &connections, int socket);
    ~Taken();
    Taken(const Taken &) = delete;
    Taken &operator=(const Taken &) = delete;

  private:
    Connections &connections_;
    int socket_;
  };

  /// Whether a client has closed its connection: it wants no answer any more. One that has only said
  /// that it sends nothing more (SHUT_WR) is gone, too: the other end of TCP cannot tell the two apart.
  bool isGone(const std::string &client) const;

  /// From now on no request is waited for: what is being read ends where it is.
  void end();
  bool isEnding() const { return isEnding_; }

private:
  mutable std::mutex lock_;
  std::multimap<std::string, int> sockets_; ///< by client; some that are gone have no name
  std::atomic<bool> isEnding_ = false;
};

} // namespace serve
