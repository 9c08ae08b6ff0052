// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron compile: what a kernel becomes on its way to the machine.
#include "ditron/driver/Compile.h"
#include "ditron/driver/Megakernel.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include "ditron/targets/Targets.h"
#include "ditron/task/Fuse.h"
#include "ditron/task/KernelText.h"
#include "tools/ditron/FileKernel.h"
#include "tools/ditron/GraphFile.h"
#include "tools/ditron/LaunchArguments.h"
#include "tools/ditron/report/Report.h"
#include "tools/ditron/verbs/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace ditron::tools {

namespace {

constexpr const char *kDefaultTarget = "x86-64";

struct CompileArguments : KernelArguments {
  std::string target = kDefaultTarget, emit = "ir", output, shape, mesh;
  std::optional<std::string> ranks, cores;
  bool json = false;
  int64_t alignment = 0;
};

/// What is printed: of kernels, and what graphs have beside.
enum class Printed { ir, llvm, assembly, object, task, dot };

Printed parseEmit(const CompileArguments &arguments, bool isGraph) {
  constexpr std::pair<const char *, Printed> kAll[] = {
      {"ir", Printed::ir},         {"llvm", Printed::llvm}, {"asm", Printed::assembly},
      {"object", Printed::object}, {"task", Printed::task}, {"dot", Printed::dot}};
  std::vector<std::string> known;
  for (auto [name, printed] : kAll) {
    bool isOfGraphs = printed == Printed::task || printed == Printed::dot;
    if (arguments.emit == name && isOfGraphs && !isGraph)
      throw UsageError(fmt::format("--emit {} is for a file with a graph, FILE.mlir", name));
    if (arguments.emit == name)
      return printed;
    if (!isOfGraphs || isGraph)
      known.emplace_back(name);
  }
  throw UsageError(fmt::format("unknown --emit '{}', expected one of {}{}", arguments.emit,
                               fmt::join(known, ", "), kernels::suggestion(arguments.emit, known)));
}

void checkTarget(const CompileArguments &arguments) {
  const std::string &text = arguments.target;
  std::vector<std::string> known = compileTargets();
  if (std::find(known.begin(), known.end(), text) == known.end())
    throw UsageError(fmt::format("unknown target '{}', expected one of {}{}", text,
                                 fmt::join(known, ", "), kernels::suggestion(text, known)));
  if (arguments.alignment != 0 && !traitsOf(text).isGpu())
    throw UsageError(
        fmt::format("--alignment is for GPUs: code for {} is for any alignment", text));
}

nlohmann::ordered_json jsonOf(const Resources &resources) {
  return {{"registers", resources.registers},
          {"scalar_registers", resources.scalarRegisters},
          {"accumulator_registers", resources.accumulatorRegisters},
          {"shared_bytes", resources.sharedBytes},
          {"spilled_bytes", resources.spilledBytes},
          {"stack_bytes", resources.stackBytes}};
}

/// What came out, and what it took.
struct Compiled {
  std::string name, text = {};
  nlohmann::ordered_json details = nlohmann::ordered_json::object(); ///< of the kernel, for --json
  double seconds = 0;
  Resources resources = {};
};

/// What was written to a file.
void report(const CompileArguments &arguments, const Compiled &compiled) {
  const Resources &resources = compiled.resources;
  size_t bytes = compiled.text.size();
  if (arguments.json) {
    nlohmann::ordered_json line{
        {"kernel", compiled.name}, {"target", arguments.target}, {"emit", arguments.emit}};
    line.update(compiled.details);
    line.update({{"file", arguments.output}, {"bytes", bytes}, {"seconds", compiled.seconds}});
    if (resources.registers)
      line["resources"] = jsonOf(resources);
    printJson(line);
  }
  std::string taken = resources.registers ? ": " + describe(resources) : "";
  printText(fmt::format("{}: {} of {} for {}, {} bytes, {}{}", arguments.output, arguments.emit,
                        compiled.name, arguments.target, bytes, formatSeconds(compiled.seconds),
                        taken),
            arguments.json);
}

Emit emitOf(Printed printed) {
  return printed == Printed::ir         ? Emit::ir
         : printed == Printed::llvm     ? Emit::llvm
         : printed == Printed::assembly ? Emit::assembly
                                        : Emit::object;
}

/// UsageError where an option changes nothing of what is printed of a graph.
void refuseOptionsOfGraph(const CompileArguments &arguments, Printed printed) {
  refuseOptionsOfLibrary(arguments);
  if (!arguments.mesh.empty())
    throw UsageError("--mesh is for kernels, not for a file with a graph");
  bool isDrawing = printed == Printed::dot;
  if (!isDrawing && (!arguments.shape.empty() || arguments.cores))
    throw UsageError(fmt::format("--shape and --cores of a graph are for --emit dot: --emit {} "
                                 "takes any shape",
                                 arguments.emit));
  if (arguments.cores && arguments.shape.empty())
    throw UsageError("--cores draws who runs what, which depends on sizes: expected --shape too");
  bool isCompiled = !isDrawing && printed != Printed::task;
  if (!isCompiled && (arguments.alignment != 0 || arguments.target != kDefaultTarget))
    throw UsageError(fmt::format("--target and --alignment are what a graph is compiled for, and "
                                 "--emit {} compiles nothing",
                                 arguments.emit));
  if (printed == Printed::task && arguments.ranks)
    throw UsageError("--emit task prints the graph, which is the same for any --ranks");
}

int64_t ranksOf(const CompileArguments &arguments) {
  return kernels::parseInteger("--ranks", arguments.ranks.value_or("1"), 1, kMostRanks);
}

int coresOf(const CompileArguments &arguments) {
  return int(kernels::parseInteger("--cores", arguments.cores.value_or("1"), 1, kMostCores));
}

/// Code of a GPU is for as many ranks as launch it.
bool isForRanks(const CompileArguments &arguments) { return traitsOf(arguments.target).isGpu(); }

runtime::MeshShape meshOf(const CompileArguments &arguments) {
  runtime::MeshRequest asked = arguments.mesh.empty()
                                   ? runtime::MeshRequest()
                                   : runtime::MeshRequest::parse(arguments.mesh, "--mesh");
  return asked.of(static_cast<int>(ranksOf(arguments)));
}

/// Adds what a kernel becomes.
Compiled withCode(Compiled compiled, const CompileArguments &arguments, Printed printed,
                  const Kernel &kernel, const Schedule &schedule) {
  CompileRequest request = requestFor(kernel, arguments.target, schedule, arguments.alignment);
  request.emit = emitOf(printed);
  request.mesh = meshOf(arguments).axes.text();
  if (isForRanks(arguments) && arguments.ranks)
    request.ranks = ranksOf(arguments);
  compiled.text = compileTo(kernel, request, &compiled.resources);
  return compiled;
}

/// Compiles a kernel of the library.
Compiled compileLibrary(const CompileArguments &arguments, Printed printed) {
  Task task =
      makeTask(arguments, arguments.shape, meshOf(arguments), coresOf(arguments), arguments.target);
  Compiled compiled{.name = task.entry.name,
                    .details = {{"dtype", name(task.problem.type)}, {"config", task.configText()}}};
  return withCode(std::move(compiled), arguments, printed, task.kernel, task.schedule());
}

/// Compiles a kernel of a file.
Compiled compileFile(const CompileArguments &arguments, Printed printed) {
  if (!arguments.shape.empty() || arguments.cores)
    throw UsageError("--shape and --cores are what configurations of kernels of the library are "
                     "chosen for: a kernel of a file has its tiles, and takes any shape");
  Kernel kernel = readKernelOf(arguments);
  return withCode({.name = kernel.name()}, arguments, printed, kernel, {});
}

/// The graph of a file: as it is, drawn, or as the one kernel that it becomes.
Compiled compileGraph(const CompileArguments &arguments, Printed printed) {
  refuseOptionsOfGraph(arguments, printed);
  TaskGraph graph = readGraphOf(arguments.kernel, arguments.function);
  Compiled compiled{.name = graph.name()};
  if (printed == Printed::task) {
    compiled.text = toText(graph);
  } else if (printed == Printed::dot) {
    DrawOptions options{.dims = parseGraphExtents(arguments.shape, {&graph, 1})};
    options.ranks = ranksOf(arguments);
    if (!arguments.shape.empty())
      requireGraphExtents(graph, options.dims);
    if (!arguments.shape.empty())
      options.cores = coresOf(arguments);
    compiled.text = toDot(graph, options);
  } else {
    const std::vector<Kernel> &types = task::requireTasks(graph.graph()).types;
    int64_t ranks = ranksOf(arguments);
    std::vector<task::Footprint> footprints(types.begin(), types.end());
    task::Shapes known = shapesOfLaunches(arguments.target, graph.graph(), ranks);
    task::Machine machine{std::max<int64_t>(1, traitsOf(arguments.target).sms), 0, ranks};
    task::FusedKernel fused(
        graph.graph(), footprints, known,
        selfSignalingFor(arguments.target, graph.graph(), footprints, known, machine));
    CompileRequest request = requestFor(fused.kernel(), arguments.target, {}, arguments.alignment);
    request.ranks = isForRanks(arguments) ? ranks : 0;
    request.emit = emitOf(printed);
    compiled.text = compileTo(fused.kernel(), request, &compiled.resources);
  }
  return compiled;
}

int compileKernel(const CompileArguments &arguments) {
  bool ofFile = isFile(arguments.kernel);
  bool isGraph =
      ofFile && meansGraph({readText(arguments.kernel), arguments.kernel}, arguments.function);
  Printed printed = parseEmit(arguments, isGraph);
  checkTarget(arguments);
  bool toFile = !arguments.output.empty() && arguments.output != "-";
  if (!toFile && (printed == Printed::object || arguments.json))
    throw UsageError(fmt::format("--emit {}{} needs -o FILE", arguments.emit,
                                 arguments.json ? " with --json" : ""));
  auto start = std::chrono::steady_clock::now();
  Compiled compiled = isGraph  ? compileGraph(arguments, printed)
                      : ofFile ? compileFile(arguments, printed)
                               : compileLibrary(arguments, printed);
  compiled.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!toFile) {
    printOutput(compiled.text);
    return kVerified;
  }
  writeFile(arguments.output, compiled.text);
  report(arguments, compiled);
  return kVerified;
}

} // namespace

