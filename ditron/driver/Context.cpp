// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Context.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/driver/Arguments.h"
#include "ditron/driver/Compile.h"
#include "ditron/runtime/Launch.h"
#include "ditron/runtime/Rank.h"
#include "ditron/targets/cpu/CpuCode.h"
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
    if (variant == variants.end()) {
      CompileRequest request{
          .schedule = schedule, .unitStride = strides, .recorded = options.recorded};
      variant = variants.emplace(strides, loadKernel(kernel, request)).first;
    }
    lastReport = variant->second.report;
    return *variant->second.code;
  }
};

namespace {

/// The symmetric memory of one launch, and the words of its addresses.
struct SymmetricArguments {
  std::vector<abi::SymmetricArray> arrays;
  std::vector<size_t> addressWords;
};

/// Sizes the kernel's symmetric memory, and appends its words.
SymmetricArguments sizeSymmetric(const abi::KernelInfo &info, const runtime::Rank &rank,
                                 std::vector<int64_t> &words) {
  SymmetricArguments result{abi::symmetricAt(info, {words, rank.size()}), {}};
  for (const abi::SymmetricArray &array : result.arrays) {
    result.addressWords.push_back(words.size());
    abi::addView(words, 0, array.extents, abi::denseStrides(array.extents));
  }
  return result;
}

} // namespace

LaunchStats Program::launch(const std::vector<KernelArgument> &arguments) {
  Impl &impl = *impl_;
  const cpu::LoadedCode &code = impl.codeFor(arguments);
  std::vector<int64_t> words = toWords(impl.kernel, arguments);
  SymmetricArguments symmetric = sizeSymmetric(code.info(), impl.rank, words);
  runtime::Workspace *workspace = nullptr;
  if (!symmetric.arrays.empty())
    workspace = &impl.rank.workspace(
        abi::workspaceKey(impl.kernel.signature().text(), symmetric.arrays), symmetric.arrays);
  runtime::KernelCode launched;
  launched.name = impl.kernel.name();
  launched.recorded = impl.options.recorded;
  launched.scratchBytes = static_cast<size_t>(code.info().scratchBytes);
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
