// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who goes next. Every choice of a scheduler is an interleaving that the memory model allows.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <random>

namespace ditron::reference {

class Scheduler {
public:
  virtual ~Scheduler() = default;
  /// One of the cores that can step, which are given by number (rank * cores + core), ascending;
  /// there is at least one.
  virtual size_t pick(llvm::ArrayRef<size_t> runnable) = 0;
};

/// Each core one operation, in turn.
class RoundRobin : public Scheduler {
public:
  size_t pick(llvm::ArrayRef<size_t> runnable) override {
    auto next = std::lower_bound(runnable.begin(), runnable.end(), next_);
    size_t core = next == runnable.end() ? runnable.front() : *next;
    next_ = core + 1;
    return core;
  }

private:
  size_t next_ = 0;
};

/// Any core, by chance; the same for the same seed.
class RandomChoice : public Scheduler {
public:
  explicit RandomChoice(uint64_t seed) : random_(seed) {}
  size_t pick(llvm::ArrayRef<size_t> runnable) override {
    return runnable[random_() % runnable.size()];
  }

private:
  std::mt19937_64 random_;
};

} // namespace ditron::reference
