// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory model by its definition, for tiny programs: every interleaving is executed, one step
// at a time, and of each the whole relation "comes before" is built. It shares nothing with the
// interpreter, the explorer or the check, and is held against them by DifferentialTest.cpp.
//
// An execution is a set of events. "a before b" is the transitive closure of
//
//   a, b         steps of an agent in program order
//   put -> P     the put's own event, at which it reads and writes
//   P -> quiet   of the same agent, later
//   P -> notify  of the same agent, later, not relaxed, whose scope spans the agent and the peer
//   P -> Q       puts of one agent to one peer with a fence between whose scope spans them
//   M -> wait    the message of a notify that the wait sees: not relaxed, the scopes of both span
//                the two agents, and no store to the counter lies between. The message of a notify
//                is the step itself; that of a relaxed one is an event of its own with only
//   P -> M       puts before an earlier quiet, or, to the rank of the counter, an earlier fence
//                whose scope spans them
//
// Two accesses to one place race if one writes and neither comes before the other, and so do the
// two of a put onto itself.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ditron::oracle {

enum class Op { read, write, put, get, add, store, subtract, wait, fence, quiet };

/// 0: one core, 1: a rank, 2: a node, 3: all.
using Scope = int;

struct Step {
  Op op;
  int place = 0;     ///< that is read, written, or the source of a put or target of a get
  int peer = 0;      ///< the rank of a put's target, a get's source, or a notified counter
  int peerPlace = 0; ///< the place there
  int counter = 0;
  int value = 1;
  bool exact = false, take = false, relaxed = false;
  Scope scope = 3;
  int line = 0; ///< in the text
};

struct Agent {
  int rank, core;
  std::vector<Step> steps;
};

/// Every rank has `places` places and `counters` counters.
struct Program {
  int ranks = 2, cores = 1, nodes = 1, places = 2, counters = 2;
  std::vector<Agent> agents;
};

struct Outcome {
  std::set<std::pair<int, int>> races; ///< lines, the smaller one first
  bool deadlock = false, negative = false, narrow = false;
};

Outcome enumerate(const Program &program);

/// A program by chance; without `forms` only what the language can say.
Program randomProgram(uint64_t seed, bool forms);
/// Its text as a kernel named `kernel`; sets the lines of the steps.
std::string toText(Program &program);

} // namespace ditron::oracle
