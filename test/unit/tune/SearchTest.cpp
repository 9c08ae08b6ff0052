// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search, on times that are made up.
#include "ditron/tune/Search.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>
#include <map>

using namespace ditron;
using namespace ditron::tune;
using kernels::Config;
using kernels::ConfigParameter;

namespace {

const std::vector<ConfigParameter> kChoices = {{"m", "rows", {16, 32, 64, 128}},
                                               {"n", "columns", {8, 16, 32, 64, 128}},
                                               {"bias", "adds", {}, {"no", "yes"}}};

Config start() { return {{"m", 16}, {"n", 8}, {"bias", 1}}; }

/// Fastest at m = 64, n = 32: 1 s.
double bowl(const Config &config) {
  auto distance = [](double a, double b) { return std::abs(std::log2(a / b)); };
  return 1 + distance(double(config["m"]), 64) + 0.5 * distance(double(config["n"]), 32);
}

TEST(Search, FindsTheBottom) {
  Outcome outcome = search(kChoices, start(), bowl);
  EXPECT_EQ(outcome.best.config["m"], 64);
  EXPECT_EQ(outcome.best.config["n"], 32);
  EXPECT_EQ(outcome.best.config["bias"], 1); // no candidates: it stays
  EXPECT_DOUBLE_EQ(outcome.best.seconds, 1);
  EXPECT_DOUBLE_EQ(outcome.speedup(), 4);
  EXPECT_TRUE(outcome.isComplete);
  EXPECT_LT(outcome.trials.size(), 20u);
}

TEST(Search, TriesNothingTwice) {
  std::map<std::pair<int64_t, int64_t>, int> calls;
  Outcome outcome = search(kChoices, start(), [&](const Config &config) {
    ++calls[{config["m"], config["n"]}];
    return bowl(config);
  });
  EXPECT_EQ(calls.size(), outcome.trials.size());
  int again = 0; // only the run-off: the default and three more, five times each
  for (auto [config, count] : calls)
    again += count - 1;
  EXPECT_EQ(again, 20);
}

TEST(Search, WhatHasNoEffectIsNotVaried) {
  ConfigParameter batch{"batch", "at a time", {1, 2, 4}, {}, 1, {{"engine", {0}}}};
  ConfigParameter chunks{"chunks", "sent one by one", {1, 2}, {}, 1, {{"engine", {1}}}};
  std::vector<ConfigParameter> choices = {
      {"engine", "what moves data", {0, 1}, {"cores", "copy"}}, batch, chunks};
  Config first{{"engine", 0}, {"batch", 4}, {"chunks", 1}};
  Outcome outcome = search(choices, first, [](const Config &config) {
    return config["engine"] ? 2 - double(config["chunks"]) / 4 : 3.0;
  });
  EXPECT_EQ(outcome.trials.size(),
            4u); // cores with two batches, copy engines with two numbers of chunks
  EXPECT_EQ(outcome.best.config["chunks"], 2);
  EXPECT_EQ(outcome.best.config["batch"], 1);
  choices[1].candidates.clear(); // a batch that stays, whatever the engine
  EXPECT_EQ(search(choices, first, [](const Config &) { return 1.0; }).trials.size(), 1u);
}

TEST(Search, WhatMakesNoKernelIsNoCandidate) {
  Outcome outcome = search(kChoices, start(), [](const Config &config) {
    if (config["m"] >= 64)
      throw CompileError("too large");
    return bowl(config);
  });
  EXPECT_EQ(outcome.best.config["m"], 32);
  int refused = 0;
  for (const Trial &trial : outcome.trials)
    refused += trial.refusal == "too large";
  EXPECT_GE(refused, 2);
}

TEST(Search, OtherErrorsEndIt) {
  auto fails = [](const Config &config) -> double {
    if (config["n"] == 64)
      throw RuntimeError("wrong result");
    return bowl(config);
  };
  EXPECT_THROW(search(kChoices, start(), fails), RuntimeError);
}

TEST(Search, ADefaultThatMakesNoKernelIsAnError) {
  auto fails = [](const Config &) -> double { throw CompileError("no"); };
  EXPECT_THROW(search(kChoices, start(), fails), CompileError);
}

TEST(Search, IsGuided) {
  std::vector<std::pair<int64_t, int64_t>> measured;
  auto measure = [&](const Config &config) {
    measured.emplace_back(config["m"], config["n"]);
    return bowl(config);
  };
  Guide guide;
  guide.predict = bowl;
  size_t batches = 0;
  guide.prepare = [&](const std::vector<Config> &configs) {
    ++batches;
    std::vector<std::string> refusals(configs.size());
    for (size_t n = 0; n < configs.size(); ++n)
      if (configs[n]["n"] == 64)
        refusals[n] = "too wide";
    return refusals;
  };
  Outcome outcome = search(kChoices, start(), measure, {}, {}, guide);
  EXPECT_EQ(outcome.best.config["m"], 64);
  EXPECT_EQ(outcome.best.config["n"], 32);
  EXPECT_GE(batches, 2u);
  EXPECT_EQ(measured[1], std::pair(int64_t(64), int64_t(8))); // what promises most comes first
  size_t refused = 0;
  for (const Trial &trial : outcome.trials)
    refused += trial.refusal == "too wide";
  EXPECT_EQ(refused, 1u); // and is not measured
  for (auto [m, n] : measured)
    EXPECT_NE(n, 64);
}

TEST(Search, LeavesOutWhatPromisesNothing) {
  Guide guide;
  guide.predict = [](const Config &config) { return config["m"] == 64 ? 100.0 : 1.0; };
  Outcome outcome = search(kChoices, start(), bowl, {}, {}, guide);
  for (const Trial &trial : outcome.trials)
    EXPECT_NE(trial.config["m"], 64);
}

TEST(Search, LimitsEndIt) {
  Outcome outcome = search(kChoices, start(), bowl, {.trials = 3});
  EXPECT_EQ(outcome.trials.size(), 3u);
  EXPECT_FALSE(outcome.isComplete);
  outcome = search(kChoices, start(), bowl, {.seconds = -1}); // over before it begins
  EXPECT_EQ(outcome.trials.size(), 1u);
  EXPECT_EQ(outcome.best.config["m"], 16);
}

TEST(Search, LuckIsNotSpeed) {
  // Every configuration is equally fast, but the first measurement of m = 64 was a lucky one.
  bool wasLucky = false;
  Outcome outcome = search(kChoices, start(), [&](const Config &config) {
    if (config["m"] == 64 && !std::exchange(wasLucky, true))
      return 0.5;
    return 1.0;
  });
  EXPECT_TRUE(wasLucky);
  EXPECT_EQ(outcome.best.config["m"], 16);
  EXPECT_DOUBLE_EQ(outcome.speedup(), 1);
}

} // namespace
