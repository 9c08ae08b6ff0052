// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Arguments.h"
#include "Machine.h"
#include "ditron/driver/Compile.h"
#include "ditron/runtime/Bootstrap.h"
#include "ditron/runtime/Memory.h"
#include "ditron/runtime/nvidia/Device.h"
#include "ditron/runtime/nvidia/RankGroup.h"
#include "ditron/support/Error.h"
#include "ditron/support/Parallel.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <random>

namespace ditron::tools {

using runtime::TransportKind;

namespace {

constexpr int64_t kMostThreads = 4096;

/// An option that counts something.
int parseCount(const char *option, const std::string &text, int otherwise, int64_t most) {
  return text.empty() ? otherwise : static_cast<int>(kernels::parseInteger(option, text, 1, most));
}

Backend parseBackend(const std::string &text) {
  if (text == "reference")
    return Backend::reference;
  if (text == "cpu")
    return Backend::cpu;
  if (text == "nvidia")
    return Backend::nvidia;
  throw UsageError(fmt::format("unknown backend '{}', expected one of reference, cpu, nvidia{}",
                               text, kernels::suggestion(text, {"reference", "cpu", "nvidia"})));
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

/// The reference runs all ranks in one thread: it has neither processes nor a transport.
void refuseForReference(const LaunchArguments &arguments) {
  for (auto [option, text] :
       {std::pair("--procs", &arguments.procs), std::pair("--transport", &arguments.transport),
        std::pair("--straggler", &arguments.straggler)})
    if (!text->empty())
      throw UsageError(fmt::format("{} {}: backend 'reference' runs every rank in one thread of "
                                   "one process; expected backend 'cpu' with it",
                                   option, *text));
}

/// Ranks are GPUs of this process, with all of their cores.
void refuseForNvidia(const LaunchArguments &arguments) {
  for (auto [option, text] :
       {std::pair("--cores", &arguments.cores), std::pair("--procs", &arguments.procs)})
    if (!text->empty())
      throw UsageError(fmt::format("{} {}: backend 'nvidia' runs ranks on all cores of the GPUs of "
                                   "one process; expected backend 'cpu' with it",
                                   option, *text));
  if (parseTransport(arguments.transport) == TransportKind::processes)
    throw UsageError("--transport processes: the ranks of backend 'nvidia' are those of one "
                     "process; expected threads");
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

/// UnavailableError for sizes that no machine has memory for; beyond them integers overflow.
void checkExtents(const kernels::Problem &problem) {
  constexpr int64_t kMost = int64_t(1) << 40;
  for (const auto &[name, extent] : problem.dims)
    if (extent > kMost)
      throw UnavailableError(fmt::format("--shape: {} is {}, expected at most {}: a dimension of "
                                         "more elements fits no memory",
                                         name, extent, kMost));
}

/// How many elements a dimension has, where it may be more than an integer holds.
double extent(const Dimension &dimension, const Dimensions &dims) {
  auto value = [&](const std::string &factor) {
    auto found = dims.find(factor);
    return found != dims.end() ? double(found->second) : std::strtod(factor.c_str(), nullptr);
  };
  double result = 1;
  for (const std::string &factor : dimension.factors)
    result *= value(factor);
  for (const std::string &divisor : dimension.divisors)
    result /= value(divisor);
  return result + double(dimension.more);
}

} // namespace

int cpus() { return usableCpus(); }

void addKernelOptions(CLI::App &verb, KernelArguments &arguments) {
  verb.add_option("KERNEL", arguments.kernel, "a kernel of the library: ditron list names them");
  verb.add_option("--dtype", arguments.dtype, "element type of the inputs, say f32 or bf16");
  verb.add_option("--config", arguments.config, "tile sizes and variants: name=value,...");
}

void addLaunchOptions(CLI::App &verb, LaunchArguments &arguments) {
  addKernelOptions(verb, arguments);
  verb.add_option("--ranks", arguments.ranks, "ranks (1)");
  verb.add_option("--cores", arguments.cores, "core threads of each rank (the CPUs, divided)");
  verb.add_option("--backend", arguments.backend, "reference, cpu (the default) or nvidia");
  verb.add_option("--procs", arguments.procs, "start this many processes, each of them a rank");
  verb.add_option("--transport", arguments.transport,
                  "how ranks reach one another: threads (of this process) or processes");
  verb.add_option("--shape", arguments.shapes, "sizes of one rank: M=64,N=32,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb.add_option("--seed", arguments.seed, "of the random inputs (a random one)");
  verb.add_option("--repeat", arguments.repeat, "launches");
  verb.add_option("--straggler", arguments.straggler,
                  "a rank that starts late, to find kernels that count on luck: rank=1,ms=30");
  verb.add_flag("--json", arguments.json, "one JSON object a line on stdout");
}

std::string_view Placement::transportName() const {
  bool hasTransport = backend == Backend::cpu || (backend == Backend::nvidia && ranks > 1);
  return hasTransport ? runtime::name(transport) : "none";
}

std::string_view Placement::backendName() const {
  constexpr std::string_view kNames[] = {"reference", "cpu", "nvidia"};
  return kNames[static_cast<int>(backend)];
}

std::string Placement::describe() const {
  if (backend == Backend::nvidia && ranks == 1)
    return "nvidia";
  if (backend == Backend::nvidia)
    return fmt::format("{} ranks on {} GPU{}{}, nvidia, {}", ranks, gpus, gpus == 1 ? "" : "s",
                       ranks > gpus ? " that they share" : "", transportName());
  std::string text = fmt::format("{} rank{} x {} core{}, ", ranks, ranks == 1 ? "" : "s", cores,
                                 cores == 1 ? "" : "s");
  return text +
         (backend == Backend::reference ? "reference" : fmt::format("cpu, {}", transportName()));
}

Placement parsePlacement(const LaunchArguments &arguments) {
  Placement placement;
  placement.backend = parseBackend(arguments.backend);
  if (placement.backend == Backend::nvidia) {
    refuseForNvidia(arguments);
    placement.ranks = parseCount("--ranks", arguments.ranks, 1, kMostRanks);
    placement.straggler = parseStraggler(arguments, placement.ranks);
    runtime::nvidia::RankGroup::requirePlaces(placement.ranks);
    placement.gpus = std::min(placement.ranks, runtime::nvidia::Cuda::get().devices());
    return placement;
  }
  placement.transport = parseTransport(arguments.transport);
  placement.ranks = parseCount("--ranks", arguments.ranks, 1, kMostRanks);
  if (placement.backend == Backend::reference)
    refuseForReference(arguments);
  else
    placeProcesses(placement, arguments);
  int share = placement.backend == Backend::reference ? 2 : std::max(1, cpus() / placement.ranks);
  placement.cores = parseCount("--cores", arguments.cores, share, kMostCores);
  if (int64_t threads = int64_t(placement.ranks) * placement.cores; threads > kMostThreads)
    throw UsageError(fmt::format("{} ranks of {} cores are {} cores, expected at most {}",
                                 placement.ranks, placement.cores, threads, kMostThreads));
  if (placement.backend != Backend::reference)
    placement.straggler = parseStraggler(arguments, placement.ranks);
  return placement;
}

bool isOfWeights(const Task &task) {
  const std::vector<Argument> &arguments = task.kernel.signature().arguments();
  if (arguments.size() < 3 || arguments[1].dims.empty())
    return false;
  return arguments[1].dims.back().factors == std::vector<std::string>{"K"};
}

static std::vector<kernels::ConfigParameter> parametersOf(const kernels::KernelEntry &entry,
                                                          const kernels::Problem &problem) {
  std::vector<kernels::ConfigParameter> result = entry.parameters;
  if (problem.machine == kernels::Machine::gpu)
    result.insert(result.end(), tune::scheduleParameters().begin(),
                  tune::scheduleParameters().end());
  return result;
}

std::vector<kernels::ConfigParameter> Task::parameters() const {
  return parametersOf(entry, problem);
}

Task Task::with(const kernels::Config &other) const {
  return {entry, problem, other, entry.kernel(problem.type, other)};
}

Task makeTask(const KernelArguments &arguments, const std::string &shape, int ranks, int cores,
              const std::string &gpu) {
  if (arguments.kernel.empty())
    throw UsageError("no kernel is given; ditron list names them");
  const kernels::KernelEntry &entry = kernels::findKernel(arguments.kernel);
  kernels::Problem problem;
  problem.type = arguments.dtype.empty() ? entry.dtypes.front() : parseDType(arguments.dtype);
  problem.dims = entry.parseShape(shape);
  problem.ranks = ranks;
  problem.cores = cores;
  if (!gpu.empty()) {
    problem.machine = kernels::Machine::gpu;
    TileTraits traits = gpuTraits(gpu);
    problem.accumulator = traits.accumulator;
    problem.multiprocessors = traits.multiprocessors;
  }
  checkExtents(problem);
  if (entry.check)
    entry.check(problem);
  kernels::Config config = entry.defaults(problem);
  if (problem.machine == kernels::Machine::gpu)
    config = tune::withSchedule(std::move(config));
  config.parse(arguments.config, parametersOf(entry, problem));
  if (entry.retile) { // but what is given stays
    entry.retile(problem, config);
    config.parse(arguments.config, parametersOf(entry, problem));
  }
  return {entry, problem, config, entry.kernel(problem.type, config)};
}

std::string gpuOf(const Placement &placement) {
  if (placement.backend != Backend::nvidia)
    return "";
  auto [major, minor] = runtime::nvidia::Device::capability();
  return gpuTarget(major, minor);
}

tune::Records recordsOf(const Placement &placement) {
  if (placement.backend == Backend::nvidia)
    return tune::Records(fmt::format("{} {}", runtime::nvidia::Device::nameOf(), gpuOf(placement)));
  return tune::Records(Machine::inspect().slug());
}

Task makeTask(const LaunchArguments &arguments, const std::string &shape,
              const Placement &placement) {
  Task task = makeTask(static_cast<const KernelArguments &>(arguments), shape, placement.ranks,
                       placement.cores, gpuOf(placement));
  if (placement.backend == Backend::reference)
    return task;
  std::optional<std::string> tuned = recordsOf(placement).find(task.entry, task.problem);
  if (!tuned)
    return task;
  kernels::Config config = task.config;
  config.parse(*tuned, task.parameters());
  config.parse(arguments.config, task.parameters());
  Task result = task.with(config);
  result.isTuned = true;
  return result;
}

double operandBytes(const Task &task) {
  Dimensions dims = task.problem.dims;
  dims["R"] = task.problem.ranks;
  double total = 0;
  const std::vector<Argument> &arguments = task.kernel.signature().arguments();
  for (size_t n = 0; n < arguments.size(); ++n) {
    if (arguments[n].isScalar)
      continue;
    double bytes = double(byteSize(task.kernel.parameters()[n].dtype));
    for (const Dimension &dimension : arguments[n].dims)
      bytes *= extent(dimension, dims);
    total += bytes;
  }
  return total;
}

void requireMemory(const Task &task, int ranks, int sets) {
  double bytes = operandBytes(task) * ranks * sets;
  size_t available = runtime::availableMemory();
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
