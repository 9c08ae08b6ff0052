// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Compile.h"
#include "ditron/compiler/Cache.h"
#include "ditron/compiler/Compiler.h"
#include "ditron/lang/Trace.h"
#include "ditron/runtime/DeviceApi.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "ditron/support/Hash.h"
#include "ditron/targets/cpu/CpuCode.h"
#include "ditron/targets/nvidia/Chip.h"
#include "llvm/ADT/STLExtras.h"
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
  auto start = std::chrono::steady_clock::now();
  std::string key = keyOf(kernel, request);
  KernelCache cache = KernelCache::fromEnvironment();
  std::optional<abi::CompiledKernel> compiled = loadCached(cache, key, load);
  CompileReport report{.fromCache = compiled.has_value()};
  if (!compiled) {
    compiled = compile(kernel.traced().module.get(), request);
    cache.store(key, abi::pack(*compiled));
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

static std::string requestedGpu(const std::string &name, int major, int minor) {
  auto names = llvm::map_range(nvidia::chips(), [](const nvidia::Chip &chip) { return chip.name; });
  const nvidia::Chip *chip = nvidia::findChip(name);
  if (!chip)
    throw UsageError(fmt::format("DITRON_GPU is '{}', expected {}", name, fmt::join(names, ", ")));
  if (!chip->runsOn(major, minor))
    throw UsageError(fmt::format("DITRON_GPU is '{}', whose code does not run on this GPU, of "
                                 "compute capability {}.{}",
                                 name, major, minor));
  return name;
}

static std::string gpuTarget(int major, int minor) {
  if (auto name = envString("DITRON_GPU"))
    return requestedGpu(*name, major, minor);
  if (const nvidia::Chip *chip = nvidia::chipFor(major, minor))
    return std::string(chip->name);
  throw UnavailableError(
      fmt::format("the GPU has compute capability {}.{}, expected 8.0 or newer", major, minor));
}

std::string targetFor(std::string_view architecture) {
  if (!architecture.starts_with("sm_"))
    return std::string(architecture);
  int number = std::stoi(std::string(architecture.substr(3)));
  return gpuTarget(number / 10, number % 10);
}

DeviceTraits traitsOf(std::string_view target) {
  const nvidia::Chip *chip = nvidia::findChip(target);
  if (!chip)
    return {};
  constexpr int64_t kReserved = 1024; // shared bytes of a CTA beside what a kernel asks for
  return {.sms = chip->multiprocessors,
          .hasWarpgroups = chip->hasWarpgroups,
          .accumulator = chip->accumulator,
          .registersPerSm = chip->coreRegisters,
          .sharedBytesPerSm = chip->sharedBytes + kReserved,
          .registersPerThread = chip->registers,
          .reservedBytesPerCta = kReserved};
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

std::string compileTo(const Kernel &kernel, const CompileRequest &request) {
  std::lock_guard lock(kernel.traced().compiling);
  return compile(kernel.traced().module.get(), request).code;
}

} // namespace ditron
