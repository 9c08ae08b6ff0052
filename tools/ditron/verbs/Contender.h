// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One of those that are timed beside one another across ranks on GPUs, by events of their streams.
//
// It is launched a few batches at a time, back to back: a round. A batch goes first that is not
// timed: behind it the ranks are as far as one another. Batches of short launches have many of them. Where
// there are several sets of operands, launches take them in turn.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/runtime/Rank.h"
#include <functional>
#include <optional>
#include <vector>

namespace ditron::tools {

/// The times of the rank whose median is the largest. Collective.
std::vector<double> ofSlowest(runtime::Rank &rank, const std::vector<double> &mine);

class Contender {
public:
  static constexpr int kTimed = 4; ///< batches of a round

  using Launch = std::function<void(const Stream &)>;
  /// `launches`: of each set of operands.
  Contender(Context &context, std::vector<Launch> launches)
      : context_(context), launches_(std::move(launches)) {}

  /// Chooses how many launches a batch has, once they have found cold memory and slow clocks; and
  /// records a graph of them, where there is to be one. Collective.
  void prepare(bool asGraph);
  /// Enqueues its part of a round.
  void enqueueRound();
  /// Takes the times of the rounds that are over.
  void collect();
  /// Launches on the first set of operands, among others where there is a graph.
  void launchFirst() { graph_ ? graph_->launch() : launches_.front()(context_.stream()); }
  /// The median of the seconds of this thread for a launch. Streams take a limited number of
  /// operations before they make the host wait, so that a few launches are timed at a time.
  double secondsOfHost() const;

  int batch() const { return batch_; }
  double secondsOfLaunch() const { return seconds_ / batch_; }
  double secondsOfRound() const { return seconds_ * (kTimed + 1); }
  const std::vector<double> &times() const { return times_; } ///< of a launch each

private:
  void launchNext(const Stream &stream);
  void launchBatch() { graph_ ? graph_->launch() : enqueue(context_.stream()); }
  void enqueue(const Stream &stream);
  double timeLaunches(int launches);

  Context &context_;
  std::vector<Launch> launches_;
  size_t next_ = 0; ///< of the launches
  std::optional<Graph> graph_;
  int batch_ = 1;
  double seconds_ = 0; ///< of a batch, about
  std::vector<std::vector<Event>> rounds_;
  std::vector<double> times_;
};

} // namespace ditron::tools
