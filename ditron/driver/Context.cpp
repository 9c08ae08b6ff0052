// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Context.h"
#include "ditron/driver/Arguments.h"
#include "ditron/driver/Compile.h"
#include "ditron/runtime/Launch.h"
#include "ditron/runtime/Rank.h"
#include "ditron/targets/cpu/CpuCode.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace ditron {

//===-- Program -------------------------------------------------------------------------------===//

struct Program::Impl {
  Impl(runtime::Rank &rank, Kernel kernel, Schedule schedule, CompileOptions options)
      : rank(rank), kernel(std::move(kernel)), schedule(schedule), options(options) {}

  runtime::Rank &rank;
  Kernel kernel;
  Schedule schedule;
  CompileOptions options;
  std::map<std::vector<bool>, LoadedKernel> variants;
  CompileReport lastReport;

  /// The variant for these arguments.
  const cpu::LoadedCode &codeFor(const std::vector<KernelArgument> &arguments) {
    checkArguments(kernel, arguments, rank.size());
    std::vector<bool> strides = unitStrides(arguments);
    auto variant = variants.find(strides);
    if (variant == variants.end())
      variant = variants.emplace(strides, loadKernel(kernel, schedule, strides, options)).first;
    lastReport = variant->second.report;
    return *variant->second.code;
  }
};

namespace {

/// The symmetric memory of one launch: what to ask for, and the words that describe it.
struct SymmetricArguments {
  std::vector<runtime::BufferRequest> requests;
  std::vector<size_t> addressWords; ///< the word of each request's address
  std::string key;
};

/// Runs the kernel's plan, and appends the words of its symmetric memory. Compiled code has no type
/// in front of it, where the sanitizer of calls through pointers looks for one.
[[clang::no_sanitize("function")]] SymmetricArguments
planSymmetric(const cpu::LoadedCode &code, runtime::Rank &rank, std::vector<int64_t> &words) {
  SymmetricArguments result;
  size_t extents = 0;
  for (const cpu::Request &request : code.requests())
    extents += static_cast<size_t>(request.rank);
  std::vector<int64_t> planned(extents);
  runtime::CoreContext place{};
  place.rank = rank.rank(), place.ranks = rank.size(), place.cores = rank.cores();
  if (extents)
    code.plan()(&place, words.data(), planned.data());
  size_t next = 0;
  for (const cpu::Request &request : code.requests()) {
    std::vector<int64_t> shape(planned.begin() + static_cast<ptrdiff_t>(next),
                               planned.begin() + static_cast<ptrdiff_t>(next) + request.rank);
    next += static_cast<size_t>(request.rank);
    int64_t elements = 1;
    for (int64_t extent : shape) {
      if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements))
        throw CompileError(
            fmt::format("symmetric '{}' has shape [{}]", request.name, fmt::join(shape, ", ")));
    }
    result.addressWords.push_back(words.size());
    words.push_back(0);
    words.insert(words.end(), shape.begin(), shape.end());
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;)
      strides[d - 1] = strides[d] * shape[d];
    words.insert(words.end(), strides.begin(), strides.end());
    auto count = static_cast<size_t>(elements);
    result.requests.push_back(
        request.isSignals ? runtime::BufferRequest::signals(request.name, count, shape)
                          : runtime::BufferRequest::buffer(
                                request.name, count * static_cast<size_t>(request.elementBytes)));
    result.key += fmt::format("|{}[{}]", request.name, fmt::join(shape, ","));
  }
  return result;
}

} // namespace

LaunchStats Program::launch(const std::vector<KernelArgument> &arguments) {
  Impl &impl = *impl_;
  const cpu::LoadedCode &code = impl.codeFor(arguments);
  std::vector<int64_t> words = toWords(impl.kernel, arguments);
  SymmetricArguments symmetric = planSymmetric(code, impl.rank, words);
  runtime::Workspace *workspace = nullptr;
  if (!symmetric.requests.empty())
    workspace =
        &impl.rank.workspace(impl.kernel.signature().text() + symmetric.key, symmetric.requests);
  runtime::KernelCode launched;
  launched.name = impl.kernel.name();
  launched.recorded = impl.options.recorded;
  launched.scratchBytes = static_cast<size_t>(code.scratchBytes());
  launched.symmetricArguments = symmetric.addressWords;
  launched.entry = reinterpret_cast<decltype(launched.entry)>(code.kernel());
  return runtime::launch(impl.rank, launched, words, workspace);
}

void Program::prepare(const std::vector<KernelArgument> &arguments) { impl_->codeFor(arguments); }
CompileReport Program::report() const { return impl_->lastReport; }
const Signature &Program::signature() const { return impl_->kernel.signature(); }

//===-- Context -------------------------------------------------------------------------------===//

struct Context::Impl {
  std::unique_ptr<runtime::Rank> owned;
  runtime::Rank *rank = nullptr;
};

Context Context::init(const Options &options) {
  auto owned = runtime::Rank::fromEnvironment(options);
  Context context(*owned);
  context.impl_->owned = std::move(owned);
  return context;
}

Context::Context(runtime::Rank &rank) : impl_(std::make_unique<Impl>()) { impl_->rank = &rank; }
Context::Context(Context &&) noexcept = default;
Context::~Context() = default;

int Context::rank() const { return impl_->rank->rank(); }
int Context::ranks() const { return impl_->rank->size(); }
int Context::cores() const { return impl_->rank->cores(); }
void Context::barrier() { impl_->rank->barrier(); }
void Context::assemble() { impl_->rank->assemble(); }
runtime::Rank &Context::runtimeRank() { return *impl_->rank; }

Program Context::compile(const Kernel &kernel, const Schedule &schedule,
                         const CompileOptions &options) {
  return Program(std::make_shared<Program::Impl>(*impl_->rank, kernel, schedule, options));
}

void runRanks(const Options &options, const std::function<void(Context &)> &body) {
  runtime::runRanks(options, [&](runtime::Rank &rank) {
    Context context(rank);
    body(context);
  });
}

} // namespace ditron
