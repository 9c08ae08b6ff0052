// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/verbs/Explanation.h"
#include "ditron/kernels/FusedGemm.h"
#include "ditron/kernels/OverlapProblem.h"
#include "tools/ditron/report/Report.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ditron::tools {

using heuristics::Exchange;
using heuristics::OverlapProblem;
using heuristics::Prediction;
using kernels::Baseline;
using Json = nlohmann::ordered_json;

static std::string counted(int64_t number, const char *what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// What a kernel exchanges; nothing of kernels that are no product with a collective.
static std::optional<Exchange> exchangeOf(const Task &task) {
  switch (task.entry.baseline) {
  case Baseline::gatherThenGemm:
    return Exchange::gather;
  case Baseline::gemmThenScatter:
    return Exchange::reduceScatter;
  case Baseline::gemmThenReduce:
    return Exchange::allReduce;
  default:
    return std::nullopt;
  }
}

/// The way that a configuration takes, in words.
static std::string nameOf(const kernels::Config &config) {
  if (kernels::sendsTiles(config))
    return "tiles of sums, beside the product, in " + counted(config.valueOr("rounds", 1), "round");
  if (kernels::isDirect(config))
    return fmt::format("all cores, one step after the other{}, K in {}",
                       kernels::isPacked(config) ? ", of packed operands" : "",
                       counted(config.valueOr("parts", 1), "part"));
  std::string chunks = counted(config["chunks"], "chunk") + " a shard";
  if (config["engine"] == 1)
    return "copies, " + chunks;
  return config["comm"] == 0 ? "all cores that multiply, too"
                             : counted(config["comm"], "core") + " that send";
}

static Json jsonOf(const std::string &choice, const Prediction &predicted) {
  return {{"choice", choice},
          {"seconds", predicted.seconds},
          {"product_s", predicted.product},
          {"transfer_s", predicted.transfer},
          {"stall_s", predicted.stall}};
}

static Json medianOrNull(const std::vector<double> &seconds) {
  return seconds.empty() ? Json() : Json(median(seconds));
}

Json explain(const Task &task, const BenchResult &result, const KnownCalibration &calibration) {
  std::optional<Exchange> exchange = exchangeOf(task);
  if (!exchange)
    return nullptr;
  const heuristics::Calibration &numbers = calibration.numbers;
  OverlapProblem problem = kernels::overlapProblem(task.problem, *exchange, task.config,
                                                   task.kernel.parameters().back().dtype);
  Prediction chosen = kernels::predictFused(task.problem, task.config, *exchange);
  Prediction sequence = predict(problem, {.isOverlapped = false}, numbers);
  return {{"chosen", jsonOf(nameOf(task.config), chosen)},
          {"sequence", jsonOf("sequence", sequence)},
          {"limit_s", limitOf(problem, numbers)},
          {"calibrated", calibration.isMeasured},
          {"measured",
           {{"seconds", medianOrNull(result.seconds)},
            {"product_s", medianOrNull(result.productSeconds)},
            {"sequence_s", medianOrNull(result.baselineSeconds)}}}};
}

std::string textOfExplanation(const Json &explained) {
  if (explained.is_null())
    return "  the model is about products that are overlapped with a collective, and not about "
           "this "
           "kernel";
  auto seconds = [](const Json &json) {
    return json.is_null() ? std::string("not measured") : formatSeconds(json.get<double>());
  };
  const Json &chosen = explained["chosen"], &sequence = explained["sequence"];
  const Json &measured = explained["measured"];
  return fmt::format(
      "  chosen    {}: predicted {} (product {}, last arrival {}, stall {}); measured {}\n"
      "  sequence  predicted {} (product {}, collective {}); measured {} (product {})\n"
      "  limit     predicted {}; {}",
      chosen["choice"].get<std::string>(), seconds(chosen["seconds"]), seconds(chosen["product_s"]),
      seconds(chosen["transfer_s"]), seconds(chosen["stall_s"]), seconds(measured["seconds"]),
      seconds(sequence["seconds"]), seconds(sequence["product_s"]), seconds(sequence["transfer_s"]),
      seconds(measured["sequence_s"]), seconds(measured["product_s"]),
      seconds(explained["limit_s"]),
      explained["calibrated"].get<bool>()
          ? "as ditron info --measure found this machine"
          : "by default numbers, those of H200s: ditron info --measure "
            "takes this machine's");
}

} // namespace ditron::tools
