// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Rank.h"
#include "ditron/abi/Symmetric.h"
#include "ditron/runtime/Wait.h"
#include "ditron/runtime/transport/Transport.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <unistd.h>

namespace ditron::runtime {

namespace {

/// How two launches of a kernel differ; empty where the names are not those of one kernel's memory.
std::string differenceOfLaunches(int rank, std::string_view theirs, std::string_view first) {
  std::optional<abi::KeyDifference> difference = abi::differenceOfKeys(theirs, first);
  if (!difference)
    return "";
  return fmt::format(
      "rank {} launches kernel '{}' with other {} than rank 0: {} {}, expected {} as on rank 0",
      rank, abi::kernelOfKey(theirs), difference->what, difference->whose, difference->one,
      difference->other);
}

/// How two requests differ; empty where they agree.
std::string difference(int rank, const Request &theirs, const Request &first) {
  bool sameName = theirs.kind == first.kind && std::strcmp(theirs.name, first.name) == 0;
  if (theirs.kind == Request::allocate && first.kind == Request::allocate && !sameName)
    if (std::string text = differenceOfLaunches(rank, theirs.name, first.name); !text.empty())
      return text;
  if (!sameName || (theirs.kind == Request::free && theirs.tag != first.tag))
    return fmt::format("rank {} {} but rank 0 {}", rank, describe(theirs), describe(first));
  if (theirs.bytes != first.bytes)
    return fmt::format("rank {} {} but rank 0 allocates {}", rank, describe(theirs), first.bytes);
  if (theirs.align != first.align)
    return fmt::format("rank {} {} aligned to {} but rank 0 aligned to {}", rank, describe(theirs),
                       theirs.align, first.align);
  if (theirs.tag != first.tag)
    return fmt::format("rank {} {} but rank 0 divides them differently", rank, describe(theirs));
  return "";
}

/// For how long a thread or a process has had a CPU; 0 where that is not to be seen.
uint64_t cpuTimeOf(pid_t number, bool isThread) {
  // How Linux numbers the clocks of threads and processes: the number's complement, and what it is.
  constexpr clockid_t kScheduled = 2, kOfThread = 4;
  clockid_t clock = ~number * 8 | kScheduled | (isThread ? kOfThread : 0);
  timespec time{};
  if (number == 0 || clock_gettime(clock, &time) != 0)
    return 0;
  return uint64_t(time.tv_sec) * 1'000'000'000u + uint64_t(time.tv_nsec);
}

/// The same of a rank. Of one of this process it is the time of its threads, but for that of core
/// threads, of another process all of that.
uint64_t cpuTimeOf(const RankSlot &slot) {
  auto process = pid_t(slot.process.load(std::memory_order_relaxed));
  if (process != getpid())
    return cpuTimeOf(process, /*isThread=*/false);
  return cpuTimeOf(pid_t(slot.thread.load(std::memory_order_relaxed)), /*isThread=*/true) +
         cpuTimeOf(pid_t(slot.launcher.load(std::memory_order_relaxed)), /*isThread=*/true);
}

Options checked(Options options) {
  checkOptions(options);
  return options;
}

std::vector<std::unique_ptr<EventLog>> makeLogs(const Options &options) {
  std::vector<std::unique_ptr<EventLog>> logs;
  for (int core = 0; core <= options.cores; ++core)
    logs.push_back(std::make_unique<EventLog>(options.events));
  return logs;
}

} // namespace

Rank::Rank(std::shared_ptr<Transport> transport, int rank, Options options)
    : transport_(std::move(transport)), control_(transport_->control()), rank_(rank),
      size_(control_.ranks()), options_(checked(options)), mesh_(options_.mesh.of(size_)),
      crowded_(runtime::crowded(size_ * options_.cores)), heap_(*this), watch_(control_, rank),
      watchedLaunch_(control_, rank, options_.launchTimeout),
      barriers_(new CoreBarrier[size_t(options_.cores) * size_t(options_.cores)]),
      logs_(makeLogs(options_)), team_(options_.cores, crowded_, fmt::format("rank{}", rank)),
      exceptionsAtStart_(std::uncaught_exceptions()) {
  control_.slot(rank).thread.store(gettid(), std::memory_order_relaxed);
}

Rank::~Rank() {
  if (std::uncaught_exceptions() > exceptionsAtStart_)
    endRun();
  transport_->leave(rank_);
}

/// Has the other ranks end with the error of the run, or with that of this rank.
void Rank::endRun() {
  Failure failure{fmt::format("rank {} ended with an error", rank_)};
  if (control_.stopped())
    failure = control_.failure();
  control_.raiseFatal(failure.message, failure.fault);
}

std::string_view Rank::transport() const { return transport_->name(); }

void Rank::throwError() {
  watch_.core(0).set(CoreRecord::done);
  watch_.end();
  errorThrown_ = true;
  throwFailure(control_.failure());
}

void Rank::fail(std::string_view message) {
  control_.raise(message);
  throwError();
}

void Rank::abort(std::string_view message) { control_.raiseFatal(message); }

void Rank::tellOnce(const std::function<void()> &tell) {
  std::atomic<uint32_t> &report = control_.report();
  uint32_t none = 0;
  bool mine = report.compare_exchange_strong(none, 1, std::memory_order_acq_rel);
  auto told = [&] { return report.load(std::memory_order_acquire) == 2; };
  if (!mine &&
      waitUntil(told, [] { return false; }, std::chrono::seconds(1), crowded_) == WaitResult::ready)
    return;
  tell();
  report.store(2, std::memory_order_release);
}

void Rank::note(const LaunchStats &launch) {
  stats_.seconds += launch.seconds;
  stats_.cores += launch.cores;
  stats_.transfers += launch.transfers;
  lastSeconds_ = launch.seconds;
}

void Rank::noteLauncher() {
  control_.slot(rank_).launcher.store(gettid(), std::memory_order_relaxed);
}

void Rank::enter() {
  if (!control_.stopped())
    return;
  if (control_.dead() || !errorThrown_)
    throwError();
  recover();
}

void Rank::barrier() { meet(Request{.kind = Request::barrier}); }

void Rank::assemble() { meet(Request{.kind = Request::barrier}, true); }

std::vector<File> Rank::exchangeFiles(const File &own) {
  assemble();
  uint64_t tag = control_.recoveries() << 32 | meetings_; // the same on all ranks, and new
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_)
      transport_->sendFile(peer, own.number(), tag);
  Deadline deadline = std::chrono::steady_clock::now() + meetingTimeout();
  std::vector<File> files(static_cast<size_t>(size_));
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_)
      continue;
    files[size_t(peer)] = transport_->receiveFile(peer, tag, deadline);
    if (files[size_t(peer)])
      continue;
    if (control_.stopped())
      throwError();
    fail(fmt::format("rank {} waited {} ms for an open file of rank {}", rank_,
                     meetingTimeout().count(), peer));
  }
  return files;
}

