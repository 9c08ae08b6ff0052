// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron trace: records one launch, verifies it, and shows what every core did.
#include "ditron/profile/Export.h"
#include "ditron/profile/Profiler.h"
#include "ditron/profile/Tables.h"
#include "ditron/runtime/Gather.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include "tools/ditron/FileKernel.h"
#include "tools/ditron/GraphFile.h"
#include "tools/ditron/launch/DeviceOperands.h"
#include "tools/ditron/launch/Execute.h"
#include "tools/ditron/verbs/TraceCommand.h"
#include "tools/ditron/verbs/Verbs.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

namespace ditron::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFooter = R"(
Writes the timeline of the last launch as a trace that ui.perfetto.dev opens, and as an HTML page
that needs no network. A lane is a core; it shows roles, tiles, puts and gets with their bytes and
peer, waits, notifies and barriers, and arrows from each notify to the wait that it let go on.

The summary says what the cores did, in time summed over cores and in percent of all:
  compute   what is none of the others
  transfer  in put or get
  wait      for a signal that had not come yet, or at a barrier
  absent    before the kernel began on the core, and after it ended there, while others ran it
  unknown   after the log of the core was full: --events makes room
  CPU       of compute and transfer, how much the cores had a CPU (100 %: they never took turns)
  hidden    of the time in which a rank transfers, the part behind computation, as in ditron run;
  exposed   ... and the rest of it
and the critical path: from the core that finished last, back in time; where it waited, to the core
whose notify let it go on. wait is what signals took to arrive, start the time until the first core
on the path began.

FILE.mlir with a graph of tasks is launched on random inputs (integers are 0), and not verified. Its
tasks are roles; the summary has tasks by type and core, what they waited for, and the critical path
by task.

--overhead launches the kernel with and without being recorded, in turn: the median of the ratios.)";

} // namespace

void requireClock(const Placement &placement) {
  if (placement.backend != "cpu" && placement.backend != "nvidia")
    throw UsageError(fmt::format("backend '{}' has no clock of its own for every core: expected "
                                 "backend 'cpu' or 'nvidia'",
                                 placement.backend));
}

Files filesOf(const TraceArguments &arguments) {
  Files files{arguments.output, arguments.page};
  if (files.trace == "-" || files.page == "-")
    throw UsageError("ditron trace writes no file to stdout: expected a name other than '-'");
  if (files.trace == files.page)
    throw UsageError(fmt::format("-o and --html both name {}: expected two files", files.page));
  constexpr std::string_view kJson = ".json", kHtml = ".html";
  if (files.trace.ends_with(kHtml)) {
    if (!files.page.empty() || arguments.noPage)
      throw UsageError(fmt::format("-o {} is an HTML page already: expected no {} with it",
                                   files.trace, arguments.noPage ? "--no-html" : "--html"));
    return {"", files.trace};
  }
  if (arguments.noPage && !files.page.empty())
    throw UsageError("--html and --no-html contradict one another");
  if (files.page.empty() && !arguments.noPage)
    files.page = files.trace.substr(0, files.trace.size() -
                                           (files.trace.ends_with(kJson) ? kJson.size() : 0)) +
                 std::string(kHtml);
  return files;
}

namespace {

struct TraceResult {
  Findings findings;
  uint64_t seed = 0;
  double seconds = 0; ///< of the recorded launch, of the slowest rank
  profile::Timeline timeline;
  std::optional<double> overhead; ///< of a recorded launch over the one beside it
  std::string warning;            ///< of the kernel cache; empty: none
};

/// One rank.
class RankTrace {
public:
  RankTrace(Context &context, const Task &task, const TraceArguments &arguments, uint64_t seed,
            Progress &progress)
      : context_(context), task_(task), arguments_(arguments), progress_(progress),
        seed_(runtime::gather<uint64_t>(context.runtimeRank(), {seed})[0][0]),
        inputs_(task.entry, task.kernel, task.problem, seed_), operands_(task),
        onDevice_(context, operands_), profiler_(context),
        program_(profiler_.compile(task.kernel)) {}

