// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Gpu.h"
#include "ditron/driver/Arguments.h"
#include "ditron/driver/Compile.h"
#include "ditron/driver/GpuRank.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace ditron {

using namespace runtime::nvidia;

/// What CompileRequest::alignment promises. Where all tensors are vectors, the last tile alone is
/// ragged: it is better to ask at each than to take the others in small accesses for it.
static int64_t alignment(const KernelArgument &argument, bool areVectors) {
  constexpr uint64_t kMost = 16;
  const auto *tensor = std::get_if<Tensor>(&argument);
  auto isNarrow = [](int64_t extent) { return extent <= INT32_MAX; };
  if (!tensor || tensor->shape().empty() || tensor->strides().back() != 1 ||
      !std::all_of(tensor->shape().begin(), tensor->shape().end(), isNarrow))
    return 0;
  uint64_t element = byteSize(tensor->dtype());
  uint64_t bits = reinterpret_cast<uint64_t>(tensor->data()) | kMost;
  if (bits % element)
    return 0;
  for (size_t dim = 0; dim + 1 < tensor->shape().size(); ++dim)
    bits |= static_cast<uint64_t>(tensor->strides()[dim]) * element;
  uint64_t halves = 2 * bits | static_cast<uint64_t>(tensor->shape().back()) * element;
  uint64_t result = std::max((halves & -halves) / 2, element);
  return areVectors && result < kMost && bits % kMost == 0 ? 0 : static_cast<int64_t>(result);
}

/// The request for launches with such arguments, whatever tensor maps they may have.
static CompileRequest requestOf(const std::string &target, const Schedule &schedule,
                                const std::vector<KernelArgument> &arguments) {
  CompileRequest request{
      .target = target, .schedule = schedule, .unitStride = unitStrides(arguments)};
  bool areVectors = std::none_of(arguments.begin(), arguments.end(), [](const auto &argument) {
    const auto *tensor = std::get_if<Tensor>(&argument);
    return tensor && tensor->shape().size() > 1;
  });
  for (const KernelArgument &argument : arguments)
    request.alignment.push_back(alignment(argument, areVectors));
  return request;
}

struct GpuProgram::Impl {
  struct Variant {
    std::shared_ptr<const BuiltKernel> code;
    std::unique_ptr<runtime::nvidia::LoadedKernel> loaded;

    std::shared_ptr<const abi::KernelInfo> info() const { return {code, &code->info}; }
  };
  /// What launches with the same arguments share: checked and encoded once.
  struct Binding {
    Variant *variant;
    std::shared_ptr<Workspace> workspace; ///< null: the kernel takes none
    int64_t dropped;                      ///< workspaces of the group, when this was made
    LaunchParameters parameters;
    int cores;
  };

  Impl(const Gpu &gpu, const Kernel &kernel, Schedule schedule)
      : gpu(gpu), kernel(kernel), schedule(schedule),
        rank(gpu, kernel.name(), kernel.signature().text()) {}

  /// The variant for these arguments: one that asks for tensor maps only where they can be had.
  Variant &variant(const std::vector<KernelArgument> &arguments) {
    CompileRequest which = requestOf(gpu.target(), schedule, arguments);
    std::vector<int64_t> words = toWords(kernel, arguments);
    for (auto [reads, stores] : {std::pair(true, true), {true, false}}) {
      which.tensorMaps = reads, which.tensorStores = stores;
      Variant &found = variant(which);
      auto isMapped = [&](const abi::TensorMap &map) {
        return TensorMap::whyNot(rank.mapped(found.code->info, map, words).view()).empty();
      };
      const std::vector<abi::TensorMap> &maps = found.code->info.tensorMaps;
      if (std::all_of(maps.begin(), maps.end(), isMapped))
        return found;
    }
    which.tensorMaps = false;
    return variant(which);
  }

  /// The variant whose code serves these as well: the alignment of what is read element by element
  /// makes no difference, such as that of a list whose length changes with every launch.
  CompileRequest essential(CompileRequest which) const {
    for (int64_t number : readSingly)
      if (auto argument = static_cast<size_t>(number);
          argument < which.alignment.size() && which.alignment[argument])
        which.alignment[argument] =
            static_cast<int64_t>(byteSize(kernel.parameters()[argument].dtype));
    return which;
  }

