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

SignalWatch::SignalWatch()
    : thread_(ditron::startThread("the thread that takes signals", [this] { watch(); })) {}

SignalWatch::~SignalWatch() {
  isOver_ = true;
  thread_.join();
}

SignalWatch::Answering::Answering(SignalWatch &watch, std::function<void()> end) : watch_(watch) {
  std::lock_guard guard(watch_.lock_);
  watch_.end_ = std::move(end);
}

SignalWatch::Answering::~Answering() {
  std::lock_guard guard(watch_.lock_);
  watch_.end_ = nullptr;
}

void SignalWatch::endInOrder() {
  std::lock_guard guard(lock_);
  // A model that is read and compiled for may take minutes, and nobody waits for an answer.
  if (!end_)
    std::_Exit(0);
  end_();
}

void SignalWatch::watch() {
  sigset_t set = endings();
  constexpr timespec kPatience = {0, 50'000'000};
  for (int seen = 0; !isOver_;) {
    int signal = sigtimedwait(&set, nullptr, &kPatience);
    if (signal <= 0)
      continue;
    if (++seen > 1)
      std::_Exit(128 + signal);
    endInOrder();
  }
}

} // namespace serve
