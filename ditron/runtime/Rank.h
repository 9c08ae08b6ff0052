// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank: one device of the run, here a group of CPU cores. There are two ways to have one.
//
//   runRanks({.ranks = 4, .cores = 2}, [](Rank &rank) { ... });   // threads of this process
//   auto rank = Rank::fromEnvironment({.cores = 2});              // this process is one of them
//
// runRanks does both: started by torchrun, mpirun or spawnRanks it runs the function once, as the
// rank that the environment names.
//
// Errors are shared: the first one ends what every rank is doing, and every rank throws it.
#pragma once
#include "ditron/runtime/Bootstrap.h"
#include "ditron/runtime/ControlBlock.h"
#include "ditron/runtime/Events.h"
#include "ditron/runtime/LaunchWatchdog.h"
#include "ditron/runtime/Options.h"
#include "ditron/runtime/Stats.h"
#include "ditron/runtime/SymmetricHeap.h"
#include "ditron/runtime/Team.h"
#include "ditron/runtime/Wait.h"
#include "ditron/runtime/Watchdog.h"
#include "ditron/runtime/Workspace.h"
#include "ditron/runtime/transport/Socket.h"
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ditron::runtime {

class LaunchObserver;
class Transport;

/// Where the cores of one role on one rank meet.
struct alignas(64) CoreBarrier {
  std::atomic<uint32_t> arrived{0};
  std::atomic<uint32_t> round{0};
  uint64_t worldRounds = 0; ///< touched only by the core that comes last
};

class Rank {
public:
  /// This process as one rank of a run (see Bootstrap.h); the only rank of one where no variable
  /// says otherwise. `options.ranks` is ignored.
  static std::unique_ptr<Rank> fromEnvironment(Options options = {});
  Rank(std::shared_ptr<Transport> transport, int rank, Options options);
  /// Leaves the run. Where an exception is passing through, the other ranks end with an error.
  ~Rank();
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int cores() const { return options_.cores; }
  /// The cores, and one for the copy engines.
  int instances() const { return cores() + 1; }
  const MeshShape &mesh() const { return mesh_; }
  const Options &options() const { return options_; }
  std::string_view transport() const;
  /// How this rank reaches its peers.
  Transport &reach() const { return *transport_; }
  SymmetricHeap &heap() { return heap_; }
  const SymmetricHeap &heap() const { return heap_; }
  Team &team() { return team_; }
  /// What this core did in the launch that runs, or ran last.
  EventLog &log(int core) { return *logs_[size_t(core)]; }
  /// Takes that log, between launches, and gives the core another one of options().events events.
  std::unique_ptr<EventLog> takeLog(int core, std::unique_ptr<EventLog> next) {
    return std::exchange(logs_[size_t(core)], std::move(next));
  }
  /// Who is told of recorded launches; null: nobody. Must outlive them.
  void observe(LaunchObserver *observer) { observer_ = observer; }
  LaunchObserver *observer() const { return observer_; }
  const Control &control() const { return control_; }
  /// What this rank says about itself to whoever reports a late wait.
  Watch &watch() { return watch_; }
  /// What every rank and core does, now that a wait has outlived its bound: see Watchdog.h.
  std::string reportLateWait() const;
  /// The launch that runs on this rank, for the watchdog.
  WatchedLaunch &watchedLaunch() { return watchedLaunch_; }
  /// Whether there are more core threads on this host than CPUs.
  bool crowded() const { return crowded_; }
  /// The bound of what waits for ranks or cores to come: barriers, meetings, the start of a launch.
  /// A quarter more than that of signals, so that a signal that is missing, and not the ranks that
  /// it keeps from coming, is what the one error names.
  std::chrono::milliseconds meetingTimeout() const { return options_.waitTimeout * 5 / 4; }
  /// Summed over all launches of this rank.
  const LaunchStats &stats() const { return stats_; }
  /// How long the last one took; infinity before the first.
  double lastSeconds() const { return lastSeconds_; }
  /// A launch is over.
  void note(const LaunchStats &launch);
  /// This thread works for the rank beside the one that made it.
  void noteLauncher();

  /// Collective, bounded: returns when every rank has come. Writes of every rank before it are
  /// seen by every rank after it.
  void barrier();
  /// The same where the ranks come from work that may take them very different times, as making
  /// inputs does where many share few CPUs: the bound is on the time for which none of those that
  /// are missing has used a CPU. So who works is waited for, and who has stopped is not.
  void assemble();
  /// The same, each rank bringing a request: see meet.
  void assemble(const Request &request) { meet(request, true); }
  /// Collective, bounded, where ranks are processes: hands every other rank an open file, and
  /// returns theirs, by rank; none at the own place.
  std::vector<File> exchangeFiles(const File &own);

  /// The workspace of this key; collective at its first use, local afterwards. The reference holds
  /// as long as the rank, except that an error during the first use drops it. CompileError where
  /// the arrays differ from those of the first use.
  Workspace &workspace(const std::string &key, const std::vector<abi::SymmetricArray> &arrays,
                       const std::optional<MeshAxes::Line> &team = {});

  /// Ends every rank for good: all calls from here on, here and elsewhere, throw this message.
  void abort(std::string_view message);

  /// For programs whose ranks are processes, each of which meets the error of the run: calls `tell`
  /// on the first rank that comes here. The others return once it is done; if that takes more than
  /// a second they call it themselves.
  void tellOnce(const std::function<void()> &tell);

  /// Called first by everything that involves other ranks. Throws the error of the run where there
  /// is one that this rank has not thrown yet; joins the recovery from it otherwise. Bounded.
  void enter();
  /// Throws the error of the run.
  [[noreturn]] void throwError();
  /// Ends what every rank is doing with this error, and throws it (or the one that came first).
  [[noreturn]] void fail(std::string_view message);

  /// Meets all ranks, each bringing a request. RuntimeError with the same text on every rank where
  /// the requests differ or one was refused.
  void meet(const Request &request) { meet(request, false); }

  CoreBarrier &coreBarrier(int first, int count) {
    return barriers_[size_t(first) * size_t(cores()) + size_t(count - 1)];
  }

private:
  void endRun();
  void meet(const Request &request, bool isPatient);
  void awaitAll(const std::function<bool(int)> &here, const std::string &what, bool isPatient);
  WaitResult awaitWorking(const std::function<bool()> &ready,
                          const std::function<bool(int)> &here) const;
  void awaitRecovery(const std::function<bool(int)> &here);
  void compareRequests(uint64_t meeting);
  void recover();
  void resetAfterError(uint64_t heapOperations);

  std::shared_ptr<Transport> transport_;
  Control control_;
  int rank_, size_;
  Options options_;
  MeshShape mesh_;
  bool crowded_;
  SymmetricHeap heap_;
  Watch watch_;
  WatchedLaunch watchedLaunch_;
  std::unique_ptr<CoreBarrier[]> barriers_;
  std::vector<std::unique_ptr<EventLog>> logs_; // by core
  LaunchObserver *observer_ = nullptr;
  Team team_;
  std::map<std::string, std::unique_ptr<Workspace>> workspaces_;
  uint64_t meetings_ = 0;
  std::mutex meetingLock_; ///< one thread of the rank meets the others at a time
  bool errorThrown_ = false;
  int exceptionsAtStart_;
  LaunchStats stats_;
  double lastSeconds_ = std::numeric_limits<double>::infinity();
};

/// Runs `body` on every rank. With threads, all of them here: where one throws, the others end with
/// that error, and it is rethrown here, once. As one process of several, this one: where `body`
/// throws, the other processes end with that error too, and it is rethrown.
void runRanks(const Options &options, const std::function<void(Rank &)> &body);

} // namespace ditron::runtime
