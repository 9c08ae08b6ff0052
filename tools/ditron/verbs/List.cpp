// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron list: the kernels of the library.
#include "tools/ditron/LaunchArguments.h"
#include "tools/ditron/report/Report.h"
#include "tools/ditron/verbs/Verbs.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace ditron::tools {

namespace {

using Json = nlohmann::ordered_json;
using kernels::ConfigParameter;
using kernels::KernelEntry;

/// What `ditron run` takes where nothing else is said.
Task defaultTask(const KernelEntry &entry) {
  KernelArguments arguments;
  arguments.kernel = entry.name;
  return makeTask(arguments, "", {}, 1);
}

std::vector<std::string_view> dtypeNames(const KernelEntry &entry) {
  std::vector<std::string_view> names;
  for (DType type : entry.dtypes)
    names.push_back(name(type));
  return names;
}

Json parameterJson(const ConfigParameter &parameter, int64_t value) {
  Json json{{"name", parameter.name}, {"summary", parameter.summary}};
  if (parameter.names.empty()) {
    json["default"] = value;
    json["candidates"] = parameter.candidates;
  } else {
    json["default"] = parameter.names.at(size_t(value));
    json["candidates"] = parameter.names;
  }
  return json;
}

Json jsonOf(const KernelEntry &entry) {
  Task task = defaultTask(entry);
  Json config = Json::array();
  for (const ConfigParameter &parameter : entry.parameters)
    config.push_back(parameterJson(parameter, task.config[parameter.name]));
  return {{"name", entry.name},
          {"summary", entry.summary},
          {"signature", task.kernel.signature().text()},
          {"distributed", entry.isDistributed},
          {"dtypes", dtypeNames(entry)},
          {"dims", shapeJson(entry.shape)},
          {"config", config},
          {"variants", entry.variants}};
}

std::string parameterText(const ConfigParameter &parameter, int64_t value) {
  if (!parameter.names.empty())
    return fmt::format("{} ({})", parameter.names.at(size_t(value)),
                       fmt::join(parameter.names, ", "));
  return fmt::format("{}", value);
}

/// Everything about one kernel.
std::string textOf(const KernelEntry &entry) {
  Task task = defaultTask(entry);
  std::string text = fmt::format("{}: {}\n", entry.name, entry.summary);
  text += fmt::format("  signature  {}\n", task.kernel.signature().text());
  text += fmt::format("  dtypes     {}\n", fmt::join(dtypeNames(entry), ", "));
  text += fmt::format("  shape      {}\n", formatShape(entry.shape));
  for (const ConfigParameter &parameter : entry.parameters)
    text += fmt::format("  {:<10} {}: {}\n", parameter.name, parameter.summary,
                        parameterText(parameter, task.config[parameter.name]));
  text.pop_back();
  return text;
}

std::string table() {
  size_t nameWidth = 0, dtypeWidth = 0, shapeWidth = 0;
  auto dtypes = [](const KernelEntry &entry) {
    return fmt::format("{}", fmt::join(dtypeNames(entry), " "));
  };
  for (const KernelEntry &entry : kernels::registry()) {
    nameWidth = std::max(nameWidth, entry.name.size());
    dtypeWidth = std::max(dtypeWidth, dtypes(entry).size());
    shapeWidth = std::max(shapeWidth, formatShape(entry.shape).size());
  }
  std::string text;
  for (const KernelEntry &entry : kernels::registry())
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", entry.name, nameWidth, dtypes(entry),
                        dtypeWidth, formatShape(entry.shape), shapeWidth, entry.summary);
  text.pop_back();
  return text;
}

int listKernels(const std::string &kernel, bool json) {
  if (!kernel.empty()) {
    const KernelEntry &entry = kernels::findKernel(kernel);
    if (json)
      printJson(jsonOf(entry));
    else
      printText(textOf(entry), false);
    return kVerified;
  }
  if (!json)
    printText(table(), false);
  else
    for (const KernelEntry &entry : kernels::registry())
      printJson(jsonOf(entry));
  return kVerified;
}

} // namespace

Verb addList(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("list", "the kernels of the library");
  struct ListArguments {
    std::string kernel;
    bool json = false;
  };
  auto arguments = std::make_shared<ListArguments>();
  verb->add_option("KERNEL", arguments->kernel, "everything about this one");
  verb->add_flag("--json", arguments->json, "one JSON object a kernel on stdout");
  return {verb, [arguments] { return listKernels(arguments->kernel, arguments->json); }};
}

} // namespace ditron::tools
