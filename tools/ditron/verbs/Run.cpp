// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron run: launches a kernel on fresh random inputs and compares what it computes with the
// kernel's reference.
#include "tools/ditron/launch/Execute.h"
#include "tools/ditron/verbs/Verbs.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace ditron::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFooter = R"(
What is checked: |out - ref64| <= |baseline - ref64| + sqrt(K) eps32 (|A||B|) and the rounding
of the output's type, where ref64 is computed in double and baseline in the kernel's types. Data
that is only moved must be equal bit by bit. Where comparing every element would take long, a
sample is compared, every element must be written and finite, and every row of a product must
fulfil Freivalds' check. "coverage" says which: full, projected or sampled.

FILE.mlir has kernels as `ditron compile --emit ir` prints them. Each element that such a kernel
writes is compared with what the interpreter computes: it may be off by 1e-4 of the largest one of
the argument and two roundings of its type, or by 1e-2 where products may round their inputs.

hidden: how much of the transfers was hidden behind computation. A rank transfers while at least
one of its cores is in put or get; that time is hidden while another of its cores computes, and
exposed while none does. transfer_s and exposed_s are of one rank and launch, on average. With more
cores than CPUs a core that waits for a CPU counts as doing what it was about: hidden says what the
program let overlap, and cpu_share, of the time in which cores did not wait for one another, for
how much they had a CPU.

seconds: from the first core's start to the last core's end, of the slowest rank; the median of
the launches. Inputs and outputs are in memory then; code and symmetric memory may be touched
for the first time in the first launch.

Launch n takes its inputs from seed + n. DITRON_WAIT_TIMEOUT_MS bounds every wait.)";

Json jsonOf(const Task &task, const Placement &placement, const RunResult &result) {
  const kernels::Verdict &verdict = result.findings.verdict;
  const std::optional<Transfers> &transfers = result.transfers;
  bool compiles = placement.traits.timesMatter;
  Json json{{"kernel", task.entry.name},
            {"backend", placement.backend},
            {"ranks", placement.ranks},
            {"shape", shapeJson(task.problem.dims)},
            {"dtype", name(task.problem.type)},
            {"ok", verdict.ok},
            {"max_rel_error", verdict.error},
            {"tolerance", verdict.tolerance},
            {"seconds", median(result.seconds)},
            {"cores", placement.cores},
            {"transport", placement.transportName()},
            {"config", task.configText()},
            {"seed", result.seed},
            {"launches", result.seconds.size()},
            {"compared", verdict.checked},
            {"elements", result.findings.elements},
            {"coverage", result.findings.coverage()},
            {"compile_s", compiles ? Json(result.compileSeconds) : Json()},
            {"assembly_s", compiles ? Json(result.assemblySeconds) : Json()},
            {"from_cache", compiles ? Json(result.fromCache) : Json()},
            {"hidden", transfers ? Json(transfers->hidden()) : Json()},
            {"transfer_s", transfers ? Json(transfers->seconds) : Json()},
            {"exposed_s", transfers ? Json(transfers->exposed) : Json()},
            {"cpu_share", transfers && transfers->cpuShare ? Json(*transfers->cpuShare) : Json()},
            {"events_dropped", transfers ? Json(transfers->dropped) : Json()}};
  if (task.problem.team)
    json["axis"] = task.problem.team->axis, json["team"] = task.problem.ranks;
  if (!verdict.ok)
    json["failure"] = verdict.failure;
  return json;
}

std::string describeCheck(const Task &task, const Findings &findings) {
  std::string text = fmt::format("{} of {} elements compared{}", findings.verdict.checked,
                                 findings.elements, task.file ? " with the interpreter's" : "");
  if (findings.isComplete)
    return text;
  return text + (findings.projected == findings.elements
                     ? ", every row projected, every element written"
                     : ", every element written and finite");
}

