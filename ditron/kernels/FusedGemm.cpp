// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/FusedGemm.h"
#include "ditron/heuristics/Communication.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/heuristics/SplitTiles.h"
#include "ditron/heuristics/StreamKTiles.h"
#include "ditron/kernels/OverlapProblem.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/functions/Epilogues.h"
#include "ditron/kernels/functions/PackedMatrix.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::kernels {

/// Rows that travel at a time in an inbox, at most.
static constexpr int64_t kMostChunkRows = 64;
std::vector<ConfigParameter> fusedParameters(Exchange exchange) {
  std::vector<ConfigParameter> parameters = epilogueParameters();
  parameters.push_back({"comm",
                        "cores that move data (0: all do, before or after they multiply)",
                        {0, 1, 2},
                        {},
                        0});
  parameters.push_back({"chunk",
                        "rows that move at a time, by cores",
                        {1, 4, 16, 64},
                        {},
                        1,
                        /*needs=*/{{"engine", {kCores, kDirect}}}});
  parameters.push_back({"engine",
                        "what moves data (direct: all cores what they have, at once)",
                        {kCores, kCopyEngines, kDirect},
                        {"cores", "copy", "direct"}});
  parameters.push_back(chunksParameter({1, 2, 4}));
  parameters.push_back({"partials",
                        "the type in which a rank's sums travel to be added, by copy engines or "
                        "directly",
                        {},
                        {"accumulator", "result"},
                        1,
                        /*needs=*/{{"engine", {kCopyEngines, kDirect}}},
                        /*without=*/0});
  parameters.push_back({"form",
                        "the verbs written in the kernel, or derived from where arguments live "
                        "(either: derived where copy engines move the data; placed and direct: "
                        "each tile of a sum is sent when it is computed)",
                        {},
                        {"explicit", "placed", "either"},
                        0});
  const std::vector<ChoiceNeed> inSteps = {{"engine", {kDirect}},
                                           {"form", {kExplicitForm, kEitherForm}}};
  parameters.push_back(operandsParameter());
  parameters.back().candidates = {0, 1};
  parameters.back().needs = inSteps, parameters.back().without = 0;
  if (exchange == Exchange::allReduce) {
    parameters.push_back(partsParameter());
    parameters.back().needs = inSteps;
    parameters.push_back(
        {"rounds",
         "in how many rounds all ranks' parts are computed, so that the sums of one "
         "travel while the next one is computed",
         {1, 2, 4},
         {},
         1,
         /*needs=*/{{"engine", {kDirect}}, {"form", {kPlacedForm}}},
         /*without=*/1});
    parameters.push_back(
        {"wave",
         "tiles that the cores compute at a time: copy engines send the last ones "
         "by themselves (0: the last chunk is as the others)",
         {},
         {},
         0,
         /*needs=*/
         {{"engine", {kCopyEngines}}, {"form", {kPlacedForm, kEitherForm}}, {"halves", {0}}},
         /*without=*/0});
    parameters.push_back(
        {"halves",
         "the upper halves of all ranks' parts are computed before the lower ones, "
         "and copy engines send halves",
         {0, 1},
         {"no", "yes"},
         0,
         /*needs=*/
         {{"engine", {kCopyEngines}},
          {"form", {kPlacedForm, kEitherForm}},
          {"chunks", {2}},
          {"wave", {0}}},
         /*without=*/0});
  }
  parameters.push_back(workersParameter());
  parameters.back().needs = inSteps, parameters.back().without = 0;
  return parameters;
}

bool isDirect(const Config &config) { return config.valueOr("engine", 0) == kDirect; }
bool isPacked(const Config &config) { return isDirect(config) && config["operands"] == 1; }

static bool byCopyEngines(const Config &config) { return config["engine"] == kCopyEngines; }

bool sendsTiles(const Config &config) { return isDirect(config) && config["form"] == kPlacedForm; }

/// Whether sums of several ranks are added where a tile is stored.
static heuristics::GemmNeeds needsOf(const Config &config, Exchange exchange) {
  heuristics::GemmNeeds needs = gemmNeeds(config);
  if (exchange != Exchange::gather) // the epilogue is that of whole sums
    needs.epilogue = {}, needs.isStoredByThreads = needs.isSummed = true;
  return needs;
}

/// The product that one rank computes, with rows as it reads them.
static heuristics::GemmShape shapeOf(const Problem &problem, const Config &config,
                                     Exchange exchange) {
  heuristics::GemmShape shape = gemmShape(problem, config);
  shape.count = exchange == Exchange::allReduce ? 1 : problem.ranks;
  return isPacked(config) ? packedShape(shape) : shape;
}

