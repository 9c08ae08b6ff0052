// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Context.h"
#include "ditron/driver/GraphRecording.h"
#include "ditron/driver/ProgramImpl.h"
#include "ditron/driver/backends/Backends.h"
#include "ditron/runtime/Rank.h"
#include "ditron/support/Error.h"
#include "ditron/support/StartThread.h"
#include <cstdio>
#include <exception>
#include <fmt/format.h>

namespace ditron {

struct Context::Impl {
  std::unique_ptr<runtime::Rank> owned;
  runtime::Rank *rank = nullptr;
  std::shared_ptr<runtime::Platform> platform;
  std::shared_ptr<runtime::Device> device;
  int exceptions = std::uncaught_exceptions(); ///< that were passing when it was made
  OwnProcess process;
};

/// What can be used, opened.
static std::shared_ptr<runtime::Platform> openPlatform(const Options &options) {
  const runtime::Backend &backend = backends::find(options.backend);
  if (std::string problem = backend.whyNot(); !problem.empty())
    throw UnavailableError(fmt::format("backend '{}': {}", options.backend, problem));
  return backend.open(options);
}

static Options hostOptions(const Options &options) {
  return backends::find(options.backend).hostOptions(options);
}

Context Context::init(const Options &options) {
  std::shared_ptr<runtime::Platform> platform = openPlatform(options);
  auto owned = runtime::Rank::fromEnvironment(hostOptions(options));
  if (options.ranks != 1 && options.ranks != owned->size())
    throw UsageError(fmt::format(
        "Context::init: ranks is {}, expected {}: this process is one rank. runRanks starts "
        "several as threads, ditron run --procs, torchrun or mpirun as processes",
        options.ranks, owned->size()));
  Context context(*owned, platform);
  context.impl_->owned = std::move(owned);
  return context;
}

Context::Context(runtime::Rank &rank, const std::shared_ptr<runtime::Platform> &platform)
    : impl_(std::make_unique<Impl>()) {
  impl_->rank = &rank;
  impl_->platform = platform;
  impl_->device = platform->device(rank);
}

Context::Context(Context &&) noexcept = default;

Context::~Context() {
  if (!impl_)
    return;
  if (impl_->process.isForked()) { // its threads are not here, nor is the rank that would leave
    static_cast<void>(impl_.release());
    return;
  }
  try {
    sync();
  } catch (const std::exception &error) {
    if (std::uncaught_exceptions() == impl_->exceptions)
      std::fprintf(stderr, "ditron: error that nobody has waited for: %s\n", error.what());
  }
  impl_->device->close();
}

int Context::rank() const { return impl_->rank->rank(); }
int Context::ranks() const { return impl_->rank->size(); }
int Context::cores() const { return impl_->device->cores(); }
std::string Context::backend() const { return std::string(impl_->device->backend()); }
std::string Context::deviceName() const { return impl_->device->name(); }
size_t Context::availableBytes() const { return impl_->device->availableBytes(); }

Tensor Context::tensor(DType type, std::vector<int64_t> shape) const {
  return Tensor::own(impl_->device, type, std::move(shape));
}
Tensor Context::tensorFrom(const Tensor &source) const {
  Tensor result = tensor(source.dtype(), source.shape());
  result.copyFrom(source);
  return result;
}

Program Context::compile(const Kernel &kernel, const Schedule &schedule,
                         const CompileOptions &options) const {
  auto source = std::make_shared<TracedSource>(kernel, schedule, options);
  auto executable = impl_->device->load(source);
  return Program(std::make_shared<Program::Impl>(
      Program::Impl{impl_->device, std::move(source), std::move(executable)}));
}

TaskProgram Context::compile(const TaskGraph &graph, const TaskOptions &options) const {
  return {*this, graph, options};
}

/// The device's own stream, as a handle that keeps the device.
Stream Context::stream() const { return Stream({impl_->device, &impl_->device->stream()}); }
Stream Context::makeStream() const { return {impl_->device, impl_->device->makeStream()}; }

Graph Context::record(const std::function<void(const Stream &)> &body) const {
  if (!body)
    throw UsageError("Context::record: the body is an empty std::function");
  GraphRecording recording(*impl_->device);
  return {impl_->device,
          impl_->device->record([&](const std::shared_ptr<runtime::DeviceStream> &stream) {
            body(Stream(impl_->device, stream));
          })};
}

void Context::sync() const { impl_->device->sync(); }
void Context::barrier() const {
  impl_->device->inOrder([&] { impl_->rank->barrier(); });
}
void Context::assemble() const {
  impl_->device->inOrder([&] { impl_->rank->assemble(); });
}
runtime::Rank &Context::runtimeRank() const { return *impl_->rank; }
const std::shared_ptr<runtime::Device> &Context::device() const { return impl_->device; }

void runRanks(const Options &options, const std::function<void(Context &)> &body) {
  if (!body)
    throw UsageError("runRanks: the body is an empty std::function");
  std::shared_ptr<runtime::Platform> platform = openPlatform(options);
  runtime::runRanks(hostOptions(options), [&](runtime::Rank &rank) {
    Context context(rank, platform);
    body(context);
    context.sync();
  });
}

std::vector<BackendState> availableBackends() {
  std::vector<BackendState> result;
  for (const backends::Entry &entry : backends::all())
    result.push_back({std::string(entry.name), entry.backend().whyNot()});
  return result;
}

} // namespace ditron
