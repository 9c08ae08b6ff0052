// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron check: races and deadlocks of a kernel, found before it runs.
#include "ditron/check/Check.h"
#include "Arguments.h"
#include "Report.h"
#include "Verbs.h"
#include "ditron/support/Error.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

namespace ditron::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFooter = R"(
KERNEL is a kernel of the library or a file of textual IR, FILE.mlir, with one function marked
tile.kernel.

Without --shape, a kernel of the library is checked at small sizes of its own, chosen to have ragged
edges and several tiles a core; what is checked is the protocol, not the arithmetic.

proved: holds in every schedule, for these sizes, ranks and cores, and for any number of launches;
docs/check.md says why one run can tell. sampled: holds in the schedules that were run. A finding
names the two accesses, or the waits, and a schedule that leads there: --replay follows it.

--mutate makes one mistake after the other (drops a notify, waits for 1 less, asks the next peer, ...)
and checks the result: killed, where something is found; equivalent, where it is proved clean and
computes the same; missed otherwise. Mutants are missed: exit status 1.)";

struct CheckArguments : KernelArguments {
  std::string ranks, cores, launches, schedules, seed, resident, budget, replay;
  std::vector<std::string> shapes;
  bool mutate = false, json = false;
};

int64_t parseNumber(const char *option, const std::string &text, int64_t otherwise, int64_t least,
                    int64_t most) {
  if (text.empty())
    return otherwise;
  int64_t number = kernels::parseInteger(option, text, least);
  if (number > most)
    throw UsageError(fmt::format("{} is {}, expected at most {}", option, number, most));
  return number;
}

CheckOptions optionsOf(const CheckArguments &arguments) {
  CheckOptions options;
  options.ranks = parseNumber("--ranks", arguments.ranks, options.ranks, 1, 1024);
  options.cores = parseNumber("--cores", arguments.cores, options.cores, 1, 1024);
  options.launches = parseNumber("--launches", arguments.launches, options.launches, 1, 1000);
  options.schedules =
      parseNumber("--schedules", arguments.schedules, options.schedules, 0, 1'000'000);
  options.seed = static_cast<uint64_t>(parseNumber("--seed", arguments.seed, 1, 0, INT64_MAX));
  options.residentCores = parseNumber("--resident", arguments.resident, 0, 0, 1024);
  options.budget = static_cast<uint64_t>(parseNumber(
      "--budget", arguments.budget, static_cast<int64_t>(options.budget), 1, INT64_MAX));
  return options;
}

//===-- What is checked -----------------------------------------------------------------------===//

/// A kernel of the library at one size.
struct Case {
  Task task;
  std::shared_ptr<kernels::Inputs> inputs;
  CheckOptions options;
};

Case makeCase(const CheckArguments &arguments, const CheckOptions &options,
              const std::string &shape, const std::string &config) {
  KernelArguments named = arguments;
  named.config = config;
  Case result{makeTask(named, shape, int(options.ranks), int(options.cores)), nullptr, options};
  const Task &task = result.task;
  requireMemory(task, int(options.ranks), 2);
  result.options.shape = task.problem.dims;
  for (const kernels::ScalarDefault &scalar : task.entry.scalars)
    result.options.scalars.emplace_back(scalar.name, scalar.value);
  if (!task.entry.input)
    return result; // small integers: sums are exact in any order
  result.inputs =
      std::make_shared<kernels::Inputs>(task.entry, task.kernel, task.problem, options.seed);
  result.options.input = [inputs = result.inputs](int64_t rank, size_t argument, int64_t element) {
    return inputs->at(rank, argument, element);
  };
  return result;
}

std::string textOf(const Dimensions &shape) {
  std::string text;
  for (const auto &[name, extent] : shape)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, extent);
  return text;
}

/// The sizes that were asked for, else those of the kernel.
std::vector<Case> casesOf(const CheckArguments &arguments, const CheckOptions &options) {
  if (arguments.kernel.empty())
    throw UsageError("no kernel is given; ditron list names them");
  const kernels::KernelEntry &entry = kernels::findKernel(arguments.kernel);
  std::vector<Case> cases;
  for (const std::string &shape : arguments.shapes)
    cases.push_back(makeCase(arguments, options, shape, arguments.config));
  if (!cases.empty())
    return cases;
  for (const kernels::CheckCase &one : entry.checkCases)
    cases.push_back(makeCase(arguments, options, textOf(one.shape),
                             kernels::assignOver(one.config, arguments.config, "config")));
  return cases;
}

