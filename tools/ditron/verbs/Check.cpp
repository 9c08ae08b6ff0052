// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron check: races and deadlocks of a kernel, found before it runs.
#include "ditron/checker/CheckGraph.h"
#include "ditron/support/Error.h"
#include "ditron/task/KernelText.h"
#include "tools/ditron/FileKernel.h"
#include "tools/ditron/GraphFile.h"
#include "tools/ditron/LaunchArguments.h"
#include "tools/ditron/report/CommandTime.h"
#include "tools/ditron/report/Report.h"
#include "tools/ditron/verbs/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <type_traits>
#include <variant>

namespace ditron::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFooter = R"(
KERNEL is a kernel of the library, or FILE.mlir, textual IR as `ditron compile --emit ir` prints it:
each of its functions marked tile.kernel is checked, or the one of --function. Of a file with graphs
(task.graph) these are checked, each as the one kernel that it becomes, with its schedule; --function
takes one of them, or a kernel.

Without --shape, a kernel of the library is checked at small sizes of its own, chosen to have ragged
edges and several tiles a core; what is checked is the protocol, not the arithmetic. For a file,
--shape A=8x12,n=2 gives the extents that the types of the arguments leave open, and scalars;
--shape M=8,K=12 those of dimensions that the kernel names (tile.extents); for graphs
--shape M=20,K=12 gives those of the names in the declarations of their inputs.

proved: holds in every schedule, for these sizes, inputs, ranks and cores, and for any number of
launches; docs/check.md says why one run can tell. exhaustive: every schedule was explored. sampled:
holds in the schedules that were run. A finding names the two accesses, or the waits, and a schedule
that leads there: --replay follows it. Exit status 1 says that there are findings.

--mutate makes one mistake after the other (drops a notify, waits for 1 less, asks the next peer, ...)
and checks the result: killed, where something is found; equivalent, where every schedule is clean and
computes the same; missed otherwise. Mutants are missed: exit status 1. The mistakes of a graph are
edges of its schedule that wait for one task less.)";

struct CheckArguments : KernelArguments {
  std::string ranks, cores, nodes, mesh, launches, schedules, states, seed, resident, budget,
      seconds, elements, replay;
  std::vector<std::string> shapes;
  bool mutate = false, json = false;
};

int64_t parseNumber(const char *option, const std::string &text, int64_t otherwise, int64_t least,
                    int64_t most) {
  return text.empty() ? otherwise : kernels::parseInteger(option, text, least, most);
}

