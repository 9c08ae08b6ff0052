// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transport that maps no peer's memory, for tests: what a verb begins goes into a queue, from
// each core to each peer, and a thread carries it out later, the queues in an order by chance. The
// heaps of other ranks are inaccessible where a rank sees the region, so that an access that goes
// past put, get and notify ends the program.
#pragma once
#include "Scenario.h"
#include "ditron/runtime/transport/Transport.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

namespace scenario {

/// What the ranks share: the region, and the thread that serves the queues.
class QueueServer {
public:
  QueueServer(int ranks, int cores, size_t heapBytes);
  ~QueueServer();

  int file() const { return file_; }
  size_t bytes() const { return bytes_; }
  const Control &control() const { return control_; }
  /// The server's view of an address of `rank`'s heap, as seen in the region at `base`, on `peer`.
  std::byte *at(const std::byte *base, const void *own, int rank, int peer) const;

  void push(const Caller &caller, int peer, std::function<void()> work);
  bool isQuiet(const Caller &caller) const;
  void abandon(const Caller &caller);
  /// Carries out nothing until it is told to again.
  void pause(bool paused);

private:
  using Queue = std::deque<std::function<void()>>;

  void serve();
  size_t numberOf(const Caller &caller) const {
    return size_t(caller.rank) * size_t(control_.cores()) + size_t(caller.core);
  }

  int file_;
  size_t bytes_;
  std::byte *region_;
  Control control_;
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::map<std::pair<size_t, int>, Queue> queues_; ///< by caller and peer; none is empty
  std::mt19937_64 random_{1};
  bool paused_ = false, stops_ = false;
  std::thread thread_;
};

/// One rank's way to the others.
class QueuedTransport final : public Transport {
public:
  QueuedTransport(std::shared_ptr<QueueServer> server, int rank);
  ~QueuedTransport() override;

  std::string_view name() const override { return "queued"; }
  std::byte *mapped(int rank, std::byte *own, int peer) const override {
    return peer == rank ? own : nullptr;
  }
  void put(const Caller &caller, int peer, std::byte *to, const std::byte *from,
           const ChunkShape &chunk) override;
  void get(const Caller &caller, int peer, std::byte *to, const std::byte *from,
           const ChunkShape &chunk) override;
  std::optional<SignalChange> notify(const Caller &caller, int peer, SignalCell *cell,
                                     const SignalUpdate &update) override;
  bool isQuiet(const Caller &caller) const override { return server_->isQuiet(caller); }
  void abandon(const Caller &caller) override { server_->abandon(caller); }

private:
  std::shared_ptr<QueueServer> server_;
  std::byte *region_;
};

/// Runs a scenario on ranks that are threads and reach each other through queues. `use` is told of
/// the server before they start.
Outcome runQueued(const std::string &name, const Setup &setup,
                  const std::function<void(QueueServer &)> &use = {});

} // namespace scenario
