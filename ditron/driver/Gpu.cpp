// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Gpu.h"
#include "ditron/driver/Arguments.h"
#include "ditron/driver/Compile.h"
#include "ditron/driver/GpuReport.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace ditron {

using namespace runtime::nvidia;

/// Memory that a tensor map is to describe.
struct MappedMemory {
  uint64_t address;
  int64_t elementBytes;
  std::vector<int64_t> extents, strides;

  StridedMemory view() const { return {address, elementBytes, extents, strides}; }
};

/// A tensor's memory.
static MappedMemory memoryOf(const KernelArgument &argument) {
  const Tensor &tensor = std::get<Tensor>(argument);
  return {reinterpret_cast<uint64_t>(tensor.data()), static_cast<int64_t>(byteSize(tensor.dtype())),
          tensor.shape(), tensor.strides()};
}

/// Whether its address, rows and other strides are multiples of 16 bytes, its extents below 2^31.
static bool isAligned(const KernelArgument &argument) {
  constexpr int64_t kBytes = 16;
  const auto *tensor = std::get_if<Tensor>(&argument);
  if (!tensor || tensor->shape().empty() || tensor->strides().back() != 1)
    return false;
  int64_t element = static_cast<int64_t>(byteSize(tensor->dtype()));
  bool result = reinterpret_cast<uint64_t>(tensor->data()) % kBytes == 0 &&
                tensor->shape().back() * element % kBytes == 0;
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

/// The strides of a row-major buffer.
static std::vector<int64_t> denseStrides(const std::vector<int64_t> &extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t dim = extents.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * extents[dim];
  return strides;
}

struct GpuProgram::Impl {
  struct Variant {
    GpuCode code;
    std::unique_ptr<runtime::nvidia::LoadedKernel> loaded;
  };

  Impl(Gpu gpu, Kernel kernel, Schedule schedule)
      : gpu(std::move(gpu)), kernel(std::move(kernel)), schedule(schedule) {}

  /// The variant for these arguments: one that asks for tensor maps only where they can be had.
  Variant &variant(const std::vector<KernelArgument> &arguments) {
    GpuVariant which{unitStrides(arguments)};
    which.aligned = alignment(arguments);
    for (auto [reads, stores] : {std::pair(true, true), {true, false}}) {
      which.tensorMaps = reads, which.tensorStores = stores;
      Variant &found = variant(which);
      auto isMapped = [&](const GpuCode::TensorMap &map) {
        return TensorMap::whyNot(mapped(found.code, map, arguments).view()).empty();
      };
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
      auto loaded = std::make_unique<runtime::nvidia::LoadedKernel>(
          gpu.device(), code.ptx,
          runtime::nvidia::LoadedKernel::Launch{code.threads, code.sharedBytes, code.cluster});
      found = variants.emplace(which, Variant{std::move(code), std::move(loaded)}).first;
    }
    return found->second;
  }

  /// The memory that a tensor map is to describe: an argument's, or, with its pages, that of a
  /// symmetric buffer; which has an address once the workspace is there.
  MappedMemory mapped(const GpuCode &code, const GpuCode::TensorMap &map,
                      const std::vector<KernelArgument> &arguments) {
    if (map.argument < arguments.size())
      return memoryOf(arguments[map.argument]);
    size_t number = map.argument - arguments.size();
    WorkspaceLayout layout = layoutOf(code, arguments);
    const SymmetricRequest &request = layout.requests()[number];
    uint64_t base = workspace ? workspace->memory().address(gpu.rank()) : 0;
    MappedMemory memory{base + uint64_t(layout.offset(number)), request.elementBytes,
                        request.extents, denseStrides(request.extents)};
    memory.extents.insert(memory.extents.begin(), gpu::kBufferPages);
    memory.strides.insert(memory.strides.begin(), layout.bufferPage() / request.elementBytes);
    return memory;
  }

  WorkspaceLayout layoutOf(const GpuCode &code,
                           const std::vector<KernelArgument> &arguments) const {
    std::vector<SymmetricRequest> requests;
    for (const GpuCode::Symmetric &one : code.symmetric) {
      SymmetricRequest request{one.name, one.isSignals, one.elementBytes, {}};
      for (const std::string &extent : one.extents)
        request.extents.push_back(evaluateExtent(extent, arguments, gpu.group()->ranks()));
      requests.push_back(std::move(request));
    }
    return {std::move(requests), code.barriers};
  }

  /// The workspace of a launch with these arguments.
  void findWorkspace(const GpuCode &code, const std::vector<KernelArgument> &arguments) {
    WorkspaceLayout layout = layoutOf(code, arguments);
    std::string key = kernel.signature().text();
    for (const SymmetricRequest &request : layout.requests()) {
      key += fmt::format("|{}:{}", request.name, request.elementBytes);
      for (int64_t extent : request.extents)
        key += fmt::format(",{}", extent);
    }
    workspace = gpu.group()->workspace(key, layout);
  }

  /// The words behind those of the arguments.
  void addWords(const GpuCode &code, std::vector<int64_t> &words) {
    if (!code.isDistributed)
      return words.push_back(static_cast<int64_t>(status->address()));
    int rank = gpu.rank();
    const WorkspaceLayout &layout = workspace->layout();
    auto base = static_cast<int64_t>(workspace->memory().address(rank));
    for (size_t n = 0; n < layout.requests().size(); ++n) {
      const std::vector<int64_t> &extents = layout.requests()[n].extents;
      std::vector<int64_t> strides = denseStrides(extents);
      words.push_back(base + layout.offset(n));
      words.insert(words.end(), extents.begin(), extents.end());
      words.insert(words.end(), strides.begin(), strides.end());
    }
    int64_t launch[gpu::kLaunchWords];
    launch[gpu::kStatus] = static_cast<int64_t>(status->address());
    launch[gpu::kRank] = rank;
    launch[gpu::kRanks] = gpu.group()->ranks();
    launch[gpu::kStride] = workspace->memory().stride();
    launch[gpu::kHead] = base;
    launch[gpu::kSignalPage] = layout.signalPage();
    launch[gpu::kBufferPage] = layout.bufferPage();
    launch[gpu::kCells] = layout.cells();
    launch[gpu::kBound] = gpu.group()->bound().count();
    words.insert(words.end(), std::begin(launch), std::end(launch));
  }

  /// How many cores a launch has.
  int coresOf(const Variant &which) const {
    int fitting = which.loaded->cores();
    return which.code.isDistributed ? gpu.group()->cores(gpu.rank(), fitting) : fitting;
  }

  /// Throws the error of launches that have ended.
  void raiseFailure() {
    if (workspace && workspace->hasFailed(gpu.rank())) {
      std::shared_ptr<Workspace> failed = std::exchange(workspace, nullptr);
      gpu.group()->drop(failed);
      std::string error = failed->error(
          [&] { return reportFailure(*failed, kernel.signature().text(), gpu.group()->bound()); });
      status->fill(0);
      throw RuntimeError(error);
    }
    if (workspace || last->code.requirements.empty())
      return;
    std::vector<int64_t> words(status->bytes() / sizeof(int64_t));
    status->download(words.data());
    auto failed = failedRequirement(last->code, kernel.signature().text(),
                                    std::span(words).first(gpu::Status::kRecords));
    if (!failed)
      return;
    status->fill(0);
    throw CompileError(*failed);
  }

  Gpu gpu;
  Kernel kernel;
  Schedule schedule;
  std::optional<Memory> status;
  std::map<GpuVariant, Variant> variants;
  Variant *last = nullptr;
  std::shared_ptr<Workspace> workspace; ///< of the last launch
};

void GpuProgram::prepare(const std::vector<KernelArgument> &arguments) {
  Impl &impl = *impl_;
  checkArguments(impl.kernel, arguments, impl.gpu.group()->ranks());
  impl.last = &impl.variant(arguments);
  const GpuCode &code = impl.last->code;
  if (code.isDistributed)
    impl.findWorkspace(code, arguments);
  if (!impl.status) {
    int64_t words = code.isDistributed ? gpu::Status::kWords : gpu::Status::kRecords;
    impl.status.emplace(impl.gpu.device(), size_t(words) * sizeof(int64_t));
    impl.status->fill(0);
  }
}

void GpuProgram::launch(const std::vector<KernelArgument> &arguments) {
  launch(arguments, impl_->gpu.stream());
}

void GpuProgram::launch(const std::vector<KernelArgument> &arguments, const Stream &stream) {
  Impl &impl = *impl_;
  prepare(arguments);
  const GpuCode &code = impl.last->code;
  std::vector<int64_t> words = toWords(impl.kernel, arguments);
  impl.addWords(code, words);
  std::vector<runtime::nvidia::TensorMap> maps;
  for (const GpuCode::TensorMap &map : code.tensorMaps)
    maps.emplace_back(impl.gpu.device()->use(), impl.mapped(code, map, arguments).view(), map.box,
                      map.roundsToTf32);
  int cores = impl.coresOf(*impl.last);
  if (impl.workspace)
    impl.workspace->launched(impl.gpu.rank(),
                             {impl.kernel.name(), impl.status->address(), cores, &code});
  impl.last->loaded->launch(std::move(words), std::move(maps), stream, cores);
}

void GpuProgram::wait() { wait(impl_->gpu.stream()); }

void GpuProgram::wait(const Stream &stream) {
  stream.wait();
  if (impl_->last)
    impl_->raiseFailure();
}

CompileReport GpuProgram::report() const {
  return impl_->last ? impl_->last->code.report : CompileReport();
}
int GpuProgram::cores() const { return impl_->last ? impl_->coresOf(*impl_->last) : 0; }
void GpuProgram::poison() {
  if (impl_->workspace)
    impl_->workspace->poison(impl_->gpu.rank());
}

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
