// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Signals.h"
#include "ditron/support/StartThread.h"
#include <csignal>
#include <cstdlib>
#include <ctime>

namespace serve {

static sigset_t endings() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

void holdSignals() {
  sigset_t set = endings();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalWatch::SignalWatch(std::function<void()> atFirst)
    : atFirst_(std::move(atFirst)),
      thread_(ditron::startThread("the thread that takes signals", [this] { watch(); })) {}

SignalWatch::~SignalWatch() {
  isEnding_ = true;
  thread_.join();
}

void SignalWatch::watch() {
  sigset_t set = endings();
  constexpr timespec kPatience = {0, 50'000'000};
  for (int seen = 0; !isEnding_;) {
    int signal = sigtimedwait(&set, nullptr, &kPatience);
    if (signal <= 0)
      continue;
    if (++seen > 1)
      std::_Exit(128 + signal);
    atFirst_();
  }
}

} // namespace serve