CheckOptions optionsOf(const CheckArguments &arguments) {
  CheckOptions options;
  options.ranks = parseNumber("--ranks", arguments.ranks, options.ranks, 1, 1024);
  options.cores = parseNumber("--cores", arguments.cores, options.cores, 1, 1024);
  options.launches = parseNumber("--launches", arguments.launches, options.launches, 1, 1000);
  options.nodes = parseNumber("--nodes", arguments.nodes, options.nodes, 1, options.ranks);
  if (!arguments.mesh.empty()) {
    runtime::MeshShape shape =
        runtime::MeshRequest::parse(arguments.mesh, "--mesh").of(static_cast<int>(options.ranks));
    if (!arguments.nodes.empty() && options.nodes != shape.nodes)
      throw UsageError(
          fmt::format("--nodes is {}, but --mesh {} has {} node{}: expected one of the two",
                      options.nodes, arguments.mesh, shape.nodes, shape.nodes == 1 ? "" : "s"));
    options.nodes = shape.nodes, options.mesh = shape.axes;
  }
  if (!arguments.schedules.empty())
    options.schedules = parseNumber("--schedules", arguments.schedules, 0, 0, 1'000'000);
  options.states = static_cast<uint64_t>(parseNumber(
      "--states", arguments.states, static_cast<int64_t>(options.states), 1, 10'000'000));
  options.seed = static_cast<uint64_t>(parseNumber("--seed", arguments.seed, 1, 0, INT64_MAX));
  options.residentCores = parseNumber("--resident", arguments.resident, 0, 0, 1024);
  options.budget = static_cast<uint64_t>(parseNumber(
      "--budget", arguments.budget, static_cast<int64_t>(options.budget), 1, INT64_MAX));
  options.time = std::chrono::seconds(
      parseNumber("--seconds", arguments.seconds, options.time.count(), 1, 86'400));
  options.elements =
      parseNumber("--elements", arguments.elements, options.elements, 1, int64_t(1) << 40);
  return options;
}

//===-- What is checked -----------------------------------------------------------------------===//

/// A function of a file, whose text all of its kernels share.
struct FileFunction {
  std::shared_ptr<const TextualIR> file;
  std::string function;
};

const Kernel &checkable(const Kernel &kernel) { return kernel; }
TextualIR checkable(const FileFunction &kernel) {
  return {kernel.file->text, kernel.file->file, kernel.function};
}

const TaskGraph &checkable(const TaskGraph &graph) { return graph; }

/// What a graph is checked with.
GraphCheckOptions graphOptions(const CheckOptions &options) {
  return {.ranks = options.ranks,
          .cores = options.cores,
          .shape = options.shape,
          .launches = options.launches,
          .schedules = options.schedules,
          .seed = options.seed,
          .time = options.time};
}
template <class Subject> auto optionsFor(const Subject &, const CheckOptions &options) {
  if constexpr (std::is_same_v<Subject, TaskGraph>)
    return graphOptions(options);
  else
    return options;
}

/// A kernel or a graph at one size: of the library, or of a file.
struct Case {
  std::variant<Kernel, FileFunction, TaskGraph> kernel;
  CheckOptions options;
  std::string what; ///< size and configuration, for messages

  Verdict check() const {
    return visit<Verdict>(
        [&](const auto &one) { return ditron::check(one, optionsFor(one, inTime())); });
  }
  std::vector<Mutant> mutate() const {
    return visit<std::vector<Mutant>>(
        [&](const auto &one) { return ditron::mutate(one, optionsFor(one, inTime())); });
  }
  std::vector<std::string> replay(const std::string &schedule) const {
    return visit<std::vector<std::string>>(
        [&](const auto &one) { return ditron::replay(one, optionsFor(one, inTime()), schedule); });
  }

private:
  /// The options, whose time is what is left of that of the command.
  CheckOptions inTime() const {
    CheckOptions rest = options;
    rest.time = CommandTime::get().left();
    return rest;
  }
  template <class Result, class Fn> Result visit(Fn &&fn) const {
    return std::visit([&](const auto &one) -> Result { return fn(checkable(one)); }, kernel);
  }
};

/// What has one verdict.
struct Target {
  std::string kernel;
  std::vector<Case> cases;
};

runtime::MeshShape meshOf(const CheckOptions &options) {
  return {int(options.nodes), int(options.ranks / options.nodes), options.mesh};
}

Case makeCase(const CheckArguments &arguments, CheckOptions options, const std::string &shape,
              const std::string &config) {
  KernelArguments named = arguments;
  named.config = config;
  Task task = makeTask(named, shape, meshOf(options), int(options.cores));
  requireMemory(task, int(options.ranks), 2);
  options.shape = task.problem.dims;
  for (const kernels::ScalarDefault &scalar : task.entry.scalarsOf(task.kernel))
    options.scalars.emplace_back(scalar.name, scalar.value);
  std::string what = fmt::format("{} {}", shape, task.config.text(task.entry.parameters));
  if (!task.entry.input) // small integers: sums are exact in any order
    return {task.kernel, options, what};
  kernels::Inputs inputs(task.entry, task.kernel, task.problem, options.seed);
  std::vector<kernels::Inputs> byRank;
  for (int64_t rank = 0; rank < options.ranks; ++rank)
    byRank.push_back(inputs.ofTeamOf(rank));
  options.input = [byRank = std::move(byRank),
                   problem = task.problem](int64_t rank, size_t argument, int64_t element) {
    return byRank[size_t(rank)].at(problem.placeOf(rank), argument, element);
  };
  return {task.kernel, options, what};
}

std::string textOf(const Dimensions &shape) {
  std::string text;
  for (const auto &[name, extent] : shape)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, extent);
  return text;
}

/// The configuration of a case with the choices that were given over it; without those of its own
/// that then have no effect.
std::string configOf(const CheckArguments &arguments, const CheckOptions &options,
                     const kernels::CheckCase &one) {
  if (one.config.empty() || arguments.config.empty())
    return one.config + arguments.config;
  KernelArguments named = arguments;
  named.config = one.config;
  Task task = makeTask(named, textOf(one.shape), meshOf(options), int(options.cores));
  const std::vector<kernels::ConfigParameter> &parameters = task.entry.parameters;
  kernels::Config both = task.config;
  both.parse(arguments.config, parameters);
  both.settle(arguments.config, parameters);
  std::vector<std::string> kept;
  for (const auto &[name, value] : kernels::parseAssignments(one.config, "config"))
    if (both[name] == task.config[name])
      kept.push_back(name + "=" + value);
  return kernels::assignOver(fmt::format("{}", fmt::join(kept, ",")), arguments.config, "config");
}

/// A kernel of the library at the sizes that were asked for, else at its own.
Target targetOf(const CheckArguments &arguments, const CheckOptions &options) {
  const kernels::KernelEntry &entry = kernels::findKernel(arguments.kernel);
  Target target{arguments.kernel, {}};
  for (const std::string &shape : arguments.shapes)
    target.cases.push_back(makeCase(arguments, options, shape, arguments.config));
  if (!target.cases.empty())
    return target;
  for (const kernels::CheckCase &one : entry.checkCases)
    target.cases.push_back(
        makeCase(arguments, options, textOf(one.shape), configOf(arguments, options, one)));
  return target;
}

/// "A=8x12,B=12x4".
std::map<std::string, std::vector<int64_t>> parseExtents(const std::string &text) {
  std::map<std::string, std::vector<int64_t>> all;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(fmt::format("--shape: '{}', expected ARGUMENT=8x12", part));
    std::istringstream extents(part.substr(equals + 1));
    auto [into, isNew] = all.try_emplace(part.substr(0, equals));
    if (!isNew)
      throw UsageError(fmt::format("--shape: {} is given twice", into->first));
    if (equals + 1 == part.size())
      throw UsageError(fmt::format("--shape: '{}', expected ARGUMENT=8x12", part));
    for (std::string extent; std::getline(extents, extent, 'x');)
      into->second.push_back(kernels::parseInteger("--shape: " + part, extent, 0));
  }
  return all;
}

