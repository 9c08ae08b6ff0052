// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Gpu.h"
#include "ditron/driver/Arguments.h"
#include "ditron/driver/Compile.h"
#include "ditron/support/Error.h"
#include "ditron/support/Message.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace ditron {

using namespace runtime::nvidia;

/// Words of a launch's status: whether a requirement failed, which one, its values.
static constexpr size_t kStatusWords = 32;

/// A tensor's memory.
static StridedMemory memoryOf(const KernelArgument &argument) {
  const Tensor &tensor = std::get<Tensor>(argument);
  return {reinterpret_cast<uint64_t>(tensor.data()), static_cast<int64_t>(byteSize(tensor.dtype())),
          tensor.shape(), tensor.strides()};
}

struct GpuProgram::Impl {
  struct Variant {
    GpuCode code;
    std::unique_ptr<runtime::nvidia::LoadedKernel> loaded;
  };

  Impl(Gpu gpu, Kernel kernel, Schedule schedule)
      : gpu(std::move(gpu)), kernel(std::move(kernel)), schedule(schedule),
        status(this->gpu.device(), kStatusWords * sizeof(int64_t)) {
    status.fill(0);
  }

  /// The variant for these arguments: one that asks for tensor maps only where they can be had.
  Variant &variant(const std::vector<KernelArgument> &arguments) {
    GpuVariant which{unitStrides(arguments)};
    auto isMapped = [&](const GpuCode::TensorMap &map) {
      return runtime::nvidia::TensorMap::whyNot(memoryOf(arguments[map.argument])).empty();
    };
    for (auto [reads, stores] : {std::pair(true, true), {true, false}}) {
      which.tensorMaps = reads, which.tensorStores = stores;
      Variant &found = variant(which);
      if (std::all_of(found.code.tensorMaps.begin(), found.code.tensorMaps.end(), isMapped))
        return found;
    }
    which.tensorMaps = false;
    return variant(which);
  }

  Variant &variant(const GpuVariant &which) {
    auto found = variants.find(which);
    if (found == variants.end()) {
      GpuCode code = loadGpuCode(kernel, schedule, which, gpu.target());
      auto loaded = std::make_unique<runtime::nvidia::LoadedKernel>(gpu.device(), code.ptx,
                                                                    code.threads, code.sharedBytes);
      found = variants.emplace(which, Variant{std::move(code), std::move(loaded)}).first;
    }
    return found->second;
  }

  Gpu gpu;
  Kernel kernel;
  Schedule schedule;
  Memory status;
  std::map<GpuVariant, Variant> variants;
  Variant *last = nullptr;
};

void GpuProgram::prepare(const std::vector<KernelArgument> &arguments) {
  checkArguments(impl_->kernel, arguments, 1);
  impl_->last = &impl_->variant(arguments);
}

void GpuProgram::launch(const std::vector<KernelArgument> &arguments) {
  launch(arguments, impl_->gpu.stream());
}

void GpuProgram::launch(const std::vector<KernelArgument> &arguments, const Stream &stream) {
  Impl &impl = *impl_;
  prepare(arguments);
  std::vector<int64_t> words = toWords(impl.kernel, arguments);
  words.push_back(static_cast<int64_t>(impl.status.address()));
  std::vector<runtime::nvidia::TensorMap> maps;
  for (const GpuCode::TensorMap &map : impl.last->code.tensorMaps)
    maps.emplace_back(impl.gpu.device()->use(), memoryOf(arguments[map.argument]), map.box,
                      map.roundsToTf32);
  impl.last->loaded->launch(std::move(words), std::move(maps), stream);
}

void GpuProgram::wait() { wait(impl_->gpu.stream()); }

void GpuProgram::wait(const Stream &stream) {
  Impl &impl = *impl_;
  stream.wait();
  if (!impl.last || impl.last->code.requirements.empty())
    return;
  int64_t words[kStatusWords];
  impl.status.download(words);
  if (words[0] == 0)
    return;
  impl.status.fill(0);
  const GpuCode::Requirement &failed =
      impl.last->code.requirements.at(static_cast<size_t>(words[1]));
  std::string message =
      fillIn(failed.message, std::vector<int64_t>(words + 2, words + kStatusWords));
  throw CompileError(fmt::format("{}:{}: {}: {}", failed.file, failed.line,
                                 impl.kernel.signature().text(), message));
}

CompileReport GpuProgram::report() const {
  return impl_->last ? impl_->last->code.report : CompileReport();
}
int GpuProgram::cores() const { return impl_->last ? impl_->last->loaded->cores() : 0; }

Gpu Gpu::open(int ordinal) {
  Gpu gpu;
  gpu.device_ = Device::open(ordinal);
  gpu.target_ = gpuTarget(gpu.device_->major(), gpu.device_->minor());
  gpu.stream_ = std::make_shared<Stream>(gpu.device_);
  return gpu;
}

GpuProgram Gpu::compile(const Kernel &kernel, const Schedule &schedule) const {
  return GpuProgram(std::make_shared<GpuProgram::Impl>(*this, kernel, schedule));
}

} // namespace ditron
