// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How products across ranks are done where nothing is given: each way is predicted, and the one of the
// least time is taken.
#include "ditron/heuristics/DirectModel.h"
#include "ditron/heuristics/SplitTiles.h"
#include "ditron/heuristics/StreamKTiles.h"
#include "ditron/kernels/FusedGemm.h"
#include "ditron/kernels/OverlapProblem.h"
#include "ditron/kernels/Parameters.h"

namespace ditron::kernels {

using heuristics::Calibration;
using heuristics::DirectChoice;
using heuristics::OverlapChoice;
using heuristics::OverlapProblem;
using heuristics::Prediction;

/// What a launch with roles of copy engines takes beside what they move, s.
static constexpr double kHostSeconds = 10e-6;

/// The machine as a way finds it: products of odd rows are slow.
static Calibration ratesFor(const Problem &problem, const Config &config) {
  return isPacked(config) || hasWholeRows(problem, config) ? problem.calibration
                                                           : ratesOfOddRows(problem);
}

static OverlapChoice overlapOf(const Config &config) {
  using Engine = OverlapChoice::Engine;
  bool isCopy = config["engine"] == kCopyEngines, isTile = sendsTiles(config);
  int64_t ofCopies = config.valueOr("halves", 0) != 0 ? 2 : 1;
  return {true,
          isCopy   ? Engine::copy
          : isTile ? Engine::tiles
                   : Engine::core,
          isTile ? 1 : config["chunks"],
          isCopy || isTile ? 0 : config["comm"],
          config.valueOr("wave", 0),
          isTile ? config.valueOr("rounds", 1) : ofCopies};
}

static DType typeOfSums(const Problem &problem, const Config &config) {
  return config["partials"] == 1 ? problem.type : DType::f32;
}

/// What a direct way takes more than its tiles and what they send, s. Of workers, whose tiles travel in inboxes, rows
/// that are gathered take further trips within a GPU; others wait for signals. Fitted to 2, 32 and 64 x 4096 x 4096
/// on two H200s.
static double tripSeconds(Exchange exchange, bool byWorkers) {
  constexpr double kGather = 5e-6, kSignals = 3.5e-6;
  if (!byWorkers)
    return kSignals;
  return exchange == Exchange::gather ? kGather : 0;
}

/// What the tiles of a direct product take.
static double productSeconds(const heuristics::GemmShape &shape, const Problem &problem,
                             const Config &config, const Calibration &rates) {
  PairedTile tile = pairedTile(config);
  if (config["workers"] > 0)
    return heuristics::streamKSeconds(shape, tile, config["workers"], problem.target, rates);
  return heuristics::splitSeconds(shape, tile, config.valueOr("parts", 1), problem.target, rates);
}

Prediction predictFused(const Problem &problem, const Config &config, Exchange exchange) {
  Calibration rates = ratesFor(problem, config);
  OverlapProblem made = overlapProblem(problem, exchange, config, problem.type);
  if (!isDirect(config) || sendsTiles(config)) {
    Prediction result = predict(made, overlapOf(config), rates);
    if (config["engine"] == kCopyEngines)
      result.seconds += kHostSeconds;
    else if (sendsTiles(config))
      result.seconds += tripSeconds(exchange, /*byWorkers=*/false);
    return result;
  }
  heuristics::GemmShape shape = gemmShape(problem, config);
  if (exchange != Exchange::allReduce) // tiles of workers have rows of all ranks, others of one
    (config["workers"] > 0 ? shape.M : shape.count) *= problem.ranks;
  int64_t parts = config.valueOr("parts", 1);
  double product = productSeconds(shape, problem, config, rates);
  auto bytes = static_cast<int64_t>(byteSize(typeOfSums(problem, config)));
  double packed = isPacked(config) ? heuristics::packSeconds(shape, rates) : 0;
  Prediction result = predictDirect(made, DirectChoice{packed, parts, bytes}, product, rates);
  result.seconds += tripSeconds(exchange, config["workers"] > 0);
  return result;
}

/// The direct ways, as changes of a configuration.
static std::vector<Config> directWaysOf(const Problem &problem, const Config &config) {
  std::vector<Config> ways;
  for (int64_t packs : {0, 1})
    for (int64_t workers : {0, 1}) { // retiling finds how many
      Config way = config;
      way.set("engine", kDirect);
      way.set("operands", packs);
      way.set("workers", workers);
      if (!packs || !hasWholeRows(problem, config))
        ways.push_back(way);
    }
  return ways;
}

/// The same whose cores send each tile of a sum as it is computed.
static Config sendingTiles(const Config &config) {
  Config way = config;
  way.set("engine", kDirect), way.set("form", kPlacedForm), way.set("operands", 0);
  return way;
}

void chooseWay(const Problem &problem, Config &config, Exchange exchange) {
  double least = predictFused(problem, config, exchange).seconds;
  std::vector<Config> ways = directWaysOf(problem, config);
  if (exchange != Exchange::gather)
    ways.push_back(sendingTiles(config));
  for (Config &way : ways) {
    retileFused(problem, way, exchange);
    double seconds = predictFused(problem, way, exchange).seconds;
    if (seconds < least)
      least = seconds, config = way;
  }
}

} // namespace ditron::kernels