//===-- Verdicts ------------------------------------------------------------------------------===//

Json jsonOf(const Party &party) {
  return {{"what", party.what}, {"rank", party.rank},     {"core", party.core},
          {"role", party.role}, {"launch", party.launch}, {"tile", party.tile},
          {"op", party.op},     {"file", party.file},     {"line", party.line}};
}

Json jsonOf(const Finding &finding) {
  Json parties = Json::array();
  for (const Party &party : finding.parties)
    parties.push_back(jsonOf(party));
  return {{"kind", name(finding.kind)}, {"message", finding.message},   {"parties", parties},
          {"notes", finding.notes},     {"schedule", finding.schedule}, {"steps", finding.steps}};
}

/// The verdicts on all sizes as one.
Json jsonOf(const std::string &kernel, const std::vector<Verdict> &verdicts) {
  Json findings = Json::array(), waivers = Json::array(), shapes = Json::array();
  Json notes = Json::array();
  Method method = Method::proved;
  bool isComplete = true;
  int64_t schedules = 0;
  uint64_t events = 0, operations = 0;
  for (const Verdict &verdict : verdicts) {
    shapes.push_back(shapeJson(verdict.options.shape));
    for (const Finding &finding : verdict.findings)
      findings.push_back(jsonOf(finding));
    for (const Waiver &waiver : verdict.waivers) {
      Json waived = Json::array();
      for (const Finding &finding : waiver.waived)
        waived.push_back(jsonOf(finding));
      waivers.push_back({{"name", waiver.name},
                         {"reason", waiver.reason},
                         {"source", waiver.source},
                         {"waived", waived}});
    }
    for (const std::string &note : verdict.notes)
      notes.push_back(note);
    method = std::max(method, verdict.method);
    isComplete &= verdict.isComplete;
    schedules += verdict.schedules;
    events += verdict.events;
    operations += verdict.operations;
  }
  const CheckOptions &options = verdicts.front().options;
  return {{"kernel", kernel},
          {"ranks", options.ranks},
          {"verdict", findings.empty() ? "clean" : "finding"},
          {"method", name(method)},
          {"schedules", schedules},
          {"findings", findings},
          {"cores", options.cores},
          {"launches", options.launches},
          {"shapes", shapes},
          {"seed", options.seed},
          {"waivers", waivers},
          {"notes", notes},
          {"complete", isComplete},
          {"events", events},
          {"operations", operations}};
}

int report(const std::string &kernel, const std::vector<Verdict> &verdicts, bool json) {
  bool clean = true;
  for (const Verdict &verdict : verdicts) {
    std::string text = verdict.text();
    text.pop_back(); // its last newline
    printText(text, json || !verdict.clean());
    clean &= verdict.clean();
  }
  if (json)
    printJson(jsonOf(kernel, verdicts));
  return clean ? kVerified : kFailed;
}