/// The tile, chosen for the SMs beside those that move data.
static PairedTile tileOf(const Problem &problem, const Config &config, Exchange exchange) {
  DeviceTraits target = problem.target;
  if (!byCopyEngines(config) && !isDirect(config))
    target.sms = std::max<int64_t>(1, target.sms - config["comm"]);
  return heuristics::gemmTile(shapeOf(problem, config, exchange), target,
                              needsOf(config, exchange));
}

/// The tile of a direct product, and in gemm-ar the parts of K. A part's sums go to all other ranks,
/// and are read where they are added.
static heuristics::SplitTile splitOf(const Problem &problem, const Config &config,
                                     Exchange exchange) {
  const heuristics::Calibration &rates = problem.calibration;
  bool isNarrow = config["partials"] == 1;
  double bytes =
      double(problem["M"] * problem["N"]) * (isNarrow ? double(byteSize(problem.type)) : 4);
  double seconds = bytes * double(problem.ranks - 1) / rates.coreCopyBandwidth +
                   bytes * double(problem.ranks + 1) / rates.memoryBandwidth;
  return heuristics::splitTile(shapeOf(problem, config, exchange), problem.target,
                               needsOf(config, exchange), rates, seconds,
                               exchange == Exchange::allReduce ? INT64_MAX : 1);
}

/// Tiles of few rows, of all ranks together, and rows that travel at a time: so that all cores send.
/// False where there are too many.
static bool retileStreamed(const Problem &problem, Config &config, Exchange exchange) {
  int64_t most = heuristics::kFewRows;
  if (exchange != Exchange::allReduce)
    most *= 2; // one shot is still less than what tiles for each rank take
  heuristics::StreamKTile found = heuristics::streamKTile(
      shapeOf(problem, config, exchange), problem.target, problem.calibration, most);
  config.set("workers", found.workers);
  if (!found.workers)
    return false;
  setTile(config, found.tile);
  int64_t rows = problem["M"];
  if (exchange == Exchange::gather)
    rows = heuristics::tilesOf(rows * heuristics::tilesOf(problem["K"], kPackedColumns),
                               problem.target.sms);
  config.set("chunk", std::min<int64_t>(heuristics::fit(rows, kMostChunkRows), found.tile.m));
  return true;
}

/// Rows that a core copies at a time of operands that are packed: so that all cores copy.
static int64_t copiedRows(const Problem &problem) {
  constexpr int64_t kMost = 16;
  int64_t cores = problem.target.isGpu() ? problem.target.sms : std::max<int64_t>(1, problem.cores);
  int64_t columns = heuristics::tilesOf(std::max(problem["N"], problem["K"]), kPackedColumns);
  int64_t rows = std::max(problem["M"], problem["K"]) * columns;
  return heuristics::fit(heuristics::tilesOf(rows, cores), kMost);
}

/// Rows that cores move at a time of operands as given.
static int64_t movedRows(const Problem &problem) {
  return heuristics::movedChunk(problem["M"], kChunkColumns, problem.type).rows;
}

Config fusedDefaults(const Problem &problem, Exchange exchange) {
  Config config = epilogueDefaults({});
  config.add({"comm", heuristics::communicatingCores(problem.cores, problem.target)});
  config.add({"chunk", movedRows(problem)});
  config.add({"engine", problem.target.isGpu() ? 1 : 0});
  config.add({"chunks", exchange == Exchange::gather ? 1 : 2});
  bool isNarrow = problem.target.isGpu() && isFloat(problem.type) && byteSize(problem.type) == 2;
  config.add({"partials", isNarrow ? 1 : 0});
  config.add({"form", kEitherForm});
  config.add({"operands", 0});
  if (exchange == Exchange::allReduce)
    config.add({"parts", 1}), config.add({"rounds", 1}), config.add({"wave", 0}),
        config.add({"halves", 0});
  config.add({"workers", 0});
  retileFused(problem, config, exchange);
  if (problem.target.isGpu() && problem.ranks > 1)
    chooseWay(problem, config, exchange);
  return config;
}

