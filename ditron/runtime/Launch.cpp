// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Launch.h"
#include "ditron/runtime/Account.h"
#include "ditron/runtime/DeviceApi.h"
#include "ditron/runtime/DrainStores.h"
#include "ditron/runtime/Recording.h"
#include "ditron/runtime/transport/Transport.h"
#include "ditron/support/Error.h"
#include <chrono>
#include <fmt/format.h>
#include <thread>

namespace ditron::runtime {

namespace {

/// The frame that a kernel's error jumps back to. The sanitizer of calls through pointers looks for
/// a type in front of the function, where compiled kernels have none.
[[clang::no_sanitize("function")]] void enterKernel(CoreContext &context, const KernelCode &code,
                                                    const int64_t *arguments) {
  context.words = arguments;
  if (setjmp(context.leave) == 0) {
    code.entry(&context, arguments);
    ditron_quiet(&context);
  } else {
    context.owner->reach().abandon({int(context.rank), int(context.core)});
  }
}

void prepare(CoreContext &context, Rank &rank, const KernelCode &code, Workspace *workspace) {
  context.rank = rank.rank();
  context.ranks = rank.size();
  context.localRanks = rank.mesh().local;
  context.cores = rank.cores();
  context.putsTo = CoreContext::kNowhere;
  context.scratchBytes = int64_t(code.scratchBytes);
  context.owner = &rank;
  context.workspace = workspace;
  context.kernel = code.name.c_str();
  context.recording = code.recorded;
  context.epoch = workspace ? workspace->epoch() : 0;
  context.cells = workspace ? workspace->cells() : nullptr;
  context.cellCount = workspace ? workspace->cellCount() : 0;
  context.pageOfStamps = workspace ? workspace->stampDistance() : 0;
}

void bindArguments(const KernelCode &code, std::span<int64_t> arguments, Workspace *workspace) {
  for (size_t request = 0; request < code.symmetricArguments.size(); ++request)
    arguments[code.symmetricArguments[request]] =
        reinterpret_cast<int64_t>(workspace->address(request));
}

void checkArguments(const KernelCode &code, std::span<int64_t> arguments, Workspace *workspace) {
  if (!code.entry)
    throw InternalError(fmt::format("kernel '{}' has no entry", code.name));
  if (!code.symmetricArguments.empty() &&
      (!workspace || workspace->arrays().size() < code.symmetricArguments.size()))
    throw CompileError(fmt::format("kernel '{}' uses {} symmetric buffers, but its workspace has "
                                   "{}",
                                   code.name, code.symmetricArguments.size(),
                                   workspace ? workspace->arrays().size() : 0));
  for (size_t argument : code.symmetricArguments)
    if (argument >= arguments.size())
      throw CompileError(fmt::format("kernel '{}' takes argument {}, but {} are given", code.name,
                                     argument, arguments.size()));
}

/// Whether the cores' CPU time is to be taken, which costs most of a microsecond each: where cores
/// share CPUs, and of recorded launches where that is little, as far as the last launch can tell.
bool takesCpuTime(const Rank &rank, const KernelCode &code) {
  constexpr double kLong = 200e-6;
  return rank.crowded() || (code.recorded && rank.lastSeconds() > kLong);
}

/// Runs the kernel on all cores; what one of them throws becomes the error of the run.
LaunchStats runCores(Rank &rank, const KernelCode &code, std::span<int64_t> arguments,
                     Workspace *workspace) {
  int instances = rank.cores() + (code.copyEngines ? 1 : 0);
  std::vector<CoreStats> stats(static_cast<size_t>(instances));
  bool cpuTime = takesCpuTime(rank, code);
  auto start = std::chrono::steady_clock::now();
  auto runCore = [&](int core) {
    CoreContext context{};
    prepare(context, rank, code, workspace);
    context.core = core;
    context.record = &rank.watch().core(core);
    context.record->place.store(0, std::memory_order_relaxed);
    context.record->set(CoreRecord::computing);
    context.log = &rank.log(core);
    context.log->start(cpuTime);
    try {
      context.scratch = rank.team().scratch(core, code.scratchBytes);
      enterKernel(context, code, arguments.data());
    } catch (const std::exception &error) {
      rank.control().raise(fmt::format("rank {}, core {} of kernel '{}': {}", rank.rank(), core,
                                       code.name, error.what()));
    }
    context.log->finish();
    context.stats.presentNs = context.log->end() - context.log->begin();
    context.stats.cpuNs = context.log->cpuNs();
    context.record->set(CoreRecord::done);
    stats[size_t(core)] = context.stats;
  };
  {
    LaunchScope watched(rank.watchedLaunch(), code.name);
    rank.team().launch(runCore, code.copyEngines);
  }
  LaunchStats result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const CoreStats &core : stats)
    result.cores += core;
  std::vector<CoreSpan> spans;
  for (int core = 0; core < instances; ++core)
    spans.emplace_back(rank.log(core));
  result.transfers = accountTransfers(spans);
  return result;
}

} // namespace

LaunchStats launch(Rank &rank, const KernelCode &code, std::span<int64_t> arguments,
                   Workspace *workspace) {
  checkArguments(code, arguments, workspace);
  rank.enter();
  if (const Straggler &straggler = rank.options().straggler; straggler.rank == rank.rank())
    std::this_thread::sleep_for(straggler.delay);
  rank.watch().begin(code.name, code.tasks);
  if (workspace) {
    workspace->begin();
    bindArguments(code, arguments, workspace);
  }
  LaunchStats stats = runCores(rank, code, arguments, workspace);
  if (rank.control().stopped())
    rank.throwError();
  if (workspace)
    workspace->end();
  rank.watch().end();
  rank.note(stats);
  if (LaunchObserver *observer = rank.observer(); observer && code.recorded)
    observer->launched(rank, code, workspace, stats);
  return stats;
}

} // namespace ditron::runtime