  Variant &variant(const CompileRequest &given) {
    CompileRequest which = essential(given);
    auto found = variants.find(which);
    if (found == variants.end()) {
      BuiltKernel code = buildKernel(kernel, which);
      auto start = std::chrono::steady_clock::now();
      auto loaded = std::make_unique<runtime::nvidia::LoadedKernel>(
          gpu.device(), code.code,
          runtime::nvidia::LoadedKernel::Launch{int(code.info.threads), int(code.info.sharedBytes),
                                                int(code.info.cluster), code.info.overlaps});
      std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      code.report.assemblySeconds = passed.count();
      code.report.seconds += passed.count();
      Variant variant{std::make_shared<const BuiltKernel>(std::move(code)), std::move(loaded)};
      readSingly.insert(variant.code->info.readSingly.begin(), variant.code->info.readSingly.end());
      found = variants.emplace(essential(which), std::move(variant)).first;
    }
    return found->second;
  }

  /// What a launch with these arguments takes, which the rank is told of: as it was for an earlier
  /// one with the same, else made.
  const Binding &bind(const std::vector<KernelArgument> &arguments) {
    identify(arguments, words);
    if (!lastBound || lastBound->first != words) {
      auto found = bindings.find(words);
      lastBound = found == bindings.end() ? nullptr : &*found;
    }
    bool isStale = lastBound && lastBound->second.dropped != gpu.group()->dropped();
    if (lastBound && !isStale) {
      const Binding &binding = lastBound->second;
      last = binding.variant;
      rank.choose(last->info(), binding.workspace);
      return binding;
    }
    lastBound = nullptr;
    if (isStale || bindings.size() >= kMostBindings)
      bindings.clear(); // a dropped workspace goes with the last one that has it
    lastBound = &*bindings.emplace(words, makeBinding(arguments)).first;
    return lastBound->second;
  }

  /// CompileError where the arguments do not fit.
  Binding makeBinding(const std::vector<KernelArgument> &arguments) {
    checkArguments(kernel, arguments, gpu.group()->ranks());
    int64_t dropped = gpu.group()->dropped();
    last = &variant(arguments);
    const abi::KernelInfo &info = last->code->info;
    std::vector<int64_t> all = toWords(kernel, arguments);
    int cores = coresOf(all);
    rank.prepare(last->info(), all);
    std::vector<int64_t> others = rank.words();
    std::vector<TensorMap> maps;
    for (const abi::TensorMap &map : info.tensorMaps)
      maps.emplace_back(gpu.device()->use(), rank.mapped(info, map, all).view(), map.box,
                        map.roundsToTf32);
    all.insert(all.end(), others.begin(), others.end());
    return {last, rank.workspace(), dropped, LaunchParameters(std::move(all), std::move(maps)),
            cores};
  }

  /// The cores of a launch of the last variant: as many as fit together, or one for each tile.
  int coresOf(std::span<const int64_t> words) const {
    const abi::KernelInfo &info = last->code->info;
    if (info.tiles.empty())
      return rank.cores(info, last->loaded->cores());
    int64_t most = info.cores({words, gpu.group()->ranks()});
    if (most > INT32_MAX)
      throw CompileError(fmt::format("{}: {} tiles of these extents, expected fewer than 2^31",
                                     kernel.signature().text(), most));
    return static_cast<int>(most);
  }

  /// Of the bits of arguments.
  struct Hash {
    size_t operator()(const std::vector<int64_t> &bits) const {
      return std::hash<std::string_view>()(
          {reinterpret_cast<const char *>(bits.data()), bits.size() * sizeof(int64_t)});
    }
  };
  static constexpr size_t kMostBindings = 1024; ///< of 1 to 2 KB each

  Gpu gpu;
  Kernel kernel;
  Schedule schedule;
  GpuRank rank;
  std::map<CompileRequest, Variant> variants; ///< by what is essential of them
  std::set<int64_t> readSingly;               ///< as their code says
  Variant *last = nullptr;
  std::unordered_map<std::vector<int64_t>, Binding, Hash> bindings;
  std::pair<const std::vector<int64_t>, Binding> *lastBound = nullptr; ///< of them, or none
  std::vector<int64_t> words; ///< of the arguments at hand: memory for them is kept
};

void GpuProgram::prepare(const std::vector<KernelArgument> &arguments) { impl_->bind(arguments); }

void GpuProgram::launch(const std::vector<KernelArgument> &arguments) {
  launch(arguments, impl_->gpu.stream());
}

void GpuProgram::launch(const std::vector<KernelArgument> &arguments, const Stream &stream) {
  const Impl::Binding &binding = impl_->bind(arguments);
  impl_->rank.launched(binding.cores);
  binding.variant->loaded->launch(binding.parameters, stream, binding.cores);
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
int GpuProgram::cores() const { return impl_->lastBound ? impl_->lastBound->second.cores : 0; }
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