/// The fewest chunks, `least` to `most`, with which the link is not late.
static void chooseChunks(const Problem &problem, Config &config, Exchange exchange, int64_t least,
                         int64_t most) {
  constexpr double kAlike = 1.005; // more copies than that need are a burden to the host
  std::vector<double> seconds;
  for (int64_t chunks = least; chunks <= most; ++chunks) {
    config.set("chunks", chunks);
    seconds.push_back(predictFused(problem, config, exchange).seconds);
  }
  double enough = kAlike * *std::min_element(seconds.begin(), seconds.end());
  auto fewest = std::find_if(seconds.begin(), seconds.end(), [&](double s) { return s <= enough; });
  config.set("chunks", least + (fewest - seconds.begin()));
}

/// What copy engines send at a time. An all-reduce sends the sums of the last wave of tiles by themselves, when
/// nothing is left to multiply, and the others before; or halves, where the bytes take longer than the product.
static void chooseChunks(const Problem &problem, Config &config, Exchange exchange) {
  if (exchange == Exchange::reduceScatter)
    chooseChunks(problem, config, exchange, 1, 2);
  if (exchange != Exchange::allReduce)
    return;
  config.set("halves", 0), config.set("wave", problem.target.sms);
  chooseChunks(problem, config, exchange, 1, 8);
  Config halves = config;
  halves.set("halves", 1), halves.set("wave", 0), halves.set("chunks", 2);
  auto seconds = [&](const Config &one) { return predictFused(problem, one, exchange).seconds; };
  if (seconds(halves) < seconds(config))
    config = halves;
}

/// Gives up that tiles are sent as they are computed, where what else is given has no meaning then: it was the choice
/// of the model, or else Config::settle refuses it.
static void avoidTiles(const Problem &problem, Config &config, Exchange exchange) {
  if (!sendsTiles(config))
    return;
  if (exchange == Exchange::gather)
    config.set("engine", problem.target.isGpu() ? kCopyEngines : kCores);
  else if (isPacked(config) || config["workers"] > 0 || config.valueOr("parts", 1) > 1)
    config.set("form", kEitherForm);
}

void retileFused(const Problem &problem, Config &config, Exchange exchange) {
  avoidTiles(problem, config, exchange);
  if (!isDirect(config) || sendsTiles(config)) {
    config.set("workers", 0);
    config.set("chunk", movedRows(problem));
    setTile(config, tileOf(problem, config, exchange));
    if (byCopyEngines(config) && problem.target.isGpu())
      chooseChunks(problem, config, exchange);
    if (sendsTiles(config) && exchange == Exchange::allReduce)
      config.set("rounds", 2); // more make cores wait for sums
    return;
  }
  config.set("chunk", copiedRows(problem));
  bool isStreamed = config["workers"] > 0 && config.valueOr("parts", 1) == 1;
  if (isStreamed && retileStreamed(problem, config, exchange))
    return;
  config.set("workers", 0);
  heuristics::SplitTile split = splitOf(problem, config, exchange);
  setTile(config, split.tile);
  if (exchange == Exchange::allReduce)
    config.set("parts", split.parts);
}

FusedGemmConfig fusedConfig(const Config &config) {
  GemmConfig product = gemmConfig(config);
  product.packs = isPacked(config);
  return {product,
          config.get("comm"),
          config.get("chunk"),
          byCopyEngines(config),
          config.get("chunks"),
          config["partials"] == 1,
          isDirect(config)};
}

int evenRows(int rows, int most) {
  int result = std::clamp(most, 1, rows);
  while (rows % result)
    --result;
  return result;
}

std::vector<std::string> fusedVariants() {
  return {"m=8,n=16,k=32",
          "m=8,n=16,k=32,comm=1,engine=cores",
          "m=8,n=16,k=32,engine=copy,form=explicit",
          "m=8,n=16,k=32,engine=copy,partials=result,form=explicit",
          "m=8,n=16,k=32,engine=copy,chunks=2,partials=result,form=placed",
          "m=8,n=16,k=32,comm=1,engine=cores,form=placed",
          "m=8,n=16,k=32,engine=copy,chunks=2,form=placed",
          "bias=yes,activation=relu,residual=yes,form=placed",
          "transB=yes,scale=yes,bias=yes,engine=copy,chunks=4,form=placed",
          "transB=yes",
          "bias=yes,activation=relu,residual=yes",
          "transB=yes,scale=yes,bias=yes,activation=silu,engine=copy,form=explicit"};
}

bool isPlaced(const Config &config) {
  if (isDirect(config))
    return sendsTiles(config);
  return config["form"] == kEitherForm ? byCopyEngines(config) : config["form"] == kPlacedForm;
}