std::string describeTransfers(const Transfers &transfers, const Placement &placement) {
  std::string text = fmt::format(
      "  hidden    {:.0f} % of the transfers: {} of transfers a rank, {} "
      "of it exposed",
      100 * transfers.hidden(), formatSeconds(transfers.seconds), formatSeconds(transfers.exposed));
  if (placement.ranks * placement.cores > cpus())
    text += fmt::format(" ({} cores on {} CPUs)", placement.ranks * placement.cores, cpus());
  text += "\n";
  if (constexpr double kNever = 0.995; transfers.cpuShare.value_or(1) < kNever)
    text +=
        fmt::format("            the cores took turns on the CPUs: each had one for {:.0f} % of "
                    "the time in which it did not wait\n",
                    100 * *transfers.cpuShare);
  if (transfers.dropped > 0)
    text +=
        fmt::format("            without {} events that the logs had no room for: DITRON_EVENTS "
                    "makes room\n",
                    transfers.dropped);
  return text;
}

std::string textOf(const Task &task, const Placement &placement, const RunResult &result) {
  const kernels::Verdict &verdict = result.findings.verdict;
  std::string launches =
      result.seconds.size() == 1 ? "" : fmt::format(", median of {}", result.seconds.size());
  std::string text = fmt::format("{} {} {}: {}{}, seed {}\n", task.entry.name,
                                 name(task.problem.type), formatShape(task.problem.dims),
                                 placement.describe(), task.describeTeam(), result.seed);
  text += fmt::format("  {:<9} {}\n", verdict.ok ? "verified" : "WRONG",
                      describeCheck(task, result.findings));
  text += fmt::format("  error     {:.3g} of the largest, {:.3g} allowed\n", verdict.error,
                      verdict.tolerance);
  text += fmt::format("  time      {}{}\n", formatSeconds(median(result.seconds)), launches);
  if (result.transfers)
    text += describeTransfers(*result.transfers, placement);
  if (placement.traits.timesMatter)
    text +=
        fmt::format("  compiled  {}{} ({})\n", formatSeconds(result.compileSeconds),
                    result.assemblySeconds > 0 ? fmt::format(", {} of them to load it",
                                                             formatSeconds(result.assemblySeconds))
                                               : "",
                    result.fromCache ? "from the kernel cache" : "not in the kernel cache");
  text.pop_back();
  return text;
}

int runShape(const LaunchArguments &arguments, const Placement &placement, const std::string &shape,
             uint64_t seed) {
  Task task = makeTask(arguments, shape, placement);
  requireMemory(task, placement.ranks);
  RunOptions options{.seed = seed, .launches = parseRepeat(arguments, 1)};
  if (placement.spawns)
    return kVerified; // the processes go on from here
  RunResult result = run(task, placement, options);
  const kernels::Verdict &verdict = result.findings.verdict;
  if (placement.reports()) {
    for (const std::string &warning : result.warnings)
      printWarning(warning);
    if (arguments.json)
      printJson(jsonOf(task, placement, result));
    printText(textOf(task, placement, result), arguments.json);
    if (!verdict.ok)
      printFailure(verdict.failure);
  }
  return verdict.ok ? kVerified : kFailed;
}

int runKernel(const LaunchArguments &arguments) {
  Placement placement = parsePlacement(arguments);
  uint64_t seed = parseSeed(arguments);
  std::vector<std::string> shapes = arguments.shapes;
  if (shapes.empty())
    shapes.push_back("");
  int status = kVerified;
  for (const std::string &shape : shapes)
    status = std::max(status, runShape(arguments, placement, shape, seed));
  if (placement.spawns)
    return spawnProcesses(placement, commandLine("run", arguments, seed));
  return status;
}

} // namespace

Verb addRun(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("run", "run a kernel on random inputs and verify it");
  auto arguments = std::make_shared<LaunchArguments>();
  addLaunchOptions(*verb, *arguments);
  verb->footer(kFooter);
  return {verb, [arguments] { return runKernel(*arguments); }};
}

} // namespace ditron::tools
