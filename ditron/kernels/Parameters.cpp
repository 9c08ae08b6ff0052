// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/Parameters.h"
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <utility>

namespace ditron::kernels {

std::vector<ConfigParameter> gemmParameters() {
  return {{"m", "rows of a tile of C", {16, 32, 64, 128, 256}},
          {"n", "columns of a tile of C", {32, 56, 64, 128, 160, 176, 192, 224, 256}},
          {"k", "terms a step adds", {32, 64, 128, 256}},
          {"group", "rows of tiles walked together", {1, 4, 8, 16}}};
}

GemmTile gemmTile(const Config &config) {
  return {config.get("m"), config.get("n"), config.get("k"), config.get("group")};
}

ConfigParameter pairsParameter() {
  return {"pairs",
          "tiles that two cores side by side take: rows share B, columns share A",
          {},
          {"none", "rows", "columns"},
          0};
}

PairedTile pairedTile(const Config &config) {
  return {gemmTile(config), static_cast<Pairs>(config["pairs"])};
}

void setTile(Config &config, const PairedTile &tile) {
  config.set("m", tile.m);
  config.set("n", tile.n);
  config.set("k", tile.k);
  config.set("group", tile.group);
  config.set("pairs", static_cast<int64_t>(tile.pairs));
}

ConfigParameter accuracyParameter() {
  return {"accuracy", "what products look at of f32 and of 8-bit floats", {}, {"full", "fast"}, 0};
}

ConfigParameter partsParameter() {
  return {"parts", "of K, that cores multiply apart", {1, 2, 3, 4, 6, 8, 12, 16}};
}

ConfigParameter workersParameter() {
  return {"workers",
          "that share the steps of all tiles evenly, stream-K (0: a tile's are one core's)",
          {0, 64, 128, 132},
          {},
          0};
}

ConfigParameter operandsParameter() {
  return {"operands",
          "read as they are given, or copied to rows of whole 16 bytes (across ranks: of "
          "engine=direct)",
          {},
          {"given", "packed"},
          0};
}

bool hasWholeRows(const Problem &problem, const Config &config) {
  auto bytes = static_cast<int64_t>(byteSize(problem.type));
  int64_t columnsOfB = config["transB"] ? problem["K"] : problem["N"];
  return problem["K"] * bytes % 16 == 0 && columnsOfB * bytes % 16 == 0;
}

heuristics::Calibration ratesOfOddRows(const Problem &problem) {
  constexpr double kOfOddRows = 0.09;
  heuristics::Calibration rates = problem.calibration;
  if (problem.target.hasWarpgroups)
    rates.flops *= kOfOddRows;
  return rates;
}

heuristics::GemmShape packedShape(heuristics::GemmShape shape) {
  int64_t elements = 16 / static_cast<int64_t>(byteSize(shape.type));
  shape.N = (shape.N + elements - 1) / elements * elements;
  shape.K = (shape.K + elements - 1) / elements * elements;
  return shape;
}

std::vector<ConfigParameter> epilogueParameters() {
  std::vector<ConfigParameter> parameters = gemmParameters();
  parameters.push_back(pairsParameter());
  parameters.push_back({"transB", "B is given transposed, K-major: B[N,K]", {}, {"no", "yes"}});
  parameters.push_back(accuracyParameter());
  parameters.push_back({"scale", "multiplies the product by a scalar", {}, {"no", "yes"}});
  parameters.push_back({"bias", "adds bias[N]", {}, {"no", "yes"}});
  parameters.push_back({"activation", "applied to the sum", {}, {"none", "relu", "silu", "gelu"}});
  parameters.push_back({"residual", "adds residual of C's shape, last", {}, {"no", "yes"}});
  return parameters;
}

Config epilogueDefaults(const PairedTile &tile) {
  return Config{{"m", tile.m},
                {"n", tile.n},
                {"k", tile.k},
                {"group", tile.group},
                {"pairs", static_cast<int64_t>(tile.pairs)},
                {"transB", 0},
                {"accuracy", 0},
                {"scale", 0},
                {"bias", 0},
                {"activation", 0},
                {"residual", 0}};
}

GemmConfig gemmConfig(const Config &config) {
  return {pairedTile(config),
          config["transB"] != 0,
          config["bias"] != 0,
          static_cast<Activation>(config["activation"]),
          config["residual"] != 0,
          config["scale"] != 0,
          static_cast<Accuracy>(config["accuracy"]),
          static_cast<int>(config.valueOr("parts", 1)),
          static_cast<int>(config.valueOr("workers", 0)),
          config.valueOr("operands", 0) == 1};
}

heuristics::GemmNeeds gemmNeeds(const Config &config) {
  auto activation = static_cast<Activation>(config["activation"]);
  return {.isFast = config["accuracy"] != 0,
          .epilogue = {.scale = config["scale"] != 0,
                       .bias = config["bias"] != 0,
                       .residual = config["residual"] != 0,
                       .activation = activation != Activation::none,
                       .isErf = activation == Activation::gelu}};
}

heuristics::GemmShape gemmShape(const Problem &problem, int64_t rows, bool isKMajor) {
  int64_t cores = std::max<int64_t>(1, problem.cores);
  return {rows, problem["N"], problem["K"], problem.type, cores, 1, isKMajor};
}

heuristics::GemmShape gemmShape(const Problem &problem, const Config &config) {
  return gemmShape(problem, problem["M"], config["transB"] != 0);
}

std::vector<ConfigParameter> rowParameters() {
  return {{"rows", "rows of a tile", {1, 2, 4, 8, 16}},
          {"width", "columns of a tile", {256, 512, 1024, 2048, 4096, 8192}}};
}

static Config configOf(const heuristics::RowTile &tile) {
  return {{"rows", tile.rows}, {"width", tile.width}};
}

Config rowDefaults(const Problem &problem) {
  return configOf(heuristics::rowTile({problem["T"], problem["H"], problem.type}, problem.target));
}

Config elementDefaults(const Problem &problem) {
  return configOf(
      heuristics::elementTile({problem["T"], problem["H"], problem.type}, problem.target));
}

RowConfig rowConfig(const Config &config) { return {config.get("rows"), config.get("width")}; }

std::vector<ConfigParameter> chunkParameters() {
  return {{"rows", "rows of a chunk", {1, 4, 16, 64}},
          {"columns", "columns of a chunk", {512, 1024, 4096, 16384}}};
}

static Config configOf(const heuristics::ChunkShape &chunk) {
  return {{"rows", chunk.rows}, {"columns", chunk.columns}};
}

Config movedChunks(const Problem &problem, int64_t rows, int64_t columns) {
  return configOf(heuristics::movedChunk(rows, columns, problem.type));
}

/// Elements of a chunk that a core moves or adds where latency counts.
constexpr int64_t kQuickElements = 8192;

Config spreadChunks(const Problem &problem, int64_t rows, int64_t columns) {
  if (!problem.target.isGpu())
    return movedChunks(problem, rows, columns);
  return configOf(heuristics::spreadChunk(rows, columns, problem.target.sms, 2 * kQuickElements));
}

Config summedChunks(int64_t rows, int64_t columns) {
  return configOf(heuristics::summedChunk(rows, columns));
}

ChunkConfig chunkConfig(const Config &config) {
  return {config.get("rows"), config.get("columns")};
}

ConfigParameter chunksParameter(std::vector<int64_t> candidates) {
  return {"chunks",
          "of a shard, that copy engines send one by one",
          std::move(candidates),
          {},
          1,
          /*needs=*/{{"engine", {kByCopyEngines}}}};
}

std::vector<ConfigParameter> transferParameters() {
  std::vector<ConfigParameter> parameters = chunkParameters();
  parameters.push_back({"engine", "what moves data", {0, 1}, {"cores", "copy"}});
  const ChoiceNeed byCores{"engine", {0}}, bySignals{"protocol", {0}};
  parameters.push_back({"protocol",
                        "how cores hand over data",
                        {0, 1},
                        {"simple", "ll"},
                        0,
                        /*needs=*/{byCores},
                        /*without=*/0});
  parameters.push_back(chunksParameter({1, 2, 4, 8}));
  parameters.push_back(
      {"senders",
       "cores that only send, where cores move data (0: all send and receive, in turn)",
       {0, 32, 64, 80},
       {},
       0,
       /*needs=*/{byCores, bySignals},
       /*without=*/0});
  parameters.push_back({"batch",
                        "chunks, one below the other, that cores send at a time",
                        {1, 2, 4},
                        {},
                        1,
                        /*needs=*/{byCores, bySignals}});
  parameters.push_back({"stagger",
                        "half of the cores begin later, and receive while the others send",
                        {0, 1},
                        {"no", "yes"},
                        0,
                        /*needs=*/{byCores, bySignals, {"senders", {0}}},
                        /*without=*/0});
  return parameters;
}

/// `chunk`: on a CPU.
static Config transferDefaults(const Problem &problem, heuristics::ChunkShape matrix,
                               const heuristics::Traffic &traffic, const Config &chunk) {
  Config config = chunk;
  heuristics::TransferChoice choice;
  heuristics::Senders senders;
  if (problem.target.isGpu()) {
    choice = heuristics::chooseTransfer(traffic, problem.calibration);
    int64_t most = choice.isLowLatency
                       ? kQuickElements
                       : heuristics::kMovedBytes / static_cast<int64_t>(byteSize(problem.type));
    auto tile = heuristics::spreadChunk(matrix.rows, matrix.columns, problem.target.sms, most);
    config = configOf(tile);
    int64_t chunks = matrix.rows / tile.rows * (matrix.columns / tile.columns);
    if (!choice.byCopyEngines && !choice.isLowLatency)
      senders = heuristics::chooseSenders(chunks, problem.target.sms, traffic.ranks);
    if (senders.inHalves)
      config = configOf(heuristics::spreadChunk(matrix.rows, matrix.columns, problem.target.sms,
                                                std::max<int64_t>(1, most / 2)));
  }
  config.add({"engine", choice.byCopyEngines ? 1 : 0});
  config.add({"protocol", choice.isLowLatency ? 1 : 0});
  config.add({"chunks", choice.chunks});
  config.add({"senders", senders.cores});
  config.add({"batch", senders.batch});
  config.add({"stagger", senders.stagger});
  return config;
}

Config movedTransfer(const Problem &problem, int64_t rows, int64_t columns,
                     const heuristics::Traffic &traffic) {
  return transferDefaults(problem, {rows, columns}, traffic, movedChunks(problem, rows, columns));
}

Config summedTransfer(const Problem &problem, int64_t rows, int64_t columns,
                      const heuristics::Traffic &traffic) {
  return transferDefaults(problem, {rows, columns}, traffic, summedChunks(rows, columns));
}

TransferConfig transferConfig(const Config &config) {
  TransferConfig result{chunkConfig(config), config["engine"] == kByCopyEngines};
  if (result.copyEngines) {
    result.chunks = config.get("chunks");
    return result;
  }
  if (config["protocol"] == 1) {
    result.protocol = Protocol::ll;
    return result;
  }
  result.senders = config.get("senders");
  result.batch = config.get("batch");
  result.stagger = config["stagger"] != 0;
  return result;
}

void checkTransfer(std::string_view kernel, const TransferConfig &config) {
  auto refuse = [&](const char *option, int found, int expected, const char *where) {
    if (found != expected)
      throw CompileError(fmt::format("{}: {} is {}, expected {} where {}", kernel, option, found,
                                     expected, where));
  };
  const char *byWhom = config.copyEngines ? "copy engines move the data" : "inboxes take the data";
  if (!config.copyEngines)
    refuse("chunks", config.chunks, 1, "cores move the data");
  if (config.copyEngines || config.protocol == Protocol::ll) {
    refuse("senders", config.senders, 0, byWhom);
    refuse("batch", config.batch, 1, byWhom);
    refuse("stagger", config.stagger, 0, byWhom);
  }
  if (config.senders > 0)
    refuse("stagger", config.stagger, 0, "some cores only send");
  if (config.copyEngines && config.protocol == Protocol::ll)
    throw CompileError(fmt::format("{}: protocol is ll, expected simple where {}", kernel, byWhom));
}

std::vector<CheckCase> transferCheckCases(const std::string &more) {
  auto of = [&](int64_t M, int64_t N, const std::string &config) -> CheckCase {
    return {{{"M", M}, {"N", N}}, config + more};
  };
  return {of(9, 7, "rows=2,columns=4,engine=cores,senders=1,batch=2"),
          of(9, 7, "rows=2,columns=4,engine=cores,batch=2,stagger=yes"),
          of(5, 7, "rows=2,columns=4,engine=cores"),
          of(5, 7, "rows=2,columns=4,engine=cores,protocol=ll"),
          of(5, 3, "rows=2,columns=4,engine=cores"),
          of(5, 7, "rows=2,columns=4,engine=copy,chunks=2"),
          of(3, 2, "rows=2,columns=4,engine=copy,chunks=3")};
}

std::vector<std::string> transferVariants(const std::string &more) {
  std::vector<std::string> variants = {
      "rows=2,columns=5,engine=cores,protocol=simple,senders=1,batch=2",
      "rows=2,columns=5,engine=cores,protocol=simple,batch=2,stagger=yes",
      "rows=2,columns=5",
      "protocol=ll,engine=cores",
      "rows=2,columns=5,protocol=ll,engine=cores",
      "engine=copy",
      "rows=2,columns=5,engine=copy,chunks=3"};
  for (std::string &variant : variants)
    variant += more;
  return variants;
}

KernelEntry matrixEntry(std::string name, std::string summary, Collective collective) {
  KernelEntry entry;
  entry.name = std::move(name);
  entry.summary = std::move(summary);
  entry.dtypes = Any::list();
  entry.isDistributed = true;
  entry.shape = {{"M", 256}, {"N", 1024}};
  entry.testShapes = {{{"M", 1}, {"N", 1}}, {{"M", 7}, {"N", 13}}, {{"M", 64}, {"N", 48}}};
  entry.benchShapes = {{{"M", 1}, {"N", 4096}}, {{"M", 2048}, {"N", 4096}}};
  entry.checkCases = transferCheckCases();
  entry.variants = transferVariants();
  entry.bytes = [](const Problem &p) { return 1.0 * p["M"] * p["N"] * byteSize(p.type); };
  entry.baseline = Baseline::copy;
  entry.collective = collective;
  return entry;
}

} // namespace ditron::kernels