Kernel placedGemm(const char *name, DType type, const Config &config, const char *argument,
                  const Placement &placement) {
  bool isSum = placement.kind != Placement::Kind::gathered;
  if (sendsTiles(config) && !isSum)
    throw CompileError(fmt::format("{}: engine is direct, expected cores or copy with form=placed: "
                                   "tiles are sent where they are summed",
                                   name));
  Engine engine = byCopyEngines(config) ? Engine::copy : Engine::core;
  Placement where = placement.cores(config.get("comm")).on(engine);
  if (engine == Engine::copy && placement.kind == Placement::Kind::allReduced)
    where = where.wave(config.get("wave")).rounds(config["halves"] != 0 ? 2 : 1);
  if (engine == Engine::copy && isSum)
    where = where.chunks(config.get("chunks"));
  if (isSum)
    where = where.rounded(config["partials"] == 1);
  if (sendsTiles(config) && placement.kind == Placement::Kind::allReduced)
    where = where.rounds(config.get("rounds"));
  GemmConfig product = gemmConfig(config);
  product.parts = 1, product.workers = 0,
  product.packs = false; // symmetric memory is that of the placement
  checkEpilogue(type, product, name);
  return distribute(name, gemm(type, product), {{argument, where}});
}

std::vector<Dimensions> fusedTestShapes() {
  return {{{"M", 1}, {"N", 1}, {"K", 1}},
          {{"M", 7}, {"N", 13}, {"K", 11}},
          {{"M", 1}, {"N", 48}, {"K", 5}},
          {{"M", 2}, {"N", 3}, {"K", 4099}},
          {{"M", 33}, {"N", 48}, {"K", 96}}};
}

std::vector<CheckCase> fusedCheckCases() {
  return {{{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,engine=cores,comm=0"},
          {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,engine=cores,comm=1"},
          {{{"M", 10}, {"N", 3}, {"K", 7}}, "m=4,n=4,k=4,group=1,engine=cores,comm=0"},
          {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,engine=copy,form=explicit"},
          {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,engine=cores,comm=1,form=placed"},
          {{{"M", 10}, {"N", 3}, {"K", 7}}, "m=4,n=4,k=4,group=1,engine=cores,comm=0,form=placed"},
          {{{"M", 10}, {"N", 6}, {"K", 7}}, "m=4,n=4,k=4,group=1,engine=copy,chunks=2,form=placed"},
          {{{"M", 3}, {"N", 2}, {"K", kChunkColumns + 3}}, "m=2,n=2,k=4096,engine=cores,comm=1"}};
}

std::vector<std::string> directVariants() {
  std::vector<std::string> result = fusedVariants();
  for (const char *one :
       {"m=8,n=16,k=32,engine=direct", "m=8,n=16,k=32,chunk=4,engine=direct,operands=packed",
        "engine=direct,operands=packed,transB=yes,scale=yes,bias=yes,residual=yes,partials=result",
        "m=8,n=64,k=32,chunk=2,engine=direct,workers=3",
        "m=8,n=16,k=32,engine=direct,operands=packed,workers=7,partials=result",
        "m=16,n=32,k=16,engine=direct,workers=2,transB=yes,scale=yes,bias=yes,residual=yes"})
    result.emplace_back(one);
  return result;
}

std::vector<std::string> summedVariants() {
  std::vector<std::string> result = directVariants();
  for (const char *one :
       {"m=8,n=16,k=32,engine=direct,form=placed",
        "m=8,n=16,k=32,engine=direct,partials=result,form=placed",
        "engine=direct,transB=yes,scale=yes,bias=yes,activation=silu,residual=yes,partials=result,"
        "form=placed"})
    result.emplace_back(one);
  return result;
}

std::vector<CheckCase> summedCheckCases() {
  std::vector<CheckCase> result = directCheckCases();
  result.push_back(
      {{{"M", 10}, {"N", 6}, {"K", 7}}, "m=4,n=4,k=4,group=1,engine=direct,form=placed"});
  return result;
}

std::vector<CheckCase> directCheckCases() {
  std::vector<CheckCase> result = fusedCheckCases();
  for (const char *one : {"m=4,n=4,k=4,group=1,chunk=2,engine=direct",
                          "m=4,n=4,k=4,group=1,chunk=2,engine=direct,operands=packed",
                          "m=4,n=4,k=4,group=1,chunk=2,engine=direct,workers=3",
                          "m=8,n=4,k=4,group=1,chunk=4,engine=direct,workers=2,operands=packed"})
    result.push_back({{{"M", 6}, {"N", 5}, {"K", 7}}, one});
  return result;
}

} // namespace ditron::kernels
