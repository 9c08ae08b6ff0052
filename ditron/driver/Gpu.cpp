// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Gpu.h"
#include "ditron/driver/Arguments.h"
#include "ditron/driver/Compile.h"
#include "ditron/driver/GpuRank.h"
#include <algorithm>
#include <map>

namespace ditron {

using namespace runtime::nvidia;

/// Whether its address and other strides are multiples of 16 bytes, its last extent is one of 16,
/// and its extents are below 2^31: what Specialization::aligned promises.
static bool isAligned(const KernelArgument &argument) {
  constexpr int64_t kBytes = 16, kExtent = 16;
  const auto *tensor = std::get_if<Tensor>(&argument);
  if (!tensor || tensor->shape().empty() || tensor->strides().back() != 1)
    return false;
  int64_t element = static_cast<int64_t>(byteSize(tensor->dtype()));
  bool result = reinterpret_cast<uint64_t>(tensor->data()) % kBytes == 0 &&
                tensor->shape().back() % kExtent == 0;
  for (size_t dim = 0; dim < tensor->shape().size(); ++dim) {
    bool isLast = dim + 1 == tensor->shape().size();
    result &= tensor->shape()[dim] <= INT32_MAX;
    result &= isLast || tensor->strides()[dim] * element % kBytes == 0;
  }
  return result;
}

static std::vector<bool> alignment(const std::vector<KernelArgument> &arguments) {
  std::vector<bool> result;
  for (const KernelArgument &argument : arguments)
    result.push_back(isAligned(argument));
  return result;
}

struct GpuProgram::Impl {
  struct Variant {
    std::shared_ptr<const GpuCode> code;
    std::unique_ptr<runtime::nvidia::LoadedKernel> loaded;
  };

  Impl(const Gpu &gpu, const Kernel &kernel, Schedule schedule)
      : gpu(gpu), kernel(kernel), schedule(schedule),
        rank(gpu, kernel.name(), kernel.signature().text()) {}

  /// The variant for these arguments: one that asks for tensor maps only where they can be had.
  Variant &variant(const std::vector<KernelArgument> &arguments) {
    GpuVariant which{unitStrides(arguments)};
    which.aligned = alignment(arguments);
    for (auto [reads, stores] : {std::pair(true, true), {true, false}}) {
      which.tensorMaps = reads, which.tensorStores = stores;
      Variant &found = variant(which);
      auto isMapped = [&](const GpuCode::TensorMap &map) {
        return TensorMap::whyNot(rank.mapped(*found.code, map, arguments).view()).empty();
      };
      const std::vector<GpuCode::TensorMap> &maps = found.code->tensorMaps;
      if (std::all_of(maps.begin(), maps.end(), isMapped))
        return found;
    }
    which.tensorMaps = false;
    return variant(which);
  }

  Variant &variant(const GpuVariant &which) {
    auto found = variants.find(which);
    if (found == variants.end()) {
      auto code =
          std::make_shared<const GpuCode>(loadGpuCode(kernel, schedule, which, gpu.target()));
      auto loaded = std::make_unique<runtime::nvidia::LoadedKernel>(
          gpu.device(), code->ptx,
          runtime::nvidia::LoadedKernel::Launch{code->threads, code->sharedBytes, code->cluster,
                                                code->overlaps});
      found = variants.emplace(which, Variant{std::move(code), std::move(loaded)}).first;
    }
    return found->second;
  }

  Gpu gpu;
  Kernel kernel;
  Schedule schedule;
  GpuRank rank;
  std::map<GpuVariant, Variant> variants;
  Variant *last = nullptr;
};

void GpuProgram::prepare(const std::vector<KernelArgument> &arguments) {
  Impl &impl = *impl_;
  checkArguments(impl.kernel, arguments, impl.gpu.group()->ranks());
  impl.last = &impl.variant(arguments);
  impl.rank.prepare(impl.last->code, arguments);
}

void GpuProgram::launch(const std::vector<KernelArgument> &arguments) {
  launch(arguments, impl_->gpu.stream());
}

void GpuProgram::launch(const std::vector<KernelArgument> &arguments, const Stream &stream) {
  Impl &impl = *impl_;
  prepare(arguments);
  const GpuCode &code = *impl.last->code;
  std::vector<int64_t> words = toWords(impl.kernel, arguments), others = impl.rank.words();
  words.insert(words.end(), others.begin(), others.end());
  std::vector<runtime::nvidia::TensorMap> maps;
  for (const GpuCode::TensorMap &map : code.tensorMaps)
    maps.emplace_back(impl.gpu.device()->use(), impl.rank.mapped(code, map, arguments).view(),
                      map.box, map.roundsToTf32);
  int cores = impl.rank.cores(code, impl.last->loaded->cores());
  impl.rank.launched(cores);
  impl.last->loaded->launch(std::move(words), std::move(maps), stream, cores);
}

void GpuProgram::wait() { wait(impl_->gpu.stream()); }

void GpuProgram::wait(const Stream &stream) {
  stream.wait();
  if (impl_->last)
    impl_->rank.raiseFailure();
}

CompileReport GpuProgram::report() const {
  return impl_->last ? impl_->last->code->report : CompileReport();
}
int GpuProgram::cores() const {
  const Impl::Variant *last = impl_->last;
  return last ? impl_->rank.cores(*last->code, last->loaded->cores()) : 0;
}
void GpuProgram::poison() { impl_->rank.poison(); }

Gpu Gpu::of(std::shared_ptr<RankGroup> group, int rank) {
  Gpu gpu;
  gpu.device_ = group->device(rank);
  gpu.target_ = gpuTarget(gpu.device_->major(), gpu.device_->minor());
  gpu.stream_ = std::make_shared<Stream>(gpu.device_);
  gpu.group_ = std::move(group);
  gpu.rank_ = rank;
  return gpu;
}

Gpu Gpu::open(int ordinal) { return of(RankGroup::of(Device::open(ordinal)), 0); }

GpuProgram Gpu::compile(const Kernel &kernel, const Schedule &schedule) const {
  return GpuProgram(std::make_shared<GpuProgram::Impl>(*this, kernel, schedule));
}

GpuMesh GpuMesh::open(int ranks) {
  GpuMesh mesh;
  mesh.group_ = RankGroup::open(ranks);
  return mesh;
}

Gpu GpuMesh::rank(int rank) const { return Gpu::of(group_, rank); }

} // namespace ditron