  TraceResult run() {
    constexpr int kLaunches = 2; // the first one touches memory
    show("making inputs");
    operands_.fill(inputs_, context_.rank());
    onDevice_.upload();
    show("compiling");
    program_.prepare(onDevice_.arguments());
    context_.assemble();
    TraceResult result;
    if (arguments_.overhead)
      result.overhead = measureOverhead();
    show("recording");
    for (int n = parseRepeat(arguments_, kLaunches); n > 0; --n) {
      if (task_.file) // which may add to what it wrote before
        refill();
      result.seconds = launch(program_);
    }
    show("collecting");
    result.timeline = profiler_.timeline();
    show("verifying");
    onDevice_.download();
    result.findings =
        mergeFindings(context_.runtimeRank(), verify(task_, inputs_, context_.rank(), operands_));
    result.seed = seed_;
    result.seconds = slowest(result.seconds);
    std::string problem = program_.report().cacheProblem;
    result.warning =
        mergeCacheProblems(context_.runtimeRank(), problem.empty() ? plainProblem_ : problem);
    return result;
  }

private:
  void refill() {
    operands_.refill(inputs_, context_.rank());
    onDevice_.upload();
    context_.assemble();
  }

  void show(const char *what) {
    if (context_.rank() == 0)
      progress_.show(fmt::format("{}: {}", task_.entry.name, what));
  }

  double launch(Program &program) {
    context_.barrier();
    return program.timedLaunch(onDevice_.arguments()).seconds;
  }

  double slowest(double mine) {
    for (const auto &other : runtime::gather<double>(context_.runtimeRank(), {mine}))
      mine = std::max(mine, other[0]);
    return mine;
  }

  double measureOverhead() {
    Program plain = context_.compile(task_.kernel);
    plain.prepare(onDevice_.arguments());
    context_.assemble();
    plainProblem_ = plain.report().cacheProblem;
    launch(plain);
    launch(program_);
    double one = slowest(launch(plain));
    int pairs = parseRepeat(arguments_, int(std::clamp(2 / std::max(one, 1e-6), 31.0, 801.0)));
    std::vector<double> ratios;
    for (int n = 0; n < pairs; ++n) {
      show("measuring the overhead");
      double first = slowest(launch(n % 2 ? plain : program_)),
             second = slowest(launch(n % 2 ? program_ : plain));
      ratios.push_back(n % 2 ? second / first : first / second);
    }
    return median(ratios) - 1;
  }

  Context &context_;
  const Task &task_;
  const TraceArguments &arguments_;
  Progress &progress_;
  uint64_t seed_;
  kernels::Inputs inputs_;
  Operands operands_;
  DeviceOperands onDevice_;
  profile::Profiler profiler_;
  Program program_;
  std::string plainProblem_; ///< of the cache, as the program beside it met it
};

TraceResult traceOnRanks(const Task &task, const Placement &placement,
                         const TraceArguments &arguments, uint64_t seed) {
  runtime::Options options = runtimeOptions(placement);
  if (!arguments.events.empty())
    options.events = size_t(kernels::parseInteger("--events", arguments.events, 1));
  Progress progress(placement.reports());
  std::mutex lock;
  TraceResult result;
  runOnRanks(options, [&](Context &context) {
    TraceResult mine = RankTrace(context, task, arguments, seed, progress).run();
    std::lock_guard guard(lock);
    if (context.rank() == 0 || placement.rank != 0)
      result = std::move(mine);
  });
  return result;
}

//===-- What is printed -----------------------------------------------------------------------===//

} // namespace

Json timesJson(const profile::CoreTimes &times, const runtime::TransferTime &transfers) {
  auto transfer = double(transfers.transferNs);
  return {{"compute_s", times.compute},
          {"transfer_s", times.transfer},
          {"wait_s", times.wait},
          {"absent_s", times.absent},
          {"unknown_s", times.unknown},
          {"cpu_share", times.cpu > 0 && times.unknown == 0 ? Json(times.cpuShare()) : Json()},
          {"hidden", transfer > 0 ? Json(double(transfers.hiddenNs) / transfer) : Json()},
          {"exposed_s", 1e-9 * double(transfers.exposedNs())}};
}

