// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/verbs/BenchReport.h"
#include "ditron/support/File.h"
#include "tools/ditron/report/Calibrations.h"
#include "tools/ditron/report/Machine.h"
#include "tools/ditron/verbs/Explanation.h"
#include "llvm/Config/llvm-config.h"
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ditron::tools {

using Json = nlohmann::ordered_json;

namespace {

/// Operations or bytes of a launch on one rank, in the unit's millions of millions or thousands of
/// millions.
std::pair<double, const char *> rateOf(const Task &task) {
  if (task.entry.flops)
    return {task.entry.flops(task.problem, task.config) * 1e-12, "TFLOP/s"};
  double bytes = task.file ? operandBytes(task) : task.entry.bytesOf(task.problem, task.config);
  return {bytes * 1e-9, "GB/s"};
}

/// What was measured of the device that the ranks run on.
KnownCalibration calibrationOf(const Placement &placement) {
  KnownCalibration known = findCalibration(calibratedDevice(placement));
  if (!known.problem.empty())
    printWarning(known.problem);
  return known;
}

/// The limit, and what it is made of.
void addLimit(Json &json, const BenchResult &result, const KnownCalibration &calibration) {
  double bandwidth = calibration.numbers.copyBandwidth;
  std::optional<double> limit = result.limit(bandwidth);
  if (!limit)
    return;
  json["product_median_s"] =
      result.productSeconds.empty() ? Json() : Json(median(result.productSeconds));
  json["moved_bytes"] = result.movedBytes;
  json["link_bytes_per_s"] = bandwidth;
  json["link_measured"] = calibration.isMeasured;
  json["limit_s"] = *limit;
  json["of_limit"] = median(result.seconds) / *limit;
}

/// "; limit 503 us (product 503 us, link 86 us): 1.04 of it"; of a collective "; 0.85 of the link"
std::string limitText(const Json &json) {
  if (!json.contains("limit_s"))
    return "";
  const Json &product = json["product_median_s"];
  double ofLimit = json["of_limit"].get<double>(), limit = json["limit_s"].get<double>();
  double bandwidth = json["link_bytes_per_s"].get<double>();
  if (product.is_null())
    return fmt::format("; {:.2f} of the link's {:.4g} GB/s", 1 / ofLimit, bandwidth * 1e-9);
  return fmt::format("; limit {} (product {}, link {}): {:.2f} of it", formatSeconds(limit),
                     formatSeconds(product.get<double>()),
                     formatSeconds(json["moved_bytes"].get<double>() / bandwidth), ofLimit);
}

} // namespace

std::optional<double> BenchResult::limit(double bandwidth) const {
  double product = productSeconds.empty() ? 0 : median(productSeconds);
  double longest = std::max(product, movedBytes / bandwidth);
  return longest > 0 ? std::optional(longest) : std::nullopt;
}

Json jsonOf(const Task &task, const Placement &placement, const BenchArguments &arguments,
            const BenchResult &result) {
  auto [least, most] = std::minmax_element(result.seconds.begin(), result.seconds.end());
  double middle = median(result.seconds);
  auto [work, unit] = rateOf(task);
  const kernels::Verdict &verdict = result.findings.verdict;
  Json json{{"kernel", task.entry.name},
            {"backend", placement.backend},
            {"ranks", placement.ranks},
            {"shape", shapeJson(task.problem.dims)},
            {"dtype", name(task.problem.type)},
            {"median_s", middle},
            {"min_s", *least},
            {"max_s", *most},
            {"rate", work / middle},
            {"unit", unit},
            {"baseline", nullptr},
            {"baseline_median_s", nullptr},
            {"ratio", nullptr},
            {"ok", verdict.ok},
            {"max_rel_error", verdict.error},
            {"tolerance", verdict.tolerance},
            {"coverage", result.findings.coverage()},
            {"cores", placement.cores},
            {"transport", placement.transportName()},
            {"config", task.configText()},
            {"seed", result.seed},
            {"launches", result.seconds.size()},
            {"compile_s", result.compileSeconds},
            {"assembly_s", result.assemblySeconds},
            {"from_cache", result.fromCache},
            {"graph", arguments.graph}};
  if (task.problem.team)
    json["axis"] = task.problem.team->axis, json["team"] = task.problem.ranks;
  if (result.launchSeconds) {
    json["launch_s"] = *result.launchSeconds;
    json["sets"] = result.sets;
    json["batch"] = result.batch;
  }
  if (!result.baseline.empty()) {
    double other = median(result.baselineSeconds);
    json["baseline"] = result.baseline;
    json["baseline_median_s"] = other;
    json["ratio"] = other / middle;
    if (result.baselineLaunchSeconds)
      json["baseline_launch_s"] = *result.baselineLaunchSeconds;
  }
  KnownCalibration calibration = calibrationOf(placement);
  addLimit(json, result, calibration);
  if (arguments.explain)
    json["explained"] = explain(task, result, calibration);
  return json;
}

std::string textOf(const Task &task, const Placement &placement, const BenchResult &result,
                   const Json &line) {
  auto [least, most] = std::minmax_element(result.seconds.begin(), result.seconds.end());
  double middle = median(result.seconds);
  auto [work, unit] = rateOf(task);
  std::string text =
      fmt::format("{} {} {}, {}: {} ({} to {}, {} launches), {:.4g} {} a rank", task.entry.name,
                  name(task.problem.type), formatShape(task.problem.dims), placement.describe(),
                  formatSeconds(middle), formatSeconds(*least), formatSeconds(*most),
                  result.seconds.size(), work / middle, unit);
  if (result.launchSeconds)
    text += fmt::format(", {} to launch", formatSeconds(*result.launchSeconds));
  if (!result.baseline.empty()) {
    double other = median(result.baselineSeconds);
    text += fmt::format("; {} {}: {:.2f} of its speed", result.baseline, formatSeconds(other),
                        other / middle);
    if (result.baselineLaunchSeconds)
      text += fmt::format(", {} to launch", formatSeconds(*result.baselineLaunchSeconds));
  }
  return text + limitText(line) + (result.findings.verdict.ok ? ", verified" : ", WRONG");
}

void requireFolder(const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  requireWritable(folder + "/lines.jsonl");
}

void saveLine(Json line, const BenchResult &result, const std::string &folder) {
  Machine machine = Machine::inspect();
  char date[32];
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  line["date"] = date;
  line["machine"] = result.machine.empty() ? fmt::format("{}, {} CPUs", machine.cpu, machine.usable)
                                           : result.machine;
  line["versions"] = {{"ditron", DITRON_VERSION}, {"llvm", LLVM_VERSION_STRING}};
  if (!result.driver.empty())
    line["versions"]["driver"] = result.driver;
  if (!result.baselineVersion.empty() && result.machine.empty())
    line["versions"][result.baseline] = result.baselineVersion;
  else if (!result.baselineVersion.empty())
    line["versions"]["cuBLAS"] = result.baselineVersion;
  for (const auto &[name, version] : result.versions)
    line["versions"][name] = version;
  std::string path = fmt::format("{}/{}.jsonl", folder,
                                 result.machine.empty() ? machine.slug() : slugOf(result.machine));
  appendLine(path, line.dump());
}

} // namespace ditron::tools
