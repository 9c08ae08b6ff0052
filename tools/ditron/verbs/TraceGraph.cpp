// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron trace FILE.mlir: a step of a graph of tasks, task by task.
#include "ditron/profile/Export.h"
#include "ditron/profile/Profiler.h"
#include "ditron/profile/TaskSummary.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include "tools/ditron/GraphFile.h"
#include "tools/ditron/launch/Execute.h"
#include "tools/ditron/verbs/TraceCommand.h"
#include "tools/ditron/verbs/Verbs.h"
#include <fmt/format.h>
#include <random>

namespace ditron::tools {

namespace {

using Json = nlohmann::ordered_json;

Mode modeOf(const TraceArguments &arguments) {
  if (arguments.mode.empty() || arguments.mode == "megakernel")
    return Mode::megakernel;
  if (arguments.mode == "stream")
    return Mode::stream;
  if (arguments.mode == "graph")
    return Mode::graph;
  throw UsageError(
      fmt::format("--mode is '{}', expected megakernel, stream or graph", arguments.mode));
}

Placement placementOf(const TraceArguments &arguments) {
  if (!arguments.config.empty() || !arguments.dtype.empty() || !arguments.axis.empty() ||
      arguments.overhead)
    throw UsageError("--config, --dtype, --axis and --overhead are for kernels of the library, not "
                     "for a file with a graph");
  Placement placement = parsePlacement(arguments);
  requireClock(placement);
  if (placement.spawns)
    throw UsageError("a graph is traced on threads of one process, expected no --procs");
  return placement;
}

std::string shapeOf(const TraceArguments &arguments) {
  return arguments.shapes.empty() ? "" : arguments.shapes.front();
}

/// Floats are random, integers 0: what a place or a token may be is for the graph to know.
Tensor inputFor(const Context &context, DType type, const std::vector<int64_t> &shape,
                uint64_t seed) {
  Tensor host = Tensor::own(type, shape);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t n = 0; n < host.elements(); ++n)
    storeElement(type, static_cast<std::byte *>(host.data()) + n * byteSize(type),
                 isFloat(type) ? uniform(random) : 0);
  return context.tensorFrom(host);
}

/// One rank.
profile::Timeline record(Context &context, const TraceArguments &arguments, uint64_t seed) {
  TaskGraph graph = readGraphOf(arguments.kernel, arguments.function);
  graph.fillConstants([&](const task::Value &value) {
    return inputFor(context, value.type, value.shape(), ++seed);
  });
  const task::Graph &data = graph.graph();
  task::Shapes shapes =
      task::shapesOf(data, parseGraphExtents(shapeOf(arguments), {&graph, 1}), context.ranks());
  std::vector<Tensor> tensors;
  for (size_t n = 0; n < data.values.size(); ++n)
    if (data.values[n].kind == task::ValueKind::input)
      tensors.push_back(inputFor(context, data.values[n].type, shapes[n], ++seed));
  for (size_t output : data.outputs)
    tensors.push_back(context.tensor(data.values[output].type, shapes[output]));
  profile::Profiler profiler(context);
  TaskProgram step = profiler.compile(graph, {.mode = modeOf(arguments)});
  step.prepare(tensors);
  context.assemble();
  constexpr int kLaunches = 2; // the first one touches memory
  for (int n = parseRepeat(arguments, kLaunches); n > 0; --n) {
    context.sync();
    context.barrier();
    step.launch(tensors);
  }
  return profiler.timeline();
}

Json jsonOf(const profile::TaskTimes &times) {
  return {{"name", times.name},           {"tasks", times.tasks}, {"compute_s", times.compute},
          {"transfer_s", times.transfer}, {"wait_s", times.wait}, {"longest_s", times.longest}};
}

Json jsonOf(const profile::TaskSummary &summary) {
  Json types = Json::array(), labels = Json::array(), cores = Json::array(), waits = Json::array(),
       path = Json::array();
  for (const profile::TaskTimes &times : summary.types)
    types.push_back(jsonOf(times));
  for (const profile::TaskTimes &times : summary.labels)
    labels.push_back(jsonOf(times));
  for (const profile::CoreTasks &core : summary.cores) {
    Json line = jsonOf(core.times);
    line.erase("name");
    line["rank"] = core.rank;
    line["core"] = core.core;
    cores.push_back(line);
  }
  for (const profile::TaskWaits &wait : summary.waits)
    waits.push_back({{"task", wait.task},
                     {"on", wait.on},
                     {"waits", wait.waits},
                     {"seconds", wait.seconds},
                     {"longest_s", wait.longest}});
  for (const profile::TaskStep &step : summary.path)
    path.push_back({{"rank", step.rank},
                    {"core", step.core},
                    {"task", step.task},
                    {"what", profile::name(step.state)},
                    {"on", step.on},
                    {"begin_s", step.begin},
                    {"seconds", step.seconds}});
  auto hops = [](const profile::Hops &of) -> Json {
    return {{"count", of.count}, {"median_s", of.median}, {"longest_s", of.longest}};
  };
  return {{"types", types},
          {"labels", labels},
          {"cores", cores},
          {"waits", waits},
          {"hops", {{"inside", hops(summary.inside)}, {"between", hops(summary.between)}}},
          {"path", path}};
}

void report(const TraceArguments &arguments, const Placement &placement, const Files &files,
            const profile::Timeline &timeline) {
  std::string title = fmt::format("{}: {}", timeline.kernel, placement.describe());
  if (!files.trace.empty())
    writeFile(files.trace, profile::chromeTrace(timeline));
  if (!files.page.empty())
    writeFile(files.page, profile::page(timeline, title));
  profile::Summary summary = summarize(timeline);
  profile::TaskSummary tasks = summarizeTasks(timeline, summary);
  if (arguments.json)
    printJson({{"graph", timeline.kernel},
               {"mode", arguments.mode.empty() ? "megakernel" : arguments.mode},
               {"ranks", placement.ranks},
               {"cores", placement.cores},
               {"span_s", summary.seconds},
               {"slices", timeline.slices()},
               {"arrows", timeline.arrows.size()},
               {"events_dropped", timeline.dropped()},
               {"all", timesJson(summary.times(), summary.transfers())},
               {"critical_path", pathJson(summary.path)},
               {"tasks", jsonOf(tasks)},
               {"trace", files.trace.empty() ? Json() : Json(files.trace)},
               {"page", files.page.empty() ? Json() : Json(files.page)}});
  constexpr size_t kMost = 8;
  std::string text =
      fmt::format("{}\n  {}\n\n{}", title, describe(summary.path), describeTasks(tasks, kMost));
  if (std::string dropped = describeDropped(timeline); !dropped.empty())
    text += fmt::format("  DROPPED   {}; --events makes room for more\n", dropped);
  text.pop_back();
  printText(text, arguments.json);
}

} // namespace

int traceGraph(const TraceArguments &arguments) {
  modeOf(arguments);
  Placement placement = placementOf(arguments);
  Files files = filesOf(arguments);
  if (arguments.shapes.size() > 1)
    throw UsageError(fmt::format("{} shapes are given, expected one", arguments.shapes.size()));
  TaskGraph graph = readGraphOf(arguments.kernel, arguments.function);
  task::requireTasks(graph.graph());
  requireGraphExtents(graph, parseGraphExtents(shapeOf(arguments), {&graph, 1}));
  runtime::Options options = runtimeOptions(placement);
  if (!arguments.events.empty())
    options.events = size_t(
        kernels::parseInteger("--events", arguments.events, 1, runtime::Options::kMostEvents));
  if (placement.reports())
    for (const std::string &file : {files.trace, files.page})
      if (!file.empty())
        requireWritable(file);
  uint64_t seed = parseSeed(arguments);
  profile::Timeline timeline;
  runOnRanks(options, [&](Context &context) {
    profile::Timeline mine = record(context, arguments, seed);
    if (context.rank() == 0)
      timeline = std::move(mine);
  });
  if (placement.reports())
    report(arguments, placement, files, timeline);
  return kVerified;
}

} // namespace ditron::tools
