// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/verbs/Explanation.h"
#include "ditron/kernels/OverlapProblem.h"
#include "tools/ditron/report/Report.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ditron::tools {

using heuristics::Exchange;
using heuristics::OverlapChoice;
using heuristics::OverlapProblem;
using heuristics::Prediction;
using kernels::Baseline;
using Json = nlohmann::ordered_json;

std::optional<OverlapProblem> overlapOf(const Task &task) {
  Baseline baseline = task.entry.baseline;
  bool gathers = baseline == Baseline::gatherThenGemm;
  bool scatters = baseline == Baseline::gemmThenScatter;
  if (!gathers && !scatters && baseline != Baseline::gemmThenReduce)
    return std::nullopt;
  Exchange exchange = gathers    ? Exchange::gather
                      : scatters ? Exchange::reduceScatter
                                 : Exchange::allReduce;
  return kernels::overlapProblem(task.problem, exchange, task.config,
                                 task.kernel.parameters().back().dtype);
}

static std::string nameOf(const OverlapChoice &choice) {
  if (!choice.isOverlapped)
    return "sequence";
  bool isCopy = choice.engine == OverlapChoice::Engine::copy;
  std::string chunks =
      fmt::format("{} chunk{} a shard", choice.chunks, choice.chunks == 1 ? "" : "s");
  return isCopy ? "copies, " + chunks
                : fmt::format("{} core{} that send, {}", choice.commCores,
                              choice.commCores == 1 ? "" : "s", chunks);
}

static Json jsonOf(const OverlapChoice &choice, const Prediction &predicted) {
  return {{"choice", nameOf(choice)},
          {"seconds", predicted.seconds},
          {"product_s", predicted.product},
          {"transfer_s", predicted.transfer},
          {"stall_s", predicted.stall}};
}

static Json medianOrNull(const std::vector<double> &seconds) {
  return seconds.empty() ? Json() : Json(median(seconds));
}

Json explain(const Task &task, const BenchResult &result, const KnownCalibration &calibration) {
  std::optional<OverlapProblem> problem = overlapOf(task);
  if (!problem)
    return nullptr;
  const heuristics::Calibration &numbers = calibration.numbers;
  OverlapChoice chosen = chooseOverlap(*problem, numbers, task.problem.target.isGpu());
  OverlapChoice sequence{.isOverlapped = false};
  return {{"chosen", jsonOf(chosen, predict(*problem, chosen, numbers))},
          {"sequence", jsonOf(sequence, predict(*problem, sequence, numbers))},
          {"limit_s", limitOf(*problem, numbers)},
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
      "  chosen    {}: predicted {} (product {}, last arrival {}, stall {}); measured as "
      "configured {}\n"
      "  sequence  predicted {} (product {}, collective {}); measured {} (product {})\n"
      "  limit     predicted {}; {}",
      chosen["choice"].get<std::string>(), seconds(chosen["seconds"]), seconds(chosen["product_s"]),
      seconds(chosen["transfer_s"]), seconds(chosen["stall_s"]), seconds(measured["seconds"]),
      seconds(sequence["seconds"]), seconds(sequence["product_s"]), seconds(sequence["transfer_s"]),
      seconds(measured["sequence_s"]), seconds(measured["product_s"]),
      seconds(explained["limit_s"]),
      explained["calibrated"].get<bool>() ? "as ditron info --measure found this machine"
                                          : "by default numbers: ditron info --measure takes this "
                                            "machine's");
}

} // namespace ditron::tools