std::string readFile(const std::string &path) {
  std::ifstream stream(path);
  if (!stream)
    throw UsageError(fmt::format("'{}' cannot be read", path));
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

int checkFile(const CheckArguments &arguments, const CheckOptions &options) {
  if (arguments.mutate || !arguments.replay.empty() || !arguments.shapes.empty() ||
      !arguments.config.empty() || !arguments.dtype.empty())
    throw UsageError("--mutate, --replay, --shape, --config and --dtype are for kernels of the "
                     "library, not for a file of IR");
  return report(arguments.kernel, {checkIR(readFile(arguments.kernel), options, arguments.kernel)},
                arguments.json);
}

//===-- Mutants and replays -------------------------------------------------------------------===//

struct Score {
  int64_t mutants = 0, killed = 0, equivalent = 0, missed = 0;
  void add(const Mutant &mutant) {
    ++mutants;
    ++(mutant.outcome == Mutant::Outcome::killed       ? killed
       : mutant.outcome == Mutant::Outcome::equivalent ? equivalent
                                                       : missed);
  }
};

int mutateCases(const CheckArguments &arguments, const std::vector<Case> &cases) {
  Score all;
  std::map<std::string, Score> byKind;
  Json list = Json::array();
  for (const Case &one : cases)
    for (const Mutant &mutant : mutate(one.task.kernel, one.options)) {
      all.add(mutant);
      byKind[mutant.kind].add(mutant);
      list.push_back({{"kind", mutant.kind},
                      {"source", mutant.source},
                      {"what", mutant.what},
                      {"outcome", name(mutant.outcome)},
                      {"finding", mutant.finding}});
      if (mutant.outcome == Mutant::Outcome::missed)
        printError(fmt::format("missed at {}: {} ({}), {} {}", mutant.source, mutant.kind,
                               mutant.what, textOf(one.options.shape),
                               one.task.config.text(one.task.entry.parameters)));
    }
  auto row = [&](const std::string &what, const Score &score) {
    printText(fmt::format("{:<16} {:>7} {:>7} {:>11} {:>7}", what, score.mutants, score.killed,
                          score.equivalent, score.missed),
              arguments.json);
  };
  printText(fmt::format("{:<16} {:>7} {:>7} {:>11} {:>7}", arguments.kernel, "mutants", "killed",
                        "equivalent", "missed"),
            arguments.json);
  for (const auto &[kind, score] : byKind)
    row(kind, score);
  row("all", all);
  if (arguments.json)
    printJson({{"kernel", arguments.kernel},
               {"ranks", cases.front().options.ranks},
               {"mutants", all.mutants},
               {"killed", all.killed},
               {"equivalent", all.equivalent},
               {"missed", all.missed},
               {"list", list}});
  return all.missed ? kFailed : kVerified;
}

int replayCase(const CheckArguments &arguments, const std::vector<Case> &cases) {
  if (cases.size() != 1)
    throw UsageError("--replay needs the --shape (and --config) of the finding");
  for (const std::string &line :
       replay(cases.front().task.kernel, cases.front().options, arguments.replay))
    printText(line, arguments.json);
  return kVerified;
}

int checkKernel(const CheckArguments &arguments) {
  CheckOptions options = optionsOf(arguments);
  if (arguments.kernel.ends_with(".mlir"))
    return checkFile(arguments, options);
  std::vector<Case> cases = casesOf(arguments, options);
  if (!arguments.replay.empty())
    return replayCase(arguments, cases);
  if (arguments.mutate)
    return mutateCases(arguments, cases);
  Progress progress;
  std::vector<Verdict> verdicts;
  for (const Case &one : cases) {
    progress.show(fmt::format("checking {} at {}", arguments.kernel, textOf(one.options.shape)));
    verdicts.push_back(check(one.task.kernel, one.options));
  }
  progress.clear();
  return report(arguments.kernel, verdicts, arguments.json);
}

} // namespace

Verb addCheck(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("check", "find races and deadlocks before a kernel runs");
  auto arguments = std::make_shared<CheckArguments>();
  addKernelOptions(*verb, *arguments);
  verb->add_option("--ranks", arguments->ranks, "ranks (2)");
  verb->add_option("--cores", arguments->cores, "cores of each rank (2)");
  verb->add_option("--launches", arguments->launches, "back to back (2)");
  verb->add_option("--schedules", arguments->schedules,
                   "further runs, by the seed, to hold a proof against (4)");
  verb->add_option("--seed", arguments->seed, "of inputs and schedules (1)");
  verb->add_option("--resident", arguments->resident,
                   "cores of a rank that the machine runs at a time (all)");
  verb->add_option("--budget", arguments->budget, "operations that one run may execute (50000000)");
  verb->add_option("--shape", arguments->shapes, "sizes of one rank: M=64,N=32,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--replay", arguments->replay, "follow the schedule of a finding");
  verb->add_flag("--mutate", arguments->mutate, "make mistakes, and see whether they are found");
  verb->add_flag("--json", arguments->json, "one JSON object on stdout");
  verb->footer(kFooter);
  return {verb, [arguments] { return checkKernel(*arguments); }};
}

} // namespace ditron::tools