Verb addCompile(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("compile", "print or keep what a kernel compiles to");
  auto arguments = std::make_shared<CompileArguments>();
  addKernelOptions(*verb, *arguments);
  verb->add_option("--target", arguments->target,
                   fmt::format("{}; the default is the first", describeTargets()));
  verb->get_option("KERNEL")->description(
      "a kernel of the library, or FILE.mlir with kernels or a graph of tasks");
  verb->add_option("--graph", arguments->function, "the graph of a file: as --function");
  verb->add_option("--emit", arguments->emit,
                   "ir (the default), llvm, asm or object; of a graph also task or dot");
  verb->add_option("-o,--output", arguments->output, "the file to write (stdout)");
  verb->add_option(
      "--shape", arguments->shape,
      "sizes that the default configuration is chosen for; of a graph, that dot is for");
  verb->add_option("--ranks", arguments->ranks,
                   "likewise (1); code of GPUs is for as many (of a kernel: any number)");
  verb->add_option("--cores", arguments->cores, "likewise (1)");
  verb->add_option("--mesh", arguments->mesh, "axes of the ranks: row=2,col=2 (one node)");
  verb->add_option(
          "--alignment", arguments->alignment,
          "for GPUs: as for arguments whose address, rows and halves of rows are multiples "
          "of so many bytes: 1, 2, 4, 8 or 16 (0: of any)")
      ->check(CLI::IsMember({0, 1, 2, 4, 8, 16}));
  verb->add_flag("--json", arguments->json, "one JSON object about the file on stdout");
  return {verb, [arguments] { return compileKernel(*arguments); }};
}

} // namespace ditron::tools
