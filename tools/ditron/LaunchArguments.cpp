// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/LaunchArguments.h"
#include "ditron/driver/Compile.h"
#include "ditron/driver/backends/Backends.h"
#include "ditron/runtime/Bootstrap.h"
#include "ditron/runtime/Memory.h"
#include "ditron/support/Error.h"
#include "ditron/support/Parallel.h"
#include "ditron/tune/Choose.h"
#include "tools/ditron/FileKernel.h"
#include "tools/ditron/report/Calibrations.h"
#include "tools/ditron/report/Machine.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>

namespace ditron::tools {

using runtime::TransportKind;

namespace {

constexpr int64_t kMostThreads = 4096;

/// An option that counts something.
int parseCount(const char *option, const std::string &text, int otherwise, int64_t most) {
  return text.empty() ? otherwise : static_cast<int>(kernels::parseInteger(option, text, 1, most));
}

/// The backend that was named, by the option or by the environment.
std::string parseBackend(const std::string &text) {
  std::string name = text.empty() ? runtime::Options().backend : text;
  std::vector<std::string> known;
  for (const backends::Entry &entry : backends::all())
    known.emplace_back(entry.name);
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw UsageError(fmt::format("unknown backend '{}', expected one of {}{}", name,
                                 fmt::join(known, ", "), kernels::suggestion(name, known)));
  return name;
}

TransportKind parseTransport(const std::string &text) {
  if (text.empty())
    return TransportKind::automatic;
  TransportKind kind = TransportKind::automatic;
  if (text == "threads")
    kind = TransportKind::threads;
  else if (text == "processes")
    kind = TransportKind::processes;
  else
    throw UsageError(fmt::format("unknown transport '{}', expected one of threads, processes{}",
                                 text, kernels::suggestion(text, {"threads", "processes"})));
  return kind;
}

/// UsageError where an option is given that the backend has no use for, `why`.
void refuseOption(const Placement &placement, const char *option, const std::string &text,
                  const char *why) {
  if (!text.empty())
    throw UsageError(fmt::format("{} {}: backend '{}' {}; expected backend 'cpu' with it", option,
                                 text, placement.backend, why));
}

/// The options that the backend has no use for.
void refuseOptions(const Placement &placement, const LaunchArguments &arguments) {
  const runtime::BackendTraits &traits = placement.traits;
  if (!traits.coresAreChosen)
    refuseOption(placement, "--cores", arguments.cores, "runs ranks on all cores of their devices");
  if (!traits.timesMatter)
    refuseOption(placement, "--straggler", arguments.straggler,
                 "interprets all ranks step by step");
  if (traits.ranksMayBeProcesses)
    return;
  refuseOption(placement, "--procs", arguments.procs, "runs every rank in one process");
  if (parseTransport(arguments.transport) == TransportKind::processes)
    refuseOption(placement, "--transport", arguments.transport, "runs every rank in one process");
}

void checkEqual(const char *what, int found, const std::string &why, int expected) {
  if (found != expected)
    throw UsageError(fmt::format("{} is {}, but {}: expected {}", what, found, why, expected));
}

/// The ranks of a run of processes: one each.
void placeProcesses(Placement &placement, const LaunchArguments &arguments) {
  int processes = parseCount("--procs", arguments.procs, 0, kMostRanks);
  if (processes && placement.transport == TransportKind::threads)
    throw UsageError(fmt::format("--procs {} with --transport threads: the ranks of several "
                                 "processes are reached by transport 'processes'",
                                 processes));
  std::optional<runtime::Membership> membership;
  if (placement.transport != TransportKind::threads)
    membership = runtime::membershipFromEnvironment();
  bool asksForProcesses = processes || placement.transport == TransportKind::processes;
  if (membership && (membership->size > 1 || asksForProcesses)) {
    std::string started =
        fmt::format("{} started {} processes", membership->launcher, membership->size);
    if (!arguments.ranks.empty())
      checkEqual("--ranks", placement.ranks, started, membership->size);
    if (processes)
      checkEqual("--procs", processes, started, membership->size);
    placement.ranks = membership->size;
    placement.rank = membership->rank;
    placement.transport = TransportKind::processes;
    return;
  }
  if (processes && !arguments.ranks.empty())
    checkEqual("--ranks", placement.ranks,
               fmt::format("--procs {} makes every process a rank", processes), processes);
  placement.spawns = asksForProcesses;
  placement.ranks = processes ? processes : placement.ranks;
  placement.transport = placement.spawns ? TransportKind::processes : TransportKind::threads;
}

runtime::Straggler parseStraggler(const LaunchArguments &arguments, int ranks) {
  bool isOption = !arguments.straggler.empty();
  runtime::Straggler straggler = isOption
                                     ? runtime::Straggler::parse(arguments.straggler, "--straggler")
                                     : runtime::Straggler::fromEnvironment();
  if (straggler.rank >= ranks)
    throw UsageError(fmt::format("{} names rank {}, expected 0 to {}",
                                 isOption ? "--straggler" : "DITRON_STRAGGLER", straggler.rank,
                                 ranks - 1));
  return straggler;
}

/// The mesh of the option, or else of the environment; UsageError where the ranks do not fit it.
runtime::MeshRequest parseMesh(const LaunchArguments &arguments, int ranks) {
  runtime::MeshRequest mesh = arguments.mesh.empty()
                                  ? runtime::MeshRequest::fromEnvironment()
                                  : runtime::MeshRequest::parse(arguments.mesh, "--mesh");
  mesh.of(ranks);
  return mesh;
}

/// The ranks along an axis that was named; none: all ranks.
std::optional<kernels::Team> parseAxis(const std::string &axis, const runtime::MeshShape &mesh,
                                       const kernels::KernelEntry &entry) {
  if (axis.empty())
    return std::nullopt;
  if (!entry.isDistributed)
    throw UsageError(fmt::format("--axis {}: {} runs on each rank by itself, expected a kernel of "
                                 "several ranks with it",
                                 axis, entry.name));
  MeshAxes axes =
      mesh.axes.empty() ? MeshAxes::ofNodes(mesh.nodes * mesh.local, mesh.nodes) : mesh.axes;
  std::vector<std::string> known;
  for (const MeshAxes::Axis &one : axes.axes())
    known.push_back(one.name);
  std::optional<MeshAxes::Line> line = axes.find(axis);
  if (!line)
    throw UsageError(fmt::format("--axis '{}' is none of the mesh {}, expected one of {}{}", axis,
                                 axes.text(), fmt::join(known, ", "),
                                 kernels::suggestion(axis, known)));
  return kernels::Team{axis, *line};
}

/// UnavailableError for sizes that no machine has memory for; beyond them integers overflow.
void checkExtents(const kernels::Problem &problem) {
  constexpr int64_t kMost = int64_t(1) << 40;
  for (const auto &[name, extent] : problem.dims)
    if (extent > kMost)
      throw UnavailableError(fmt::format("--shape: {} is {}, expected at most {}: a dimension of "
                                         "more elements fits no memory",
                                         name, extent, kMost));
}

} // namespace

int cpus() { return usableCpus(); }

void addKernelOptions(CLI::App &verb, KernelArguments &arguments) {
  verb.add_option("KERNEL", arguments.kernel,
                  "a kernel of the library (ditron list names them), or FILE.mlir");
  verb.add_option("--dtype", arguments.dtype, "element type of the inputs, say f32 or bf16");
  verb.add_option("--config", arguments.config, "tile sizes and variants: name=value,...");
  verb.add_option("--axis", arguments.axis,
                  "of --mesh: the kernel runs along it, each line of ranks by itself (all ranks)");
  verb.add_option("--function", arguments.function,
                  "the kernel or graph of a file that has several");
}

void addLaunchOptions(CLI::App &verb, LaunchArguments &arguments) {
  addKernelOptions(verb, arguments);
  verb.add_option("--ranks", arguments.ranks, "ranks (1)");
  verb.add_option("--mesh", arguments.mesh,
                  "axes of the ranks: node=2,local=2 or row=2,col=2 (one node)");
  verb.add_option("--cores", arguments.cores, "core threads of each rank (the CPUs, divided)");
  verb.add_option("--backend", arguments.backend,
                  "what the ranks run on (cpu, or DITRON_BACKEND); ditron info lists them");
  verb.add_option("--procs", arguments.procs, "start this many processes, each of them a rank");
  verb.add_option("--transport", arguments.transport,
                  "how ranks reach one another: threads (of this process) or processes");
  verb.add_option("--shape", arguments.shapes,
                  "sizes of one rank: M=64,N=32,...; of a file also A=64x32, and scalars")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb.add_option("--seed", arguments.seed, "of the random inputs (a random one)");
  verb.add_option("--repeat", arguments.repeat, "launches");
  verb.add_option("--straggler", arguments.straggler,
                  "a rank that starts late, to find kernels that count on luck: rank=1,ms=30");
  verb.add_flag("--json", arguments.json, "one JSON object a line on stdout");
}

std::string_view Placement::transportName() const {
  bool hasTransport = traits.timesMatter && (traits.coresAreChosen || ranks > 1);
  return hasTransport ? runtime::name(transport) : "none";
}

std::string Placement::describe() const {
  std::string_view reach = transportName();
  std::string end =
      fmt::format("{}{}{}", backend, reach == "none" ? "" : ", ", reach == "none" ? "" : reach);
  if (devices > 0)
    return ranks == 1 ? end
                      : fmt::format("{} ranks on {} device{}{}, {}", ranks, devices,
                                    devices == 1 ? "" : "s",
                                    ranks > devices ? " that they share" : "", end);
  return fmt::format("{} rank{} x {} core{}, {}", ranks, ranks == 1 ? "" : "s", cores,
                     cores == 1 ? "" : "s", end);
}

Placement parsePlacement(const LaunchArguments &arguments) {
  Placement placement;
  placement.backend = parseBackend(arguments.backend);
  const runtime::Backend &backend = backends::find(placement.backend);
  placement.traits = backend.traits();
  refuseOptions(placement, arguments);
  placement.transport = parseTransport(arguments.transport);
  placement.ranks = parseCount("--ranks", arguments.ranks, 1, kMostRanks);
  if (placement.traits.ranksMayBeProcesses)
    placeProcesses(placement, arguments);
  else
    placement.transport = TransportKind::threads;
  placement.mesh = parseMesh(arguments, placement.ranks);
  int share = placement.traits.timesMatter ? std::max(1, cpus() / placement.ranks) : 2;
  placement.cores = parseCount("--cores", arguments.cores, share, kMostCores);
  if (int64_t threads = int64_t(placement.ranks) * placement.cores; threads > kMostThreads)
    throw UsageError(fmt::format("{} ranks of {} cores are {} cores, expected at most {}",
                                 placement.ranks, placement.cores, threads, kMostThreads));
  if (placement.traits.timesMatter)
    placement.straggler = parseStraggler(arguments, placement.ranks);
  if (std::string problem = backend.whyNot(); !problem.empty())
    throw UnavailableError(problem);
  placement.devices = backend.devices(placement.ranks);
  return placement;
}

std::vector<kernels::ConfigParameter> Task::parameters() const {
  std::vector<kernels::ConfigParameter> result = entry.parameters;
  for (const kernels::ConfigParameter &parameter : tune::scheduleParameters(problem.target))
    result.push_back(parameter);
  return result;
}

std::string Task::describeTeam() const {
  return problem.team ? fmt::format(", teams of {} along {}", problem.ranks, problem.team->axis)
                      : "";
}

Task Task::with(const kernels::Config &other) const {
  return {entry, problem, other, entry.kernel(problem, other)};
}

Task makeTask(const KernelArguments &arguments, const std::string &shape,
              const runtime::MeshShape &mesh, int cores, const std::string &target,
              const heuristics::Calibration &calibration) {
  if (arguments.kernel.empty())
    throw UsageError("no kernel is given; ditron list names them");
  if (isFile(arguments.kernel))
    return makeFileTask(arguments, shape, mesh, cores, target);
  if (!arguments.function.empty())
    throw UsageError("--function and --graph are for a file of IR, FILE.mlir");
  const kernels::KernelEntry &entry = kernels::findKernel(arguments.kernel);
  kernels::Problem problem;
  problem.type = arguments.dtype.empty() ? entry.dtypes.front() : parseDType(arguments.dtype);
  problem.dims = entry.parseShape(shape);
  problem.team = parseAxis(arguments.axis, mesh, entry);
  problem.ranks = problem.team ? problem.team->line.extent : mesh.nodes * mesh.local;
  problem.cores = cores;
  problem.target = traitsOf(target);
  problem.calibration = calibration;
  checkExtents(problem);
  tune::Choice chosen = tune::choose(entry, problem, arguments.config);
  return {entry, problem, chosen.config, chosen.kernel};
}

std::string targetOf(const Placement &placement) {
  return targetFor(backends::find(placement.backend).target());
}

tune::Records recordsOf(const Placement &placement) {
  if (placement.traits.coresAreChosen)
    return tune::Records(Machine::inspect().slug());
  return tune::Records(
      fmt::format("{} {}", backends::find(placement.backend).deviceName(), targetOf(placement)));
}

Task makeTask(const LaunchArguments &arguments, const std::string &shape,
              const Placement &placement) {
  Task task = makeTask(static_cast<const KernelArguments &>(arguments), shape,
                       placement.meshShape(), placement.cores, targetOf(placement),
                       findCalibration(calibratedDevice(placement)).numbers);
  if (!placement.traits.timesMatter || task.file)
    return task;
  std::optional<std::string> tuned = recordsOf(placement).find(task.entry, task.problem);
  if (!tuned)
    return task;
  kernels::Config config = task.config;
  config.parse(*tuned, task.parameters());
  config.parse(arguments.config, task.parameters());
  config.settle(arguments.config, task.parameters());
  Task result = task.with(config);
  result.isTuned = true;
  return result;
}

double operandBytes(const Task &task) { return kernels::operandBytes(task.kernel, task.problem); }

void requireMemory(const Task &task, int ranks, int sets) {
  double bytes = operandBytes(task) * ranks * sets;
  size_t available = availableMemory();
  if (bytes > double(available))
    throw UnavailableError(fmt::format(
        "{} asks for {:.0f} bytes of memory for the arguments of {} rank{}, but {} are available",
        task.entry.name, bytes, ranks, ranks == 1 ? "" : "s", available));
}

uint64_t parseSeed(const LaunchArguments &arguments) {
  if (!arguments.seed.empty())
    return static_cast<uint64_t>(kernels::parseInteger("--seed", arguments.seed, 0));
  return std::random_device()(); // 32 bits: short enough to type again
}

int parseRepeat(const LaunchArguments &arguments, int otherwise) {
  return parseCount("--repeat", arguments.repeat, otherwise, 1'000'000);
}

} // namespace ditron::tools
