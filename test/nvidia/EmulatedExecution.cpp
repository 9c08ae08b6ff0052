// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works of the emulated driver's streams: when each can be done, and doing it.
#include "EmulatedStreams.h"
#include "ditron/abi/LaunchWords.h"
#include <atomic>
#include <cstdio>

namespace ditron::emulated {

static constexpr uint64_t kTick = 100; // ns of the clock for a step of a program

static int64_t launchWord(const Launch &launch, abi::LaunchWord word) {
  return launch.launch.words[launch.launch.words.size() - abi::kLaunchWords + word];
}
int64_t Launch::ranks() const {
  return module->info.isDistributed ? launchWord(*this, abi::kRanks) : 1;
}
int64_t Launch::rank() const {
  return module->info.isDistributed ? launchWord(*this, abi::kRank) : 0;
}

bool WaitValue::holds() const {
  uint64_t seen = std::atomic_ref(*word).load();
  switch (condition) {
  case geq: // of counters that may wrap around
    return static_cast<int64_t>(seen - value) >= 0;
  case eq:
    return seen == value;
  case andBits:
    return (seen & value) != 0;
  default:
    return ~(seen | value) != 0;
  }
}

/// A work that needs no kernel can be done now.
bool Streams::isReady(Stream &stream) const {
  Work *work = stream.next();
  if (!work || std::holds_alternative<Launch>(*work))
    return false;
  if (auto *wait = std::get_if<WaitEvent>(work))
    return wait->record->isDone;
  auto *value = std::get_if<WaitValue>(work);
  return !value || value->holds();
}

/// Does one work that is no launch, of a random stream; false: there is none.
bool Streams::advance() {
  std::vector<Stream *> ready;
  for (auto &[handle, stream] : streams_)
    if (isReady(*stream))
      ready.push_back(stream.get());
  if (ready.empty())
    return false;
  Stream &stream = *ready[random_() % ready.size()];
  Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (auto *action = std::get_if<Action>(&work))
    action->run();
  if (auto *event = std::get_if<RecordEvent>(&work)) {
    event->record->isDone = true;
    event->record->time = std::chrono::steady_clock::now();
  }
  ++stream.done, ++progress_;
  changed_.notify_all();
  return true;
}

/// The streams whose launches are executed next, together: of the kernel that was launched first of
/// those that streams begin with, rank by rank. The order is that of the program, which is the same
/// in all processes. `areComplete`: all ranks are there.
std::vector<Stream *> Streams::nextLaunches(bool areComplete) {
  std::map<uint64_t, Stream *> begun; // by the seed, which is the order of the program
  for (auto &[handle, stream] : streams_)
    if (Work *work = stream->next(); work && std::holds_alternative<Launch>(*work))
      begun[std::get<Launch>(*work).launch.seed] = stream.get();
  for (auto &[seed, stream] : begun) {
    const Launch &first = std::get<Launch>(*stream->next());
    if (peersAreProcesses_ || first.ranks() == 1)
      return {stream};
    std::map<int64_t, Stream *> ranks;
    for (auto &[seed, stream] : begun)
      if (auto &launch = std::get<Launch>(*stream->next()); launch.module->ptx == first.module->ptx)
        ranks.try_emplace(launch.rank(), stream);
    if (areComplete && static_cast<int64_t>(ranks.size()) < first.ranks())
      continue;
    std::vector<Stream *> together;
    for (auto &[rank, stream] : ranks)
      together.push_back(stream);
    return together;
  }
  return {};
}

int Streams::execute(const std::vector<Launch> &launches, bool arePeersProcesses) {
  auto meanwhile = [this] {
    std::lock_guard guard(mutex_);
    advance();
  };
  const std::string &ptx = launches[0].module->ptx;
  try {
    if (!launches[0].module->info.isDistributed) {
      emulator::execute(ptx, launches[0].launch);
    } else if (arePeersProcesses) {
      emulator::executeAmongProcesses(ptx, launches[0].launch, meanwhile);
    } else {
      std::vector<std::vector<emulator::Launch>> together;
      for (const Launch &one : launches)
        together.push_back({one.launch});
      emulator::executeTogether(ptx, together, kTick, meanwhile);
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "emulator: %s\n", error.what());
    return kFailed;
  }
  return 0;
}

/// Executes the first launches of these streams; the lock is released meanwhile.
void Streams::executeLaunches(const std::vector<Stream *> &group,
                              std::unique_lock<std::mutex> &lock) {
  std::vector<Launch> launches;
  for (Stream *stream : group) {
    launches.push_back(std::get<Launch>(std::move(stream->queue.front())));
    stream->queue.pop_front();
    stream->isLaunching = true;
  }
  isExecuting_ = true;
  bool arePeersProcesses = peersAreProcesses_;
  lock.unlock();
  int status = execute(launches, arePeersProcesses);
  lock.lock();
  isExecuting_ = false;
  status_ = status ? status : status_;
  for (Stream *stream : group) {
    stream->isLaunching = false;
    ++stream->done, ++progress_;
  }
  changed_.notify_all();
}

} // namespace ditron::emulated
