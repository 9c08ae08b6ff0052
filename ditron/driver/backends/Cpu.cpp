// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backend `cpu`: each rank is a group of CPU cores.
#include "ditron/abi/LaunchWords.h"
#include "ditron/driver/Compile.h"
#include "ditron/driver/TracedSource.h"
#include "ditron/driver/backends/Backends.h"
#include "ditron/runtime/Launch.h"
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/device/HostDevice.h"
#include "ditron/runtime/device/Specialize.h"
#include "ditron/support/Error.h"
#include "ditron/targets/cpu/CpuCode.h"
#include <map>
#include <mutex>

namespace ditron::backends {

using namespace runtime;

namespace {

constexpr const char *kName = "CPU", *kTarget = "x86-64";

class CpuDevice final : public HostDevice {
public:
  using HostDevice::HostDevice;
  std::string_view backend() const override { return "cpu"; }
  std::string name() const override { return kName; }
  std::string target() const override { return kTarget; }
  std::shared_ptr<Executable> load(std::shared_ptr<KernelSource> source) override;
};

/// The symmetric memory of one launch, and the words of its addresses.
struct SymmetricArguments {
  std::vector<abi::SymmetricArray> arrays;
  std::vector<size_t> addressWords;
};

/// Sizes the kernel's symmetric memory, and appends its words.
SymmetricArguments sizeSymmetric(const abi::KernelInfo &info, const Rank &rank,
                                 std::vector<int64_t> &words) {
  SymmetricArguments result{abi::symmetricAt(info, {words, rank.size()}), {}};
  for (const abi::SymmetricArray &array : result.arrays) {
    result.addressWords.push_back(words.size());
    abi::addView(words, 0, array.extents, abi::denseStrides(array.extents));
  }
  return result;
}

class CpuExecutable final : public HostExecutable {
public:
  CpuExecutable(CpuDevice &device, std::shared_ptr<KernelSource> source)
      : HostExecutable(device), source_(std::move(source)) {}

  void prepare(const std::vector<KernelArgument> &arguments) override { variantFor(arguments); }
  CompileReport report() const override {
    std::lock_guard guard(lock_);
    return last_;
  }
  int cores() const override { return device_->cores(); }
  void poison() override {} // Options::poison has the runtime do it before each use

protected:
  Launch bind(const std::vector<KernelArgument> &arguments,
              const std::shared_ptr<const LaunchTasks> &tasks) override {
    std::shared_ptr<const cpu::LoadedCode> code = variantFor(arguments);
    return [this, code, arguments, tasks, words = source_->words(arguments)]() mutable {
      return launchOn(device_->rank(), *code, words, tasks);
    };
  }

private:
  /// The code for these arguments.
  std::shared_ptr<const cpu::LoadedCode> variantFor(const std::vector<KernelArgument> &arguments) {
    source_->check(arguments, *device_, device_->ranks());
    std::vector<bool> strides = unitStrides(arguments);
    std::lock_guard guard(lock_);
    auto variant = variants_.find(strides);
    if (variant == variants_.end()) {
      CompileRequest request = source_->request(*device_);
      request.unitStride = strides;
      variant = variants_.emplace(strides, loadKernel(source().kernel(), request)).first;
    }
    last_ = variant->second.report;
    return variant->second.code;
  }

  const TracedSource &source() const { return dynamic_cast<const TracedSource &>(*source_); }

  LaunchStats launchOn(Rank &rank, const cpu::LoadedCode &code, std::vector<int64_t> words,
                       const std::shared_ptr<const LaunchTasks> &tasks) const {
    const abi::KernelInfo &info = code.info();
    SymmetricArguments symmetric = sizeSymmetric(info, rank, words);
    Workspace *workspace = nullptr;
    if (!symmetric.arrays.empty())
      workspace = &rank.workspace(abi::workspaceKey(source_->signature(), info, symmetric.arrays),
                                  symmetric.arrays, info.teamLine());
    KernelCode launched;
    launched.name = source_->name();
    launched.recorded = source_->request(*device_).recorded;
    launched.scratchBytes = static_cast<size_t>(info.scratchBytes);
    launched.symmetricArguments = symmetric.addressWords;
    launched.copyEngines = info.copyEngines;
    launched.tasks = tasks;
    launched.entry = reinterpret_cast<decltype(launched.entry)>(code.kernel());
    return runtime::launch(rank, launched, words, workspace);
  }

  std::shared_ptr<KernelSource> source_;
  mutable std::mutex lock_;
  std::map<std::vector<bool>, LoadedKernel> variants_;
  CompileReport last_;
};

std::shared_ptr<Executable> CpuDevice::load(std::shared_ptr<KernelSource> source) {
  return std::make_shared<CpuExecutable>(*this, std::move(source));
}

class CpuPlatform final : public Platform {
  std::shared_ptr<Device> device(Rank &rank) override { return std::make_shared<CpuDevice>(rank); }
};

class CpuBackend final : public runtime::Backend {
  BackendTraits traits() const override { return {.ranksMayBeProcesses = true}; }
  std::string target() const override { return kTarget; }
  std::string deviceName() const override { return kName; }
  Options hostOptions(const Options &options) const override { return options; }
  std::shared_ptr<Platform> open(const Options &) const override {
    return std::make_shared<CpuPlatform>();
  }
};

} // namespace

const runtime::Backend &cpu() {
  static const CpuBackend backend;
  return backend;
}

} // namespace ditron::backends