void Rank::meet(const Request &request, bool isPatient) {
  std::lock_guard lock(meetingLock_);
  enter();
  uint64_t meeting = ++meetings_;
  RankSlot &own = control_.slot(rank_);
  own.requests[meeting & 1] = request;
  own.arrived.store(meeting, std::memory_order_release);
  watch_.core(0).wait(CoreRecord::meeting, 0, meeting);
  awaitAll(
      [&](int peer) {
        return control_.slot(peer).arrived.load(std::memory_order_acquire) >= meeting;
      },
      describe(request), isPatient);
  watch_.core(0).set(CoreRecord::done);
  compareRequests(meeting);
}

/// Waits for `ready`, and for the ranks that are not `here` as long as one of them works: has a CPU
/// for more of the time than what else lives in its process takes now and then.
WaitResult Rank::awaitWorking(const std::function<bool()> &ready,
                              const std::function<bool(int)> &here) const {
  constexpr std::chrono::milliseconds kLook{20};
  constexpr int64_t kAtWork = 200; // one part in so many of the time
  auto worked = [&] {
    uint64_t sum = 0;
    for (int peer = 0; peer < size_; ++peer)
      sum += here(peer) ? 0 : cpuTimeOf(control_.slot(peer));
    return sum;
  };
  RunningTime idle;
  for (uint64_t before = worked();;) {
    WaitResult result = waitUntil(
        ready, [&] { return control_.stopped(); }, std::min(kLook, meetingTimeout()), crowded_);
    if (result != WaitResult::timedOut)
      return result;
    auto passed = idle.passed();
    int64_t least = std::chrono::nanoseconds(passed).count() / kAtWork;
    // A rank that has come no longer counts, and the sum is smaller.
    if (uint64_t after = worked(); after < before || int64_t(after - before) > least) {
      before = after;
      idle = RunningTime();
    } else if (passed > meetingTimeout()) {
      return WaitResult::timedOut;
    }
  }
}

