// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Connections.h"
#include "ditron/support/StartThread.h"
#include "http/Peer.h"
#include <set>
#include <sys/socket.h>

namespace serve {

using namespace std::chrono_literals;

Connections::~Connections() {
  {
    std::lock_guard guard(lock_);
    isOver_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void Connections::watch(int port) {
  thread_ = ditron::startThread("the thread that watches connections", [=, this] { run(port); });
}

Connections::Answered::Answered(Connections &connections, const std::string &client)
    : connections_(connections), client_(client) {
  std::lock_guard guard(connections_.lock_);
  ++connections_.connections_[client_].answers;
}

Connections::Answered::~Answered() {
  std::lock_guard guard(connections_.lock_);
  Connection &connection = connections_.connections_[client_];
  --connection.answers;
  connection.since = Clock::now();
}

void Connections::end() {
  {
    std::lock_guard guard(lock_);
    isEnding_ = true;
  }
  changed_.notify_all();
}

void Connections::run(int port) {
  constexpr auto kStep = 100ms;
  std::unique_lock guard(lock_);
  while (!isOver_) {
    look(port);
    changed_.wait_for(guard, kStep);
  }
}

void Connections::look(int port) {
  Clock::time_point now = Clock::now();
  std::set<std::string> there;
  for (const auto &[socket, client] : peersAt(port)) {
    there.insert(client);
    Connection &connection = connections_[client];
    bool isLate = isEnding_ || now - connection.since > patience_;
    if (connection.answers == 0 && isLate)
      shutdown(socket, SHUT_RD);
  }
  std::erase_if(connections_, [&](const auto &entry) {
    return entry.second.answers == 0 && !there.contains(entry.first);
  });
}

} // namespace serve
