// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes the PTX of a kernel, so that what the backend writes can be tested where no GPU is: the
// scalar instructions, barriers and shuffles of a block of threads, TMA with its tensor maps and
// mbarriers, and products of warps and of warpgroups.
//
// What the hardware does at some time, it does here as late as it may: TMA loads and stores
// land after a random while, or when they are waited for where it stores, products read their
// operands only when their group is waited for, and warps run in random order. So a slot that is
// released early is seen overwritten, and a register that is read early has its old value, which is
// an error of its own.
//
// Launches of several ranks run at a time, all their blocks in random order, over one memory; or
// each is executed by a process of its own, over memory that they share. Memory is the host's, and
// every access is seen by all at once: what a program lacks in scopes and fences is not found here.
#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ditron::emulator {

/// What the program does that no GPU would do right.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Memory as a tensor map describes it; extents and strides in elements, outermost first.
struct TensorMap {
  uint8_t *memory;
  int64_t elementBytes;
  std::vector<int64_t> extents, strides, box;
  bool roundsToTf32 = false; ///< elements of f32, on the way
  bool isReadAhead = false;  ///< before launches in front have ended
};

/// A launch: 64-bit words for the first parameters, tensor maps for those behind them.
struct Launch {
  std::vector<int64_t> words;
  std::vector<TensorMap> maps;
  int blocks, threads, sharedBytes;
  uint64_t seed;
  int cluster = 1; ///< blocks that run side by side
  /// Memory that may be read before launches in front have ended: where it begins and ends.
  std::vector<std::pair<uint64_t, uint64_t>> readAhead = {};
};

/// Executes the one kernel of a module, cluster of blocks after cluster. Fault where threads wait
/// for ever, meet in a barrier that not all of them reach, or touch registers of products that are
/// under way.
void execute(const std::string &ptx, const Launch &launch);

/// What else goes on while kernels are executed, such as copies that they wait for: called every few
/// hundred steps of them.
using Meanwhile = std::function<void()>;

/// Executes all blocks of several launches together. `launches`: of each rank those that follow one
/// another. The clock goes on by `tick` ns a step of the program.
void executeTogether(const std::string &ptx, const std::vector<std::vector<Launch>> &launches,
                     uint64_t tick = 0, const Meanwhile &meanwhile = {});

/// Executes a launch of a rank whose peers are executed by other processes. The clock is the CPU time
/// of this thread, so that a wait is as long for the peers, however few CPUs they all share.
void executeAmongProcesses(const std::string &ptx, const Launch &launch,
                           const Meanwhile &meanwhile = {});

} // namespace ditron::emulator