Json pathJson(const profile::CriticalPath &path) {
  if (!path.isKnown)
    return {};
  Json parts = Json::array();
  for (const profile::Contribution &part : path.contributions)
    parts.push_back({{"what", profile::name(part.state)},
                     {"role", part.role},
                     {"source", part.place},
                     {"seconds", part.seconds},
                     {"steps", part.steps}});
  return {{"seconds", path.seconds()},
          {"compute_s", path.compute},
          {"transfer_s", path.transfer},
          {"wait_s", path.wait},
          {"start_s", path.before},
          {"signals", path.signals},
          {"parts", parts}};
}

namespace {

Json jsonOf(const Task &task, const Placement &placement, const TraceResult &result,
            const profile::Summary &summary, const Files &files) {
  const profile::Timeline &timeline = result.timeline;
  Json ranks = Json::array();
  for (const profile::RankSummary &rank : summary.ranks)
    ranks.push_back(timesJson(rank.times, rank.transfers));
  Json json{{"kernel", task.entry.name},
            {"backend", placement.backend},
            {"ranks", placement.ranks},
            {"shape", shapeJson(task.problem.dims)},
            {"dtype", name(task.problem.type)},
            {"ok", result.findings.verdict.ok},
            {"seconds", result.seconds},
            {"span_s", summary.seconds},
            {"cores", placement.cores},
            {"transport", placement.transportName()},
            {"config", task.configText()},
            {"seed", result.seed},
            {"trace", files.trace.empty() ? Json() : Json(files.trace)},
            {"page", files.page.empty() ? Json() : Json(files.page)},
            {"slices", timeline.slices()},
            {"arrows", timeline.arrows.size()},
            {"events_dropped", timeline.dropped()},
            {"overhead", result.overhead ? Json(*result.overhead) : Json()},
            {"all", timesJson(summary.times(), summary.transfers())},
            {"by_rank", ranks},
            {"critical_path", pathJson(summary.path)}};
  if (!result.findings.verdict.ok)
    json["failure"] = result.findings.verdict.failure;
  return json;
}

std::string titleOf(const Task &task, const Placement &placement, const TraceResult &result) {
  return fmt::format("{} {} {}: {}, seed {}", task.entry.name, name(task.problem.type),
                     formatShape(task.problem.dims), placement.describe(), result.seed);
}

std::string textOf(const Task &task, const Placement &placement, const TraceResult &result,
                   const profile::Summary &summary, const Files &files) {
  constexpr size_t kMostParts = 8;
  std::string text = titleOf(task, placement, result) + "\n";
  text += fmt::format("  {:<9} {} of {} elements compared\n",
                      result.findings.verdict.ok ? "verified" : "WRONG",
                      result.findings.verdict.checked, result.findings.elements);
  text += fmt::format("  time      {}", formatSeconds(result.seconds));
  if (placement.ranks > 1)
    text += fmt::format(", {} from the first rank's start to the last one's end",
                        formatSeconds(summary.seconds));
  if (int threads = placement.ranks * placement.cores; threads > cpus())
    text += fmt::format(" ({} cores on {} CPUs)", threads, cpus());
  text += "\n";
  if (result.overhead)
    text += fmt::format("  overhead  {:+.1f} % of being recorded\n", 100 * *result.overhead);
  text += fmt::format("  recorded  {} slices, {} arrows\n", result.timeline.slices(),
                      result.timeline.arrows.size());
  if (std::string dropped = describeDropped(result.timeline); !dropped.empty())
    text += fmt::format("  DROPPED   {}; --events makes room for more\n", dropped);
  text += "\n" + profile::format(timesTable(summary), {0}, "  ");
  text += fmt::format("\n  critical path: {}\n", describe(summary.path));
  if (summary.path.isKnown)
    text += profile::format(pathTable(summary.path, kMostParts), {2, 3, 4}, "  ");
  text += "\n";
  if (!files.trace.empty())
    text += fmt::format("  {} opens in ui.perfetto.dev\n", files.trace);
  if (!files.page.empty())
    text += fmt::format("  {} opens in a browser\n", files.page);
  text.pop_back();
  return text;
}

void report(const TraceArguments &arguments, const Task &task, const Placement &placement,
            const TraceResult &result, const Files &files) {
  if (!files.trace.empty())
    writeFile(files.trace, profile::chromeTrace(result.timeline));
  if (!files.page.empty())
    writeFile(files.page, profile::page(result.timeline, titleOf(task, placement, result)));
  profile::Summary summary = summarize(result.timeline);
  if (arguments.json)
    printJson(jsonOf(task, placement, result, summary, files));
  printText(textOf(task, placement, result, summary, files), arguments.json);
}

std::vector<std::string> processCommand(const TraceArguments &arguments, uint64_t seed) {
  std::vector<std::string> command = commandLine("trace", arguments, seed);
  command.insert(command.end(), {"-o", arguments.output});
  if (!arguments.page.empty())
    command.insert(command.end(), {"--html", arguments.page});
  if (!arguments.events.empty())
    command.insert(command.end(), {"--events", arguments.events});
  if (arguments.noPage)
    command.push_back("--no-html");
  if (arguments.overhead)
    command.push_back("--overhead");
  return command;
}

int traceKernel(const TraceArguments &arguments) {
  if (isFile(arguments.kernel) &&
      meansGraph({readText(arguments.kernel), arguments.kernel}, arguments.function))
    return traceGraph(arguments);
  if (!arguments.mode.empty())
    throw UsageError("--mode is for a file with a graph, FILE.mlir");
  Placement placement = parsePlacement(arguments);
  requireClock(placement);
  Files files = filesOf(arguments);
  if (arguments.shapes.size() > 1)
    throw UsageError(fmt::format("{} shapes are given, expected one", arguments.shapes.size()));
  if (!arguments.events.empty())
    kernels::parseInteger("--events", arguments.events, 1, runtime::Options::kMostEvents);
  uint64_t seed = parseSeed(arguments);
  Task task = makeTask(arguments, arguments.shapes.empty() ? "" : arguments.shapes[0], placement);
  requireMemory(task, placement.ranks);
  if (placement.reports())
    for (const std::string &file : {files.trace, files.page})
      if (!file.empty())
        requireWritable(file);
  if (placement.spawns)
    return spawnProcesses(placement, processCommand(arguments, seed));
  TraceResult result = traceOnRanks(task, placement, arguments, seed);
  const kernels::Verdict &verdict = result.findings.verdict;
  if (placement.reports()) {
    if (!result.warning.empty())
      printWarning(result.warning);
    report(arguments, task, placement, result, files);
    if (!verdict.ok)
      printFailure(verdict.failure);
  }
  return verdict.ok ? kVerified : kFailed;
}

} // namespace

Verb addTrace(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("trace", "record what every core does, as a timeline");
  auto arguments = std::make_shared<TraceArguments>();
  addLaunchOptions(*verb, *arguments);
  verb->add_option("-o,--output", arguments->output, "the trace, or a page *.html (trace.json)");
  verb->add_option("--html", arguments->page, "the page (named as the trace, with .html)");
  verb->add_flag("--no-html", arguments->noPage, "no page");
  verb->add_option("--events", arguments->events, "room in the log of each core (131072)");
  verb->add_option("--mode", arguments->mode,
                   "of a graph: megakernel (the default), stream or graph");
  verb->get_option("KERNEL")->description(
      "a kernel of the library, or FILE.mlir with kernels or a graph of tasks");
  verb->add_option("--graph", arguments->function, "the graph of a file: as --function");
  verb->add_flag("--overhead", arguments->overhead, "measure what recording costs");
  verb->footer(kFooter);
  return {verb, [arguments] { return traceKernel(*arguments); }};
}

} // namespace ditron::tools
