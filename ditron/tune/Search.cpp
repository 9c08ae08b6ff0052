// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/tune/Search.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

namespace ditron::tune {

using kernels::Config;
using kernels::ConfigParameter;

namespace {

constexpr double kHelps = 0.98; ///< of the time before: anything above is noise
constexpr size_t kFinalists = 4;
constexpr int kRounds = 5;

bool same(const Config &a, const Config &b) {
  return std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end(),
                    [](const Config::Value &x, const Config::Value &y) {
                      return x.name == y.name && x.value == y.value;
                    });
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Search {
public:
  Search(const std::vector<ConfigParameter> &choices, const Measure &measure, const Limits &limits,
         const Watch &watch, const Guide &guide)
      : choices_(choices), measure_(measure), limits_(limits), watch_(watch), guide_(guide) {}

  Outcome run(const Config &start) {
    Trial best = trials_.emplace_back(Trial{start, measure_(start), ""});
    if (watch_)
      watch_(best);
    while (improve(best)) {
    }
    Outcome outcome{trials_.front(), trials_.front(), {}, !isOver()};
    runOff(outcome);
    outcome.trials = std::move(trials_);
    return outcome;
  }

private:
  bool isOver() const {
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    return trials_.size() >= size_t(limits_.trials) || passed.count() > limits_.seconds;
  }

  /// Varies each choice alone. Whether that made `best` better.
  bool improve(Trial &best) {
    bool isBetter = false;
    for (const ConfigParameter &choice : choices_)
      for (const Config &config : prepared(choice, best.config)) {
        if (isOver())
          return false;
        if (const Trial *trial = tryOnce(config); trial && trial->seconds < best.seconds * kHelps) {
          best = *trial;
          isBetter = true;
        }
      }
    return isBetter;
  }

  /// What a choice is varied to around a configuration, without what was tried, makes no kernel or
  /// promises nothing; the most promising first.
  std::vector<Config> prepared(const ConfigParameter &choice, const Config &around) {
    std::multimap<double, Config> promising; // equals in the order of the candidates
    double now = predicted(around);
    for (int64_t value : choice.candidates) {
      Config config = with(around, choice, value);
      double next = isTried(config) ? 0 : predicted(config);
      if (!isTried(config) && (now == 0 || next < now * kHopeless))
        promising.emplace(next, config);
    }
    std::vector<Config> batch, result;
    for (auto &[seconds, config] : promising)
      batch.push_back(config);
    if (!guide_.prepare || isOver() || batch.empty())
      return batch;
    std::vector<std::string> refusals = guide_.prepare(batch);
    for (size_t n = 0; n < batch.size(); ++n)
      if (refusals[n].empty())
        result.push_back(batch[n]);
      else
        add({batch[n], std::numeric_limits<double>::infinity(), refusals[n]});
    return result;
  }

  /// A configuration with another value of a choice, and without what then has no effect; as it was
  /// where that is the choice itself, or one without candidates.
  Config with(const Config &around, const ConfigParameter &choice, int64_t value) const {
    Config config = around;
    config.set(choice.name, value);
    config.settle("", choices_);
    bool changesOthers =
        std::any_of(choices_.begin(), choices_.end(), [&](const ConfigParameter &other) {
          return other.candidates.empty() && config[other.name] != around[other.name];
        });
    return changesOthers || config[choice.name] != value ? around : config;
  }

  double predicted(const Config &config) const {
    return guide_.predict ? guide_.predict(config) : 0;
  }
  bool isTried(const Config &config) const {
    return std::any_of(trials_.begin(), trials_.end(),
                       [&](const Trial &trial) { return same(trial.config, config); });
  }
  void add(Trial trial) {
    trials_.push_back(std::move(trial));
    if (watch_)
      watch_(trials_.back());
  }

  /// The trial of a configuration; null where it was tried before or makes no kernel.
  const Trial *tryOnce(const Config &config) {
    if (isTried(config))
      return nullptr;
    Trial trial{config, std::numeric_limits<double>::infinity(), ""};
    try {
      trial.seconds = measure_(config);
    } catch (const CompileError &error) {
      trial.refusal = error.what();
    }
    add(std::move(trial));
    return trials_.back().refusal.empty() ? &trials_.back() : nullptr;
  }

  /// Times the default and the best others again, in turns.
  void runOff(Outcome &outcome) {
    std::multimap<double, Trial> byTime;
    for (size_t n = 1; n < trials_.size(); ++n)
      if (trials_[n].refusal.empty())
        byTime.emplace(trials_[n].seconds, trials_[n]);
    std::vector<Trial> finalists{outcome.first};
    for (auto &[seconds, trial] : byTime)
      if (finalists.size() < kFinalists)
        finalists.push_back(trial);
    if (finalists.size() < 2)
      return;
    std::vector<std::vector<double>> times(finalists.size());
    for (int round = 0; round < kRounds; ++round)
      for (size_t n = 0; n < finalists.size(); ++n)
        times[n].push_back(measure_(finalists[n].config));
    for (size_t n = 0; n < finalists.size(); ++n) {
      finalists[n].seconds = median(times[n]);
      if (n == 0)
        outcome.first = outcome.best = finalists[0];
      else if (double bar = outcome.best.seconds *
                            (outcome.best.seconds < outcome.first.seconds ? 1 : kHelps);
               finalists[n].seconds < bar)
        outcome.best = finalists[n];
    }
  }

  const std::vector<ConfigParameter> &choices_;
  const Measure &measure_;
  const Limits &limits_;
  const Watch &watch_;
  const Guide &guide_;
  std::vector<Trial> trials_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace

Outcome search(const std::vector<ConfigParameter> &choices, const Config &start,
               const Measure &measure, const Limits &limits, const Watch &watch,
               const Guide &guide) {
  return Search(choices, measure, limits, watch, guide).run(start);
}

} // namespace ditron::tune
