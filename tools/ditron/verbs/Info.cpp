// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron info: what this machine has, and what of it ditron uses.
#include "ditron/compiler/Cache.h"
#include "ditron/driver/Compile.h"
#include "ditron/driver/Context.h"
#include "ditron/driver/backends/Backends.h"
#include "ditron/interop/Cuda.h"
#include "ditron/runtime/Bootstrap.h"
#include "ditron/support/Error.h"
#include "tools/baselines/OpenBlas.h"
#include "tools/ditron/measure/Measure.h"
#include "tools/ditron/report/Calibrations.h"
#include "tools/ditron/report/Machine.h"
#include "tools/ditron/report/Report.h"
#include "tools/ditron/verbs/Verbs.h"
#include "llvm/Config/llvm-config.h"
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace ditron::tools {

namespace {

using Json = nlohmann::ordered_json;

struct CacheFolder {
  std::string path; ///< empty: turned off
  size_t bytes = 0, entries = 0;
};

CacheFolder cacheFolder() {
  CacheFolder result{KernelCache::fromEnvironment().folder().path().string()};
  std::error_code error;
  for (std::filesystem::directory_iterator entry(result.path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone; // another process may take it away
    size_t bytes = entry->file_size(gone);
    if (gone)
      continue;
    result.bytes += bytes;
    ++result.entries;
  }
  return result;
}

Json cachesJson(const Machine &machine) {
  Json caches = Json::array();
  for (const Cache &cache : machine.caches)
    caches.push_back({{"level", cache.level},
                      {"type", cache.type},
                      {"bytes", cache.bytes},
                      {"shared_by", cache.sharedBy}});
  return caches;
}

Json launcherJson() {
  auto membership = runtime::membershipFromEnvironment();
  if (!membership)
    return nullptr;
  return {{"name", membership->launcher}, {"rank", membership->rank}, {"size", membership->size}};
}

/// The GPUs, or why there are none.
Json gpusJson(const std::string &whyNot) {
  if (!whyNot.empty())
    return {{"available", false}, {"reason", whyNot}};
  Json devices = Json::array();
  for (const cuda::DeviceInfo &device : cuda::devices())
    devices.push_back(
        {{"name", device.name},
         {"capability", fmt::format("{}.{}", device.capability.first, device.capability.second)},
         {"sms", device.sms},
         {"memory_bytes", device.memoryBytes}});
  return {{"available", true}, {"cuda", cuda::driverVersion()}, {"devices", devices}};
}

std::string nvidiaText(const Json &nvidia) {
  if (!nvidia["available"].get<bool>())
    return nvidia["reason"].get<std::string>();
  std::string text;
  for (const Json &device : nvidia["devices"])
    text +=
        fmt::format("{}{}, capability {}, {} SMs, {}", text.empty() ? "" : "; ",
                    device["name"].get<std::string>(), device["capability"].get<std::string>(),
                    device["sms"].get<int>(), formatBytes(device["memory_bytes"].get<double>()));
  int version = nvidia["cuda"].get<int>();
  return text + fmt::format(" (driver for CUDA {}.{})", version / 1000, version % 1000 / 10);
}

Json inspect() {
  Machine machine = Machine::inspect();
  CacheFolder folder = cacheFolder();
  auto blas = baselines::OpenBlas::load();
  Json backends = Json::array(), nvidia;
  for (const BackendState &backend : availableBackends()) {
    if (backend.whyNot.empty())
      backends.push_back(backend.name);
    if (backend.name == "nvidia")
      nvidia = gpusJson(backend.whyNot);
  }
  return {
      {"cpu", machine.cpu},
      {"cpus", machine.cpus},
      {"usable_cpus", machine.usable},
      {"numa_nodes", machine.nodes},
      {"features", machine.features},
      {"memory_bytes", machine.memory},
      {"available_bytes", machine.availableMemory},
      {"caches", cachesJson(machine)},
      {"backends", backends},
      {"targets", compileTargets()},
      {"nvidia", nvidia},
      {"transports", {"threads", "processes"}},
      {"launcher", launcherJson()},
      {"openblas", blas ? Json(blas->version()) : Json()},
      {"cache", {{"folder", folder.path}, {"bytes", folder.bytes}, {"entries", folder.entries}}},
      {"versions", {{"ditron", DITRON_VERSION}, {"llvm", LLVM_VERSION_STRING}}}};
}

std::string joined(const Json &list) {
  return fmt::format("{}", fmt::join(list.get<std::vector<std::string>>(), " "));
}

std::string textOf(const Json &info) {
  std::string text;
  auto line = [&](const char *name, const std::string &value) {
    text += fmt::format("{:<11} {}\n", name, value);
  };
  line("ditron", fmt::format("{}, LLVM {}", info["versions"]["ditron"].get<std::string>(),
                             info["versions"]["llvm"].get<std::string>()));
  line("cpu", fmt::format("{}, {} CPUs ({} usable), {} NUMA node{}", info["cpu"].get<std::string>(),
                          info["cpus"].get<int>(), info["usable_cpus"].get<int>(),
                          info["numa_nodes"].get<int>(), info["numa_nodes"] == 1 ? "" : "s"));
  line("features", joined(info["features"]));
  line("memory", fmt::format("{}, {} available", formatBytes(info["memory_bytes"].get<double>()),
                             formatBytes(info["available_bytes"].get<double>())));
  for (const Json &cache : info["caches"])
    line("cache",
         fmt::format("L{} {}, {}, shared by {}", cache["level"].get<int>(),
                     cache["type"].get<std::string>(), formatBytes(cache["bytes"].get<double>()),
                     cache["shared_by"].get<int>()));
  line("backends", joined(info["backends"]));
  line("targets", joined(info["targets"]));
  line("transports", joined(info["transports"]));
  line("nvidia", nvidiaText(info["nvidia"]));
  const Json &launcher = info["launcher"];
  line("launcher", launcher.is_null()
                       ? "none: this process is the only one"
                       : fmt::format("{}, rank {} of {}", launcher["name"].get<std::string>(),
                                     launcher["rank"].get<int>(), launcher["size"].get<int>()));
  line("openblas", info["openblas"].is_null() ? "not found" : info["openblas"].get<std::string>());
  const Json &cache = info["cache"];
  std::string folder = cache["folder"].get<std::string>();
  line("kernels", folder.empty() ? "not kept on disk (DITRON_CACHE=0)"
                                 : fmt::format("{} in {}, {}", cache["entries"].get<size_t>(),
                                               folder, formatBytes(cache["bytes"].get<double>())));
  text.pop_back();
  return text;
}

struct InfoArguments {
  bool json = false, measures = false;
  std::string backend, ranks;
};

/// What --measure measures where nobody says: the GPUs of this machine, or two ranks on its CPUs.
Placement placementOf(const InfoArguments &arguments) {
  LaunchArguments launch;
  launch.backend = arguments.backend;
  launch.ranks = arguments.ranks;
  if (launch.backend.empty())
    launch.backend = backends::find("nvidia").whyNot().empty() ? "nvidia" : "cpu";
  if (launch.ranks.empty())
    launch.ranks = launch.backend == "nvidia" ? std::to_string(cuda::devices().size()) : "2";
  launch.transport = "threads";
  Placement placement = parsePlacement(launch);
  if (!placement.traits.timesMatter)
    throw UsageError(fmt::format("--measure: backend '{}' says what a kernel means, not how fast "
                                 "it is: expected backend 'cpu' or 'nvidia'",
                                 placement.backend));
  return placement;
}

std::string withUnit(double value, const std::string &unit) {
  if (unit == "s")
    return value < 1e-6 ? fmt::format("{:.3g} ns", value * 1e9) : formatSeconds(value);
  return unit == "op/s" ? fmt::format("{:.4g} TFLOP/s", value * 1e-12)
                        : fmt::format("{:.4g} GB/s", value * 1e-9);
}

void printMeasurement(const Measurement &found, const Placement &placement, const std::string &path,
                      bool asJson) {
  Json numbers = Json::object();
  std::string text = fmt::format("{}: {}\n", found.device, placement.describe());
  for (const heuristics::Calibration::Field &field : heuristics::Calibration::fields()) {
    bool isMeasured = found.measured.count(field.name) != 0;
    double value = found.numbers.*field.value;
    numbers[field.name] = {{"value", value}, {"unit", field.unit}, {"measured", isMeasured}};
    text += fmt::format("{:<21} {:<16} {}{}\n", field.name, withUnit(value, field.unit),
                        field.meaning, isMeasured ? "" : " (not measured)");
  }
  for (const std::string &note : found.notes)
    text += note + "\n";
  if (asJson)
    printJson({{"device", found.device},
               {"backend", placement.backend},
               {"ranks", placement.ranks},
               {"numbers", numbers},
               {"notes", found.notes},
               {"path", path}});
  printText(text + "kept in " + path, asJson);
}

int info(const InfoArguments &arguments) {
  if (!arguments.measures) {
    if (!arguments.backend.empty() || !arguments.ranks.empty())
      throw UsageError("--backend and --ranks say what --measure measures: expected --measure too");
    Json found = inspect();
    if (arguments.json)
      printJson(found);
    else
      printText(textOf(found), false);
    return kVerified;
  }
  Placement placement = placementOf(arguments);
  Measurement found = measure(placement);
  printMeasurement(found, placement, keepCalibration(found.device, found.numbers), arguments.json);
  return kVerified;
}

} // namespace

Verb addInfo(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("info", "this machine, and what ditron finds on it");
  auto arguments = std::make_shared<InfoArguments>();
  verb->add_flag("--json", arguments->json, "one JSON object on stdout");
  verb->add_flag("--measure", arguments->measures,
                 "measure links, signals and products, and keep the numbers for bench --explain");
  verb->add_option("--backend", arguments->backend,
                   "whose (nvidia where there are GPUs, else cpu)");
  verb->add_option("--ranks", arguments->ranks, "between which (the GPUs, or 2)");
  return {verb, [arguments] { return info(*arguments); }};
}

} // namespace ditron::tools