/// Whether the extents of an argument follow from these dimensions, some of which it names.
bool followsFrom(const Dimensions &dims, const Argument &argument) {
  bool hasNames = false;
  for (const Dimension &dimension : argument.dims)
    for (auto *names : {&dimension.factors, &dimension.divisors})
      for (const std::string &name : *names) {
        bool isNumber = std::isdigit(name[0]);
        if (!isNumber && !dims.contains(name))
          return false;
        hasNames |= !isNumber;
      }
  return hasNames && !argument.isScalar;
}

/// Extents of arguments in place of those of dimensions, which a signature tells: "M=8,K=12" is
/// "A=8x12" of A[M,K].
void expandDimensions(std::map<std::string, std::vector<int64_t>> &extents, const Kernel &kernel,
                      const CheckOptions &options) {
  const Signature &signature = kernel.signature();
  Dimensions dims{
      {"R", options.ranks}, {"R_node", options.nodes}, {"R_local", options.ranks / options.nodes}};
  for (const MeshAxes::Axis &axis : options.mesh.axes())
    dims["R_" + axis.name] = axis.extent;
  auto isArgument = [&](const std::string &name) {
    return std::ranges::any_of(signature.arguments(),
                               [&](const Argument &one) { return one.name == name; });
  };
  for (const std::string &name : signature.dimensionNames())
    if (auto given = extents.find(name);
        given != extents.end() && !isArgument(name) && given->second.size() == 1) {
      dims[name] = given->second.front();
      extents.erase(given);
    }
  for (const Argument &argument : signature.arguments())
    if (followsFrom(dims, argument))
      extents.try_emplace(argument.name, signature.shape(argument, dims));
}

/// What --shape gives of the arguments of a kernel of a file, by their names or, where its signature
/// can be told, by those of its dimensions.
std::map<std::string, std::vector<int64_t>> extentsOf(const TextualIR &ir,
                                                      const std::string &kernel,
                                                      const std::string &text,
                                                      const CheckOptions &options) {
  std::map<std::string, std::vector<int64_t>> extents = parseExtents(text);
  if (extents.empty())
    return extents;
  std::optional<Kernel> read;
  try {
    read = readKernel({ir.text, ir.file}, kernel);
  } catch (const CompileError &) {
    return extents; // more can be checked than launched: the arguments have to be named
  }
  expandDimensions(extents, *read, options);
  return extents;
}

