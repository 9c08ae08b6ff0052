// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace serve {

/// Hangs up on clients that do not send the header of a request in time: httplib waits as long as now and
/// then a byte comes.
class Connections {
public:
  /// `patience`: for the header of a request to come whole, from its connection's begin or the answer
  /// before it.
  explicit Connections(std::chrono::seconds patience) : patience_(patience) {}
  ~Connections();
  Connections(const Connections &) = delete;
  Connections &operator=(const Connections &) = delete;

  /// Watches those that this process accepts at a port. RuntimeError where there is no room for a
  /// thread.
  void watch(int port);

  /// While this is there, a request of the client is answered. The time for its next one begins behind
  /// that.
  class Answered {
  public:
    Answered(Connections &connections, const std::string &client);
    ~Answered();
    Answered(const Answered &) = delete;
    Answered &operator=(const Answered &) = delete;

  private:
    Connections &connections_;
    std::string client_;
  };

  /// From now on no request is waited for.
  void end();
  bool isEnding() const { return isEnding_; }

private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    Clock::time_point since = Clock::now();
    int answers = 0; ///< that are on their way
  };
  void run(int port);
  void look(int port);

  std::chrono::seconds patience_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::map<std::string, Connection> connections_; ///< by client
  std::atomic<bool> isEnding_ = false;
  bool isOver_ = false;
  std::thread thread_;
};

} // namespace serve
