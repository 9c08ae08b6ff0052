// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "QueuedTransport.h"
#include <sys/mman.h>
#include <unistd.h>

namespace scenario {

namespace {

std::byte *mapWhole(int file, size_t bytes) {
  void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  expect(data != MAP_FAILED, "a mapping of the region");
  return static_cast<std::byte *>(data);
}

/// A chunk's shape with the numbers that it refers to.
class OwnedShape {
public:
  explicit OwnedShape(const ChunkShape &chunk)
      : bytes_(chunk.elementBytes), extents_(chunk.extents.begin(), chunk.extents.end()),
        from_(chunk.fromStrides.begin(), chunk.fromStrides.end()),
        to_(chunk.toStrides.begin(), chunk.toStrides.end()) {}
  ChunkShape shape() const { return {bytes_, extents_, from_, to_}; }

private:
  size_t bytes_;
  std::vector<int64_t> extents_, from_, to_;
};

} // namespace

//===-- The server ----------------------------------------------------------------------------===//

QueueServer::QueueServer(int ranks, int cores, size_t heapBytes)
    : file_(memfd_create("queued", MFD_CLOEXEC)),
      bytes_(Control::regionBytes(ranks, cores, heapBytes)) {
  expect(file_ >= 0 && ftruncate(file_, off_t(bytes_)) == 0, "a file for the region");
  region_ = mapWhole(file_, bytes_);
  control_ = Control(region_);
  control_.initialise(ranks, cores, heapBytes);
  thread_ = std::thread([this] { serve(); });
}

QueueServer::~QueueServer() {
  {
    std::lock_guard guard(lock_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
  munmap(region_, bytes_);
  close(file_);
}

std::byte *QueueServer::at(const std::byte *base, const void *own, int rank, int peer) const {
  ptrdiff_t offset = static_cast<const std::byte *>(own) - base;
  return region_ + offset + (ptrdiff_t(peer) - rank) * ptrdiff_t(control_.heapBytes());
}

void QueueServer::push(const Caller &caller, int peer, std::function<void()> work) {
  {
    std::lock_guard guard(lock_);
    queues_[{numberOf(caller), peer}].push_back(std::move(work));
  }
  changed_.notify_all();
}

bool QueueServer::isQuiet(const Caller &caller) const {
  std::lock_guard guard(lock_);
  auto first = queues_.lower_bound({numberOf(caller), 0});
  return first == queues_.end() || first->first.first != numberOf(caller);
}

void QueueServer::abandon(const Caller &caller) {
  std::lock_guard guard(lock_);
  std::erase_if(queues_, [&](const auto &queue) { return queue.first.first == numberOf(caller); });
}

void QueueServer::pause(bool paused) {
  {
    std::lock_guard guard(lock_);
    paused_ = paused;
  }
  changed_.notify_all();
}

void QueueServer::serve() {
  std::unique_lock guard(lock_);
  for (;;) {
    changed_.wait(guard, [&] { return stops_ || (!paused_ && !queues_.empty()); });
    if (stops_)
      return;
    auto queue = std::next(queues_.begin(), ptrdiff_t(random_() % queues_.size()));
    queue->second.front()();
    queue->second.pop_front();
    if (queue->second.empty())
      queues_.erase(queue);
  }
}

//===-- The transport -------------------------------------------------------------------------===//

QueuedTransport::QueuedTransport(std::shared_ptr<QueueServer> server, int rank)
    : server_(std::move(server)), region_(mapWhole(server_->file(), server_->bytes())) {
  control_ = Control(region_);
  for (int peer = 0; peer < control_.ranks(); ++peer)
    if (peer != rank)
      expect(mprotect(control_.heap(peer), control_.heapBytes(), PROT_NONE) == 0, "no access");
  control_.slot(rank).process.store(getpid(), std::memory_order_relaxed);
}

QueuedTransport::~QueuedTransport() { munmap(region_, server_->bytes()); }

void QueuedTransport::put(const Caller &caller, int peer, std::byte *to, const std::byte *from,
                          const ChunkShape &chunk) {
  std::byte *theirs = server_->at(region_, to, caller.rank, peer);
  server_->push(caller, peer, [theirs, from, shape = OwnedShape(chunk)] {
    copyStrided(theirs, from, shape.shape());
  });
}

void QueuedTransport::get(const Caller &caller, int peer, std::byte *to, const std::byte *from,
                          const ChunkShape &chunk) {
  std::byte *theirs = server_->at(region_, from, caller.rank, peer);
  server_->push(caller, peer, [to, theirs, shape = OwnedShape(chunk)] {
    copyStrided(to, theirs, shape.shape());
  });
}

std::optional<SignalChange> QueuedTransport::notify(const Caller &caller, int peer,
                                                    SignalCell *cell, const SignalUpdate &update) {
  auto *theirs = reinterpret_cast<SignalCell *>(server_->at(region_, cell, caller.rank, peer));
  server_->push(caller, peer, [theirs, update] { changeSignal(*theirs, update); });
  return std::nullopt;
}

//===-- Scenarios -----------------------------------------------------------------------------===//

Outcome runQueued(const std::string &name, const Setup &setup,
                  const std::function<void(QueueServer &)> &use) {
  constexpr size_t kHeapBytes = size_t(4) << 20;
  Options options{.ranks = setup.ranks, .cores = setup.cores};
  options.waitTimeout = std::chrono::milliseconds(setup.waitMs);
  auto server = std::make_shared<QueueServer>(setup.ranks, setup.cores, kHeapBytes);
  if (use)
    use(*server);
  Outcome outcome;
  outcome.ofRanks.resize(size_t(setup.ranks));
  auto run = [&](int number) {
    Rank rank(std::make_shared<QueuedTransport>(server, number), number, options);
    try {
      registry().at(name)(rank);
    } catch (const std::exception &error) {
      outcome.ofRanks[size_t(number)] = error.what();
      rank.abort(rank.control().stopped() ? rank.control().message() : error.what());
    }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < setup.ranks; ++number)
    threads.emplace_back(run, number);
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &message : outcome.ofRanks)
    if (outcome.error.empty())
      outcome.error = message;
  return outcome;
}

} // namespace scenario