std::vector<Target> targetsOfGraphs(const CheckArguments &arguments, CheckOptions options,
                                    const GraphText &source) {
  for (auto [option, text] :
       {std::pair("--nodes", &arguments.nodes), std::pair("--mesh", &arguments.mesh),
        std::pair("--resident", &arguments.resident), std::pair("--states", &arguments.states),
        std::pair("--budget", &arguments.budget), std::pair("--elements", &arguments.elements)})
    if (!text->empty())
      throw UsageError(fmt::format("{} is for kernels, and {} has graphs", option, source.file));
  if (arguments.ranks.empty())
    options.ranks = 1;
  std::string what = arguments.shapes.empty() ? "" : arguments.shapes.front();
  std::vector<TaskGraph> graphs = readGraphs(source, arguments.function);
  options.shape = parseGraphExtents(what, graphs);
  std::vector<Target> targets;
  for (TaskGraph &graph : graphs) {
    requireGraphExtents(graph, options.shape);
    std::string name = graph.name();
    targets.push_back({name, {{std::move(graph), options, what}}});
  }
  return targets;
}

/// The kernels or graphs of a file.
std::vector<Target> targetsOfFile(const CheckArguments &arguments, CheckOptions options) {
  refuseOptionsOfLibrary(arguments);
  if (arguments.shapes.size() > 1)
    throw UsageError("a file of IR takes one --shape");
  auto ir = std::make_shared<const TextualIR>(
      TextualIR{readText(arguments.kernel), arguments.kernel, arguments.function});
  if (GraphText source{ir->text, ir->file}; meansGraph(source, ir->kernel))
    return targetsOfGraphs(arguments, options, source);
  std::string what = arguments.shapes.empty() ? "" : arguments.shapes.front();
  std::vector<Target> targets;
  for (const std::string &kernel :
       ir->kernel.empty() ? kernelsOf(*ir) : std::vector<std::string>{ir->kernel}) {
    options.extents = extentsOf(*ir, kernel, what, options);
    targets.push_back({kernel, {{FileFunction{ir, kernel}, options, what}}});
  }
  return targets;
}

std::vector<Target> targetsOf(const CheckArguments &arguments, const CheckOptions &options) {
  if (arguments.kernel.empty())
    throw UsageError("no kernel is given; ditron list names them");
  if (isFile(arguments.kernel))
    return targetsOfFile(arguments, options);
  return {targetOf(arguments, options)};
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
  uint64_t states = 0, events = 0, operations = 0;
  for (const Verdict &verdict : verdicts) {
    shapes.push_back(verdict.options.extents.empty() ? shapeJson(verdict.options.shape)
                                                     : Json(verdict.options.extents));
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
    states += verdict.states;
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
          {"states", states},
          {"events", events},
          {"operations", operations}};
}

