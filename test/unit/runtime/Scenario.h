// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scenario is what one rank does. The tests run each as threads of this process and as processes:
// this program started again with `--scenario NAME`.
#pragma once
#include "ditron/runtime/DeviceApi.h"
#include "ditron/runtime/Launch.h"
#include "ditron/runtime/Launcher.h"
#include "ditron/runtime/Rank.h"
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace scenario {

using namespace ditron::runtime;

using Body = std::function<void(Rank &)>;
std::map<std::string, Body> &registry();

struct Register {
  Register(const char *name, Body body) { registry()[name] = std::move(body); }
};

/// Throws where a condition of a scenario does not hold.
inline void expect(bool condition, const std::string &what) {
  if (!condition)
    throw std::logic_error("not as expected: " + what);
}

struct Setup {
  int ranks = 2;
  int cores = 1;
  int waitMs = 20000;
  std::vector<std::string> environment = {}; ///< more variables, "NAME=value"
};

struct Outcome {
  std::string error;                ///< what the run ended with, empty where it went well
  std::vector<std::string> ofRanks; ///< the message each rank ended with
  std::vector<int> waitStatus;      ///< processes only
  double seconds = 0;
};

Outcome runAsThreads(const std::string &name, const Setup &setup);
Outcome runAsProcesses(const std::string &name, const Setup &setup);
inline Outcome run(TransportKind kind, const std::string &name, const Setup &setup) {
  return kind == TransportKind::threads ? runAsThreads(name, setup) : runAsProcesses(name, setup);
}

} // namespace scenario

/// Registers a scenario: SCENARIO(name) { use(rank); }
#define SCENARIO(name)                                                                             \
  static void scenario_##name(::ditron::runtime::Rank &rank);                                      \
  static const ::scenario::Register register_##name{#name, scenario_##name};                       \
  static void scenario_##name([[maybe_unused]] ::ditron::runtime::Rank &rank)
