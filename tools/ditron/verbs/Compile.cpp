// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron compile: what a kernel becomes on its way to the machine.
#include "ditron/driver/Compile.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include "ditron/targets/Targets.h"
#include "tools/ditron/LaunchArguments.h"
#include "tools/ditron/report/Report.h"
#include "tools/ditron/verbs/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace ditron::tools {

namespace {

struct CompileArguments : KernelArguments {
  std::string target = "x86-64", emit = "ir", output, shape, ranks = "1", cores = "1", mesh;
  bool json = false;
  int64_t alignment = 0;
};

Emit parseEmit(const std::string &text) {
  for (auto [known, output] : {std::pair("ir", Emit::ir), std::pair("llvm", Emit::llvm),
                               std::pair("asm", Emit::assembly), std::pair("object", Emit::object)})
    if (text == known)
      return output;
  throw UsageError(fmt::format("unknown --emit '{}', expected one of ir, llvm, asm, object{}", text,
                               kernels::suggestion(text, {"ir", "llvm", "asm", "object"})));
}

void checkTarget(const std::string &text) {
  std::vector<std::string> known = compileTargets();
  if (std::find(known.begin(), known.end(), text) == known.end())
    throw UsageError(fmt::format("unknown target '{}', expected one of {}{}", text,
                                 fmt::join(known, ", "), kernels::suggestion(text, known)));
}

nlohmann::ordered_json jsonOf(const Resources &resources) {
  return {{"registers", resources.registers},
          {"scalar_registers", resources.scalarRegisters},
          {"accumulator_registers", resources.accumulatorRegisters},
          {"shared_bytes", resources.sharedBytes},
          {"spilled_bytes", resources.spilledBytes},
          {"stack_bytes", resources.stackBytes}};
}

/// What was written to a file.
void report(const CompileArguments &arguments, const Task &task, size_t bytes, double seconds,
            const Resources &resources) {
  if (arguments.json) {
    nlohmann::ordered_json line{{"kernel", task.entry.name},
                                {"target", arguments.target},
                                {"emit", arguments.emit},
                                {"dtype", name(task.problem.type)},
                                {"config", task.configText()},
                                {"file", arguments.output},
                                {"bytes", bytes},
                                {"seconds", seconds}};
    if (resources.registers)
      line["resources"] = jsonOf(resources);
    printJson(line);
  }
  std::string taken = resources.registers ? ": " + describe(resources) : "";
  printText(fmt::format("{}: {} of {} for {}, {} bytes, {}{}", arguments.output, arguments.emit,
                        task.entry.name, arguments.target, bytes, formatSeconds(seconds), taken),
            arguments.json);
}

int compileKernel(const CompileArguments &arguments) {
  Emit output = parseEmit(arguments.emit);
  checkTarget(arguments.target);
  bool toFile = !arguments.output.empty() && arguments.output != "-";
  if (!toFile && (output == Emit::object || arguments.json))
    throw UsageError(fmt::format("--emit {}{} needs -o FILE", arguments.emit,
                                 arguments.json ? " with --json" : ""));
  int64_t ranks = kernels::parseInteger("--ranks", arguments.ranks, 1, kMostRanks);
  runtime::MeshRequest asked = arguments.mesh.empty()
                                   ? runtime::MeshRequest()
                                   : runtime::MeshRequest::parse(arguments.mesh, "--mesh");
  runtime::MeshShape mesh = asked.of(static_cast<int>(ranks));
  int64_t cores = kernels::parseInteger("--cores", arguments.cores, 1, kMostCores);
  Task task = makeTask(arguments, arguments.shape, mesh, int(cores), arguments.target);
  auto start = std::chrono::steady_clock::now();
  CompileRequest request =
      requestFor(task.kernel, arguments.target, task.schedule(), arguments.alignment);
  request.emit = output;
  request.mesh = mesh.axes.text();
  Resources resources;
  std::string text = compileTo(task.kernel, request, &resources);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!toFile) {
    printOutput(text);
    return kVerified;
  }
  writeFile(arguments.output, text);
  report(arguments, task, text.size(), seconds, resources);
  return kVerified;
}

} // namespace

Verb addCompile(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("compile", "print or keep what a kernel compiles to");
  auto arguments = std::make_shared<CompileArguments>();
  addKernelOptions(*verb, *arguments);
  verb->add_option("--target", arguments->target,
                   fmt::format("{}; the default is the first", describeTargets()));
  verb->add_option("--emit", arguments->emit, "ir (the default), llvm, asm or object");
  verb->add_option("-o,--output", arguments->output, "the file to write (stdout)");
  verb->add_option("--shape", arguments->shape,
                   "sizes that the default configuration is chosen for");
  verb->add_option("--ranks", arguments->ranks, "likewise (1)");
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
