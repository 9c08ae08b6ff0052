// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a run is set up: one rank of one core, unless a program says otherwise. Other defaults come from the environment, so a
// program that names only what it cares about, `Options{.ranks = 4}`, still obeys the DITRON_ variables.
#pragma once
#include "ditron/runtime/Mesh.h"
#include "ditron/support/Env.h"
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ditron::runtime {

/// How a rank reaches its peers.
enum class TransportKind : uint8_t {
  automatic, ///< processes where the environment names several ranks, threads otherwise
  threads,   ///< every rank is a host thread of this process
  processes, ///< every rank is a process of this host
};

/// "automatic", "threads" or "processes"; UsageError listing them otherwise.
TransportKind parseTransport(std::string_view name);
std::string_view name(TransportKind kind);

/// A rank made slow on purpose: it sleeps before each launch. Finds kernels that count on luck.
struct Straggler {
  int rank = -1; ///< no rank
  std::chrono::milliseconds delay{0};

  /// Reads "rank=1,ms=30"; UsageError that names `what` otherwise.
  static Straggler parse(std::string_view text, std::string_view what = "straggler");
  /// DITRON_STRAGGLER, or none.
  static Straggler fromEnvironment();
};

struct Options {
  /// What the ranks run on: a name that `ditron info` lists.
  std::string backend = envString("DITRON_BACKEND").value_or("cpu");
  static constexpr int64_t kLongestMs = 86'400'000; ///< a day
  static constexpr int64_t kMostEvents = int64_t(1) << 32;

  int ranks = 1;
  int cores = 1; ///< core threads of each rank
  /// On which nodes the ranks are: what dist.rank along node or local says. It may also be a mesh
  /// that is only thought of, to test a kernel for several nodes on one.
  MeshRequest mesh = MeshRequest::fromEnvironment();
  TransportKind transport = TransportKind::automatic;
  /// Bytes of address space of each rank's symmetric heap; memory is taken when it is touched.
  /// 0 (default of DITRON_HEAP_BYTES): an equal share of the machine's memory.
  size_t heapBytes = size_t(envInteger("DITRON_HEAP_BYTES", 0, int64_t(1) << 46).value_or(0));
  /// The bound of every wait of a kernel and of every meeting of the ranks.
  std::chrono::milliseconds waitTimeout{
      envInteger("DITRON_WAIT_TIMEOUT_MS", 1, kLongestMs).value_or(10000)};
  /// The bound of a launch on the host, waiting or not: see LaunchWatchdog.h.
  std::chrono::milliseconds launchTimeout{
      envInteger("DITRON_LAUNCH_TIMEOUT_MS", 1, kLongestMs).value_or(600'000)};
  /// How long the processes of a run wait for one another to start: three waits, at least 3 s.
  std::chrono::milliseconds connectTimeout{
      envInteger("DITRON_CONNECT_TIMEOUT_MS", 1, kLongestMs)
          .value_or(std::max<int64_t>(3000, 3 * waitTimeout.count()))};
  /// Fills symmetric memory with 0xFF bytes (NaN in every float type) before each use.
  bool poison = envFlag("DITRON_POISON").value_or(false);
  Straggler straggler = Straggler::fromEnvironment();
  /// What the interleavings of the interpreter follow from; 0: the cores take turns.
  uint64_t scheduleSeed = 0;
  /// How many events of a launch each core's log has room for: see Events.h.
  size_t events = size_t(envInteger("DITRON_EVENTS", 1, kMostEvents).value_or(131'072));
};

/// UsageError where a rank cannot have as many core threads as these, or a bound of waits or a delay is no time from 1 ms
/// (a delay: 0) to a day.
void checkOptions(const Options &options);

} // namespace ditron::runtime
