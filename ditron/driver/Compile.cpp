// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Compile.h"
#include "ditron/compiler/Cache.h"
#include "ditron/compiler/Compiler.h"
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/driver/KernelFiles.h"
#include "ditron/lang/Trace.h"
#include "ditron/runtime/DeviceApi.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "ditron/support/Hash.h"
#include "ditron/targets/Targets.h"
#include "ditron/targets/cpu/CpuCode.h"
#include "llvm/Support/raw_ostream.h"
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

static std::string keyOf(const Kernel &kernel, const CompileRequest &request) {
  std::string ir;
  llvm::raw_string_ostream stream(ir);
  kernel.traced().module.get()->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return Hasher().add(ir).add(request.key()).add(compilerIdentity()).hex();
}

static std::vector<cpu::Symbol> runtimeSymbols() {
  std::vector<cpu::Symbol> symbols;
  for (const runtime::DeviceSymbol &symbol : runtime::deviceSymbols())
    symbols.push_back({symbol.name, symbol.address});
  return symbols;
}

/// What the cache has under a key, loaded; none where that is no good.
static std::optional<abi::CompiledKernel> loadCached(KernelCache &cache, const std::string &key,
                                                     const CodeLoader &load) {
  std::optional<std::string> entry = cache.find(key);
  if (!entry)
    return std::nullopt;
  try {
    abi::CompiledKernel compiled = abi::unpack(*entry);
    load(compiled);
    return compiled;
  } catch (const RuntimeError &error) {
    cache.reject(key, fmt::format("does not load ({})", error.what()));
    return std::nullopt;
  }
}

BuiltKernel buildKernel(const Kernel &kernel, const CompileRequest &request,
                        const CodeLoader &load) {
  std::lock_guard lock(kernel.traced().compiling);
  MemoryGuard guard(MemoryGuard::kToLoad);
  auto start = std::chrono::steady_clock::now();
  std::string key = keyOf(kernel, request);
  KernelFiles files(kernel.name(), key, request.target);
  std::optional<std::string> replacement = files.replacement();
  CodeLoader loadOwn = replacement ? [](const abi::CompiledKernel &) {} : load;
  KernelCache cache = KernelCache::fromEnvironment();
  std::optional<abi::CompiledKernel> compiled = loadCached(cache, key, loadOwn);
  CompileReport report{.fromCache = compiled.has_value()};
  if (!compiled) {
    compiled = compile(kernel.traced().module.get(), request);
    cache.store(key, abi::pack(*compiled));
    loadOwn(*compiled);
  }
  files.dump(compiled->code);
  if (replacement) {
    compiled->code = *replacement;
    load(*compiled);
  }
  report.cacheProblem = cache.problem();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {std::move(*compiled), report};
}

LoadedKernel loadKernel(const Kernel &kernel, const CompileRequest &request) {
  std::lock_guard lock(compileMutex());
  static std::map<std::string, LoadedKernel> loaded;
  std::string key = [&] {
    std::lock_guard own(kernel.traced().compiling);
    return keyOf(kernel, request);
  }();
  if (auto found = loaded.find(key); found != loaded.end())
    return found->second;
  LoadedKernel result;
  BuiltKernel built = buildKernel(kernel, request, [&](const abi::CompiledKernel &compiled) {
    result.code = std::make_shared<cpu::LoadedCode>(compiled, runtimeSymbols());
  });
  result.report = built.report;
  return loaded.emplace(key, result).first->second;
}

GpuResources gpuResources(const Kernel &kernel, const CompileRequest &request) {
  std::lock_guard lock(kernel.traced().compiling);
  return resourcesOf(kernel.traced().module.get(), request);
}

/// The targets for devices of an architecture, newest first.
static std::vector<const Target *> targetsOf(std::string_view architecture) {
  std::vector<const Target *> found;
  for (const Target *target : targets())
    if (target->isFor(architecture))
      found.push_back(target);
  return found;
}

static std::string namesOf(const std::vector<const Target *> &targets) {
  std::vector<std::string_view> names;
  for (const Target *target : targets)
    names.push_back(target->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

static std::string requestedGpu(const std::string &name, std::string_view architecture) {
  const Target *target = findTarget(name);
  if (!target || !target->isFor(architecture))
    throw UsageError(
        fmt::format("DITRON_GPU is '{}', expected {}", name, namesOf(targetsOf(architecture))));
  if (!target->runsOn(architecture))
    throw UsageError(fmt::format("DITRON_GPU is '{}', whose code does not run on this GPU, {}",
                                 name, architecture));
  return name;
}

std::string targetFor(std::string_view architecture) {
  std::vector<const Target *> known = targetsOf(architecture);
  if (known.empty()) // code for what executes it: this CPU, the interpreter
    return std::string(architecture);
  if (auto name = envString("DITRON_GPU"))
    return requestedGpu(*name, architecture);
  for (const Target *target : known)
    if (target->runsOn(architecture))
      return std::string(target->name());
  throw UnavailableError(
      fmt::format("the GPU is {}, which runs no code for {}", architecture, namesOf(known)));
}

DeviceTraits traitsOf(std::string_view target) {
  const Target *found = findTarget(target);
  return found ? found->deviceTraits() : DeviceTraits();
}

CompileRequest requestFor(const Kernel &kernel, std::string_view target, const Schedule &schedule,
                          int64_t alignment) {
  CompileRequest request{.target = std::string(target), .schedule = schedule};
  request.unitStride.assign(kernel.parameters().size(), true);
  for (const detail::Parameter &parameter : kernel.parameters()) {
    auto element = static_cast<int64_t>(byteSize(parameter.dtype));
    request.alignment.push_back(alignment ? std::max(alignment, element) : 0);
  }
  return request;
}

std::string compileTo(const Kernel &kernel, const CompileRequest &request, Resources *resources) {
  std::lock_guard lock(kernel.traced().compiling);
  return compile(kernel.traced().module.get(), request, resources).code;
}

} // namespace ditron