void Rank::awaitAll(const std::function<bool(int)> &here, const std::string &what, bool isPatient) {
  int peer = 0, gone = -1;
  auto ready = [&] {
    for (; peer < size_; ++peer) {
      bool left = control_.slot(peer).left.load(std::memory_order_acquire) != 0;
      if (here(peer))
        continue;
      if (left)
        gone = peer;
      return left;
    }
    return true;
  };
  auto result =
      isPatient ? awaitWorking(ready, here)
                : waitUntil(ready, [&] { return control_.stopped(); }, meetingTimeout(), crowded_);
  if (result == WaitResult::stopped)
    throwError();
  if (result == WaitResult::timedOut)
    fail(reportLateWait());
  if (gone >= 0)
    fail(fmt::format("rank {} {}, but rank {} has left the run", rank_, what, gone));
}

std::string Rank::reportLateWait() const {
  return runtime::reportLateWait(control_, options_.waitTimeout, watch_.tasks().get());
}

void Rank::compareRequests(uint64_t meeting) {
  const Request &first = control_.slot(0).requests[meeting & 1];
  for (int peer = 1; peer < size_; ++peer)
    if (std::string text = difference(peer, control_.slot(peer).requests[meeting & 1], first);
        !text.empty())
      throw RuntimeError(text);
  for (int peer = 0; peer < size_; ++peer)
    if (const Request &theirs = control_.slot(peer).requests[meeting & 1]; theirs.refused)
      throw RuntimeError(theirs.text);
}

Workspace &Rank::workspace(const std::string &key, const std::vector<abi::SymmetricArray> &arrays,
                           const std::optional<MeshAxes::Line> &team) {
  if (auto known = workspaces_.find(key); known != workspaces_.end()) {
    if (known->second->arrays() != arrays)
      throw CompileError(
          fmt::format("workspace '{}' is asked for with other buffers than at its first use", key));
    return *known->second;
  }
  enter();
  std::unique_ptr<Workspace> made(new Workspace(*this, key, arrays, team));
  Workspace &workspace = *(workspaces_[key] = std::move(made));
  assemble(); // nobody notifies before its counters are zero
  return workspace;
}

void Rank::awaitRecovery(const std::function<bool(int)> &here) {
  int peer = 0;
  auto ready = [&] {
    while (peer < size_ && here(peer))
      ++peer;
    return peer == size_;
  };
  auto result = waitUntil(ready, [&] { return control_.dead(); }, meetingTimeout(), crowded_);
  if (result == WaitResult::stopped)
    throwError();
  if (result == WaitResult::timedOut)
    throw RuntimeError(fmt::format("rank {} waited {} ms for rank {} to recover from this error: "
                                   "{}",
                                   rank_, meetingTimeout().count(), peer, control_.message()));
}

/// Two steps, both idempotent: once all ranks have come no core runs anywhere and each rank may put
/// its own state back; once all have done so rank 0 clears the error. A rank that gives up waiting
/// comes again with its next call.
void Rank::recover() {
  RankSlot &own = control_.slot(rank_);
  uint64_t target = control_.recoveries() + 1;
  auto reached = [&](int step) {
    return [this, step, target](int peer) {
      return control_.slot(peer).recovery[step].load(std::memory_order_acquire) >= target;
    };
  };
  own.recovery[0].store(target, std::memory_order_release);
  awaitRecovery(reached(0));
  if (own.recovery[1].load(std::memory_order_relaxed) < target) {
    uint64_t operations = heap_.operations();
    for (int peer = 0; peer < size_; ++peer)
      operations =
          std::min(operations, control_.slot(peer).heapOperations.load(std::memory_order_acquire));
    resetAfterError(operations);
    own.recovery[1].store(target, std::memory_order_release);
  }
  awaitRecovery(reached(1));
  if (rank_ == 0)
    control_.finishRecovery();
  else
    awaitRecovery([&](int) { return control_.recoveries() >= target; });
  errorThrown_ = false;
}

void Rank::resetAfterError(uint64_t heapOperations) {
  heap_.rollBackTo(heapOperations);
  std::erase_if(workspaces_,
                [&](auto &entry) { return entry.second->heapOperation_ > heapOperations; });
  for (auto &[key, workspace] : workspaces_)
    workspace->reset();
  for (int first = 0; first < cores(); ++first)
    for (int count = 1; first + count <= cores(); ++count) {
      CoreBarrier &barrier = coreBarrier(first, count);
      barrier.arrived.store(0, std::memory_order_relaxed);
      barrier.worldRounds = 0;
      control_.barrierRounds(first, count, rank_).store(0, std::memory_order_relaxed);
    }
  meetings_ = 0;
  control_.slot(rank_).arrived.store(0, std::memory_order_release);
}

} // namespace ditron::runtime