int report(const std::string &kernel, const std::vector<Verdict> &verdicts, bool json) {
  bool clean = true;
  for (const Verdict &verdict : verdicts) {
    std::string text = verdict.text();
    text.pop_back(); // its last newline
    printText(text, json);
    clean &= verdict.clean();
  }
  if (json)
    printJson(jsonOf(kernel, verdicts));
  return clean ? kVerified : kFailed;
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

int mutateTarget(const Target &target, bool json) {
  std::vector<Mutant> mutants;
  for (const Case &one : target.cases)
    unite(mutants, one.mutate());
  Score all;
  std::map<std::string, Score> byKind;
  Json list = Json::array();
  for (const Mutant &mutant : mutants) {
    all.add(mutant);
    byKind[mutant.kind].add(mutant);
    list.push_back({{"kind", mutant.kind},
                    {"source", mutant.source},
                    {"what", mutant.what},
                    {"outcome", name(mutant.outcome)},
                    {"finding", mutant.finding}});
    if (mutant.outcome == Mutant::Outcome::missed)
      printError(fmt::format("missed at {}: {}", mutant.source, mutant.what));
    if (mutant.outcome == Mutant::Outcome::equivalent)
      printText(fmt::format("equivalent at {}: {}", mutant.source, mutant.what), json);
  }
  auto row = [&](const std::string &what, const Score &score) {
    printText(fmt::format("{:<16} {:>7} {:>7} {:>11} {:>7}", what, score.mutants, score.killed,
                          score.equivalent, score.missed),
              json);
  };
  printText(fmt::format("{:<16} {:>7} {:>7} {:>11} {:>7}", target.kernel, "mutants", "killed",
                        "equivalent", "missed"),
            json);
  for (const auto &[kind, score] : byKind)
    row(kind, score);
  row("all", all);
  if (json)
    printJson({{"kernel", target.kernel},
               {"ranks", target.cases.front().options.ranks},
               {"mutants", all.mutants},
               {"killed", all.killed},
               {"equivalent", all.equivalent},
               {"missed", all.missed},
               {"list", list}});
  return all.missed ? kFailed : kVerified;
}

int replayCase(const CheckArguments &arguments, const std::vector<Target> &targets) {
  if (targets.size() != 1)
    throw UsageError("--replay needs the --function of the finding");
  if (targets.front().cases.size() != 1)
    throw UsageError("--replay needs the --shape (and --config) of the finding");
  for (const std::string &line : targets.front().cases.front().replay(arguments.replay))
    printText(line, arguments.json);
  return kVerified;
}

int checkTarget(const Target &target, bool json) {
  Progress progress;
  std::vector<Verdict> verdicts;
  try {
    for (const Case &one : target.cases) {
      progress.show(fmt::format("checking {} {}", target.kernel, one.what));
      verdicts.push_back(one.check());
    }
  } catch (const UnavailableError &) { // the time is over
    progress.clear();
    if (!verdicts.empty())
      report(target.kernel, verdicts, json);
    throw;
  }
  progress.clear();
  return report(target.kernel, verdicts, json);
}

int checkAll(const CheckArguments &arguments) try {
  if (arguments.mutate && !arguments.replay.empty())
    throw UsageError("--replay follows a finding, and --mutate makes mistakes: expected one of the "
                     "two");
  CheckOptions options = optionsOf(arguments);
  CommandTime::get().begin(options.time);
  std::vector<Target> targets = targetsOf(arguments, options);
  if (targets.empty())
    throw UsageError(
        fmt::format("{} has nothing to check, neither kernels nor graphs", arguments.kernel));
  if (!arguments.replay.empty())
    return replayCase(arguments, targets);
  int status = kVerified;
  for (const Target &target : targets)
    status = std::max(status, arguments.mutate ? mutateTarget(target, arguments.json)
                                               : checkTarget(target, arguments.json));
  return status;
} catch (const OutputError &) {
  throw;
} catch (
    const RuntimeError &error) { // there is not that much memory; exit status 1 is for findings
  throw UnavailableError(error.what());
}

} // namespace

Verb addCheck(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("check", "find races and deadlocks before a kernel runs");
  auto arguments = std::make_shared<CheckArguments>();
  addKernelOptions(*verb, *arguments);
  verb->add_option("--graph", arguments->function, "the graph of a file: as --function");
  verb->add_option("--ranks", arguments->ranks, "ranks (2)");
  verb->add_option("--cores", arguments->cores, "cores of each rank (2)");
  verb->add_option("--nodes", arguments->nodes, "into which the ranks divide (1)");
  verb->add_option("--mesh", arguments->mesh, "axes of the ranks: row=2,col=2, or node=2,local=2");
  verb->add_option("--launches", arguments->launches, "back to back (2)");
  verb->add_option("--schedules", arguments->schedules,
                   "further runs, by the seed: 4 to hold a proof against, 1000 beyond --states");
  verb->add_option("--states", arguments->states,
                   "states that are explored before schedules are sampled (100000)");
  verb->add_option("--seed", arguments->seed, "of inputs and schedules (1)");
  verb->add_option("--resident", arguments->resident,
                   "cores of a rank that the machine runs at a time (all)");
  verb->add_option("--budget", arguments->budget, "operations that one run may execute (50000000)");
  verb->add_option("--seconds", arguments->seconds, "that all of it may take (600)");
  verb->add_option("--elements", arguments->elements,
                   "that the arguments of all ranks may have (268435456)");
  verb->add_option("--shape", arguments->shapes,
                   "sizes of one rank: M=64,N=32,...; of a file also A=8x12,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--replay", arguments->replay, "follow the schedule of a finding");
  verb->add_flag("--mutate", arguments->mutate, "make mistakes, and see whether they are found");
  verb->add_flag("--json", arguments->json, "one JSON object on stdout");
  verb->footer(kFooter);
  return {verb, [arguments] { return checkAll(*arguments); }};
}

} // namespace ditron::tools
