// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Compile.h"
#include "ditron/compiler/Cache.h"
#include "ditron/compiler/Compiler.h"
#include "ditron/lang/Trace.h"
#include "ditron/runtime/DeviceApi.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "ditron/support/Hash.h"
#include "ditron/targets/Targets.h"
#include "ditron/targets/cpu/CpuCode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <mutex>

namespace ditron {

/// One compilation for a CPU at a time, which then is there for every rank.
static std::mutex &compileMutex() {
  static std::mutex mutex;
  return mutex;
}

/// What a key depends on beside the kernel and its arguments.
struct KeyOptions {
  bool recorded = false;
  std::string target;
  bool tensorMaps = false, tensorStores = false;
  std::vector<int64_t> alignment = {};
};

static std::string bitsOf(const std::vector<bool> &values) {
  std::string text;
  for (bool value : values)
    text += value ? '1' : '0';
  return text;
}

static std::string keyOf(const Kernel &kernel, const Schedule &schedule,
                         const std::vector<bool> &unitStride, const KeyOptions &options) {
  std::string ir;
  llvm::raw_string_ostream stream(ir);
  kernel.traced().module.get()->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return Hasher()
      .add(ir)
      .add(fmt::format("warps {} stages {} resident {}", schedule.warps, schedule.stages,
                       schedule.resident))
      .add(bitsOf(unitStride))
      .add(options.recorded ? "recorded" : "")
      .add(options.target)
      .add(options.tensorMaps ? "tensor maps" : "")
      .add(options.tensorStores ? "tensor stores" : "")
      .add(fmt::format("{}", fmt::join(options.alignment, " ")))
      .add(compilerIdentity())
      .hex();
}

static std::vector<cpu::Symbol> runtimeSymbols() {
  std::vector<cpu::Symbol> symbols;
  for (const runtime::DeviceSymbol &symbol : runtime::deviceSymbols())
    symbols.push_back({symbol.name, symbol.address});
  return symbols;
}

/// A cached object that does not load is compiled anew.
static std::shared_ptr<const cpu::LoadedCode> loadCached(KernelCache &cache,
                                                         const std::string &key) {
  std::optional<std::string> object = cache.find(key);
  if (!object)
    return nullptr;
  try {
    return std::make_shared<cpu::LoadedCode>(*object, runtimeSymbols());
  } catch (const RuntimeError &error) {
    cache.reject(key, fmt::format("does not load ({})", error.what()));
    return nullptr;
  }
}

LoadedKernel loadKernel(const Kernel &kernel, const Schedule &schedule,
                        const std::vector<bool> &unitStride, const CompileOptions &options) {
  std::lock_guard lock(compileMutex());
  std::lock_guard own(kernel.traced().compiling);
  static std::map<std::string, LoadedKernel> loaded;
  auto start = std::chrono::steady_clock::now();
  std::string key = keyOf(kernel, schedule, unitStride, {options.recorded, ""});
  if (auto found = loaded.find(key); found != loaded.end())
    return found->second;
  LoadedKernel result;
  KernelCache cache = KernelCache::fromEnvironment();
  result.code = loadCached(cache, key);
  result.report.fromCache = result.code != nullptr;
  if (!result.code) {
    std::string object = compileForCpu(kernel.traced().module.get(),
                                       {unitStride, {}, options.recorded}, Emit::object);
    cache.store(key, object);
    result.code = std::make_shared<cpu::LoadedCode>(object, runtimeSymbols());
  }
  result.report.cacheProblem = cache.problem();
  result.report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return loaded.emplace(key, result).first->second;
}

/// What a kernel of several ranks needs.
static void readRanks(const llvm::json::Object &fields, GpuCode &code) {
  code.isDistributed = true;
  code.barriers = *fields.getInteger("barriers");
  for (const llvm::json::Value &value : *fields.getArray("symmetric")) {
    const llvm::json::Object &one = *value.getAsObject();
    GpuCode::Symmetric request{one.getString("name")->str(),
                               *one.getString("kind") == "signals",
                               *one.getInteger("bytes"),
                               {}};
    for (const llvm::json::Value &extent : *one.getArray("extents"))
      request.extents.push_back(extent.getAsString()->str());
    code.symmetric.push_back(std::move(request));
  }
  for (const llvm::json::Value &value : *fields.getArray("sites")) {
    const llvm::json::Object &one = *value.getAsObject();
    code.sites.push_back({one.getString("role")->str(), one.getString("file")->str(),
                          one.getString("what")->str(), *one.getInteger("line")});
  }
}

/// Reads the first line of a kernel's PTX.
static GpuCode describedCode(std::string ptx) {
  llvm::StringRef line = llvm::StringRef(ptx).split('\n').first;
  line.consume_front("// ditron ");
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(line);
  if (!parsed)
    throw InternalError("PTX that does not say how to launch it: " +
                        llvm::toString(parsed.takeError()));
  const llvm::json::Object &fields = *parsed->getAsObject();
  GpuCode code;
  code.threads = static_cast<int>(*fields.getInteger("threads"));
  code.sharedBytes = static_cast<int>(*fields.getInteger("shared_bytes"));
  code.cluster = static_cast<int>(fields.getInteger("cluster").value_or(1));
  code.overlaps = fields.getBoolean("overlaps").value_or(false);
  for (const llvm::json::Value &number : *fields.getArray("read_singly"))
    code.readSingly.push_back(static_cast<size_t>(*number.getAsInteger()));
  if (const llvm::json::Array *tiles = fields.getArray("tiles"))
    for (const llvm::json::Value &count : *tiles)
      code.tiles.push_back(count.getAsString()->str());
  for (const llvm::json::Value &value : *fields.getArray("requirements")) {
    const llvm::json::Object &one = *value.getAsObject();
    code.requirements.push_back(
        {one.getString("message")->str(), one.getString("file")->str(), *one.getInteger("line")});
  }
  for (const llvm::json::Value &value : *fields.getArray("tensor_maps")) {
    const llvm::json::Object &one = *value.getAsObject();
    GpuCode::TensorMap map{static_cast<size_t>(*one.getInteger("argument")), {}, false};
    for (const llvm::json::Value &extent : *one.getArray("box"))
      map.box.push_back(*extent.getAsInteger());
    map.roundsToTf32 = *one.getBoolean("tf32");
    code.tensorMaps.push_back(std::move(map));
  }
  if (const llvm::json::Object *ranks = fields.getObject("ranks"))
    readRanks(*ranks, code);
  code.ptx = std::move(ptx);
  return code;
}

static Specialization specializationOf(const GpuVariant &variant) {
  return {variant.unitStride, variant.alignment, false, variant.tensorMaps, variant.tensorStores};
}

GpuCode loadGpuCode(const Kernel &kernel, const Schedule &schedule, const GpuVariant &variant,
                    const std::string &chip) {
  std::lock_guard lock(kernel.traced().compiling);
  auto start = std::chrono::steady_clock::now();
  std::string key =
      keyOf(kernel, schedule, variant.unitStride,
            {false, chip, variant.tensorMaps, variant.tensorStores, variant.alignment});
  KernelCache cache = KernelCache::fromEnvironment();
  std::optional<std::string> ptx = cache.find(key);
  bool fromCache = ptx.has_value();
  if (!ptx) {
    ptx = compileForNvidia(kernel.traced().module.get(), specializationOf(variant),
                           {chip, schedule.warps, schedule.stages, schedule.resident},
                           Emit::assembly);
    cache.store(key, *ptx);
  }
  GpuCode code = describedCode(std::move(*ptx));
  code.report.fromCache = fromCache;
  code.report.cacheProblem = cache.problem();
  code.report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return code;
}

GpuResources gpuResources(const Kernel &kernel, const Schedule &schedule, const GpuVariant &variant,
                          const std::string &chip) {
  std::lock_guard lock(kernel.traced().compiling);
  NvidiaResources found =
      resourcesForNvidia(kernel.traced().module.get(), specializationOf(variant),
                         {chip, schedule.warps, schedule.stages, schedule.resident});
  return {found.threads, found.sharedBytes, found.resident, found.values};
}

static std::vector<std::string_view> gpuTargets() {
  std::vector<std::string_view> names;
  for (const Target *target : targets())
    if (target->gpu())
      names.push_back(target->name());
  return names;
}

static std::string requestedGpu(const std::string &name, const std::string &device) {
  const Target *target = findTarget(name);
  if (!target || !target->gpu())
    throw UsageError(
        fmt::format("DITRON_GPU is '{}', expected {}", name, fmt::join(gpuTargets(), ", ")));
  if (!target->runsOn(device))
    throw UsageError(fmt::format("DITRON_GPU is '{}', whose code does not run on this GPU, of "
                                 "compute capability {}",
                                 name, device));
  return name;
}

std::string gpuTarget(int major, int minor) {
  std::string device = fmt::format("{}.{}", major, minor);
  if (auto name = envString("DITRON_GPU"))
    return requestedGpu(*name, device);
  for (const Target *target : targets())
    if (target->gpu() && target->runsOn(device))
      return std::string(target->name());
  throw UnavailableError(
      fmt::format("the GPU has compute capability {}, expected 8.0 or newer", device));
}

TileTraits gpuTraits(std::string_view target) { return targetNamed(target).tileTraits(); }

std::string compileTo(const Kernel &kernel, const Schedule &schedule, std::string_view target,
                      CompileOutput output, int64_t alignment, Resources *resources) {
  std::lock_guard lock(kernel.traced().compiling);
  std::vector<bool> all(kernel.parameters().size(), true);
  Specialization specialization{all};
  for (const detail::Parameter &parameter : kernel.parameters()) {
    auto element = static_cast<int64_t>(byteSize(parameter.dtype));
    specialization.alignment.push_back(alignment ? std::max(alignment, element) : 0);
  }
  mlir::ModuleOp module = kernel.traced().module.get();
  auto emit = static_cast<Emit>(output);
  if (!targetNamed(target).gpu())
    return compileForCpu(module, specialization, emit);
  return compileForNvidia(module, specialization,
                          {std::string(target), schedule.warps, schedule.stages, schedule.resident},
                          emit, resources);
}

std::vector<std::string> compileTargets() {
  std::vector<std::string> names;
  for (const Target *target : targets())
    names.emplace_back(target->name());
  return names;
}

} // namespace ditron
