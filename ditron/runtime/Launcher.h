// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts the ranks of a run as processes of this host, as torchrun or mpirun would.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace ditron::runtime {

struct SpawnOptions {
  int processes = 1;
  std::vector<std::string> command; ///< the program's path and its arguments
  /// More variables of the children, as "NAME=value".
  std::vector<std::string> environment = {};
  /// How long the others may take to end by themselves after one has failed; at most 2 s where that was before the
  /// ranks had met, as then they wait for it and no more.
  std::chrono::milliseconds grace{10000};
  /// Called with the one error of the run, once, as soon as it is known: others may take their time
  /// to end.
  std::function<void(const std::string &error)> tell = [](const std::string &) {};
};

struct SpawnResult {
  int status = 0;    ///< 0, or the first failing rank's exit status (1 where a signal ended it)
  std::string error; ///< the one error of the run, empty where it went well
  std::vector<int> waitStatus; ///< of every rank, as waitpid gives it
};

/// Runs `command` as ranks 0 to processes-1 with torchrun's variables set, and waits for all. Once
/// one fails the others get `grace` to end, then are killed. Children die with this thread.
/// RuntimeError where a process cannot be started.
SpawnResult spawnRanks(const SpawnOptions &options);

/// In a rank that spawnRanks started: hands the message of its error to the launcher and returns
/// true; the launcher reports one for all. False elsewhere: the caller prints it.
bool reportToLauncher(const std::string &message);

/// In a rank: all ranks have met.
void tellLauncherOfMeeting();

} // namespace ditron::runtime
