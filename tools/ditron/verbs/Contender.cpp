// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/verbs/Contender.h"
#include "ditron/runtime/Gather.h"
#include "tools/ditron/report/Report.h"
#include <algorithm>
#include <chrono>
#include <cmath>

namespace ditron::tools {

static constexpr double kLeastSeconds = 500e-6; ///< of a batch: what events time well
static constexpr double kLong = 20e-3;          ///< of a launch that needs no more warming up

std::vector<double> ofSlowest(runtime::Rank &rank, const std::vector<double> &mine) {
  std::vector<std::vector<double>> all = runtime::gather(rank, mine);
  return mine.empty() ? mine
                      : *std::max_element(all.begin(), all.end(), [](const auto &a, const auto &b) {
                          return median(a) < median(b);
                        });
}

void Contender::prepare(bool asGraph) {
  double one = 0;
  for (int launches = 1; launches <= 5 && one < kLong; launches += 2)
    one = runtime::slowest(context_.runtimeRank(), {timeLaunches(launches)})[0];
  batch_ = int(std::clamp(std::ceil(kLeastSeconds / std::max(one, 1e-7)), 1.0, 100.0));
  seconds_ = one * batch_;
  if (asGraph)
    next_ = 0, graph_.emplace(context_.record([&](const Stream &stream) { enqueue(stream); }));
}

void Contender::enqueueRound() {
  launchBatch();
  std::vector<Event> &events = rounds_.emplace_back();
  events.push_back(context_.stream().record());
  for (int n = 0; n < kTimed; ++n) {
    launchBatch();
    events.push_back(context_.stream().record());
  }
}

void Contender::collect() {
  for (const std::vector<Event> &events : rounds_)
    for (size_t n = 1; n < events.size(); ++n)
      times_.push_back(events[n].secondsSince(events[n - 1]) / batch_);
  rounds_.clear();
}

double Contender::secondsOfHost() const {
  constexpr int kTurns = 5, kLaunches = 8;
  constexpr double kMoment = 0.1;
  int launches = int(std::clamp(kMoment / secondsOfLaunch(), 1.0, double(kLaunches)));
  std::vector<double> times;
  for (int turn = 0; turn < kTurns; ++turn) {
    context_.assemble();
    for (int n = 0; n < launches; ++n) {
      auto begin = std::chrono::steady_clock::now();
      launches_[size_t(n) % launches_.size()](context_.stream());
      std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      times.push_back(passed.count());
    }
    context_.sync();
  }
  return median(times);
}

void Contender::enqueue(const Stream &stream) {
  for (int n = 0; n < batch_; ++n)
    launchNext(stream);
}

void Contender::launchNext(const Stream &stream) {
  launches_[next_](stream);
  next_ = (next_ + 1) % launches_.size();
}

/// The seconds of one of a few launches back to back, behind one that is not timed.
double Contender::timeLaunches(int launches) {
  context_.assemble();
  launchNext(context_.stream());
  Event begin = context_.stream().record();
  for (int n = 0; n < launches; ++n)
    launchNext(context_.stream());
  Event end = context_.stream().record();
  context_.sync();
  return end.secondsSince(begin) / launches;
}

} // namespace ditron::tools
