// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/GpuRank.h"
#include "ditron/driver/GpuReport.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron {

using namespace runtime::nvidia;

/// A tensor's memory.
static MappedMemory memoryOf(const KernelArgument &argument) {
  const Tensor &tensor = std::get<Tensor>(argument);
  return {reinterpret_cast<uint64_t>(tensor.data()), static_cast<int64_t>(byteSize(tensor.dtype())),
          tensor.shape(), tensor.strides()};
}

/// The strides of a row-major buffer.
static std::vector<int64_t> denseStrides(const std::vector<int64_t> &extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t dim = extents.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * extents[dim];
  return strides;
}

/// What a workspace is known by: the same on every rank.
static std::string keyOf(const std::string &signature, const WorkspaceLayout &layout) {
  std::string key = signature;
  for (const SymmetricRequest &request : layout.requests()) {
    key += fmt::format("|{}:{}", request.name, request.elementBytes);
    for (int64_t extent : request.extents)
      key += fmt::format(",{}", extent);
  }
  return key;
}

WorkspaceLayout GpuRank::layoutOf(const GpuCode &code,
                                  const std::vector<KernelArgument> &arguments) const {
  std::vector<SymmetricRequest> requests;
  for (const GpuCode::Symmetric &one : code.symmetric) {
    SymmetricRequest request{one.name, one.isSignals, one.elementBytes, {}};
    for (const std::string &extent : one.extents)
      request.extents.push_back(evaluateExtent(extent, arguments, group_->ranks()));
    requests.push_back(std::move(request));
  }
  return {std::move(requests), code.barriers};
}

void GpuRank::prepare(const std::shared_ptr<const GpuCode> &code,
                      const std::vector<KernelArgument> &arguments) {
  code_ = code;
  workspace_ = nullptr;
  if (code->isDistributed) {
    WorkspaceLayout layout = layoutOf(*code, arguments);
    workspace_ = group_->workspace(keyOf(signature_, layout), layout);
  }
  if (status_)
    return;
  int64_t words = code->isDistributed ? gpu::Status::kWords : gpu::Status::kRecords;
  status_ = std::make_shared<Memory>(device_, size_t(words) * sizeof(int64_t));
  status_->fill(0);
}

MappedMemory GpuRank::mapped(const GpuCode &code, const GpuCode::TensorMap &map,
                             const std::vector<KernelArgument> &arguments) const {
  if (map.argument < arguments.size())
    return memoryOf(arguments[map.argument]);
  size_t number = map.argument - arguments.size();
  WorkspaceLayout layout = layoutOf(code, arguments);
  const SymmetricRequest &request = layout.requests()[number];
  uint64_t base = workspace_ ? workspace_->memory().address(rank_) : 0;
  MappedMemory memory{base + uint64_t(layout.offset(number)), request.elementBytes, request.extents,
                      denseStrides(request.extents)};
  memory.extents.insert(memory.extents.begin(), gpu::kBufferPages);
  memory.strides.insert(memory.strides.begin(), layout.bufferPage() / request.elementBytes);
  return memory;
}

std::vector<int64_t> GpuRank::words() const {
  std::vector<int64_t> words;
  if (!workspace_)
    return {static_cast<int64_t>(status_->address())};
  const WorkspaceLayout &layout = workspace_->layout();
  auto base = static_cast<int64_t>(workspace_->memory().address(rank_));
  for (size_t n = 0; n < layout.requests().size(); ++n) {
    const std::vector<int64_t> &extents = layout.requests()[n].extents;
    std::vector<int64_t> strides = denseStrides(extents);
    words.push_back(base + layout.offset(n));
    words.insert(words.end(), extents.begin(), extents.end());
    words.insert(words.end(), strides.begin(), strides.end());
  }
  int64_t launch[gpu::kLaunchWords];
  launch[gpu::kStatus] = static_cast<int64_t>(status_->address());
  launch[gpu::kRank] = rank_;
  launch[gpu::kRanks] = group_->ranks();
  launch[gpu::kStride] = workspace_->memory().stride();
  launch[gpu::kHead] = base;
  launch[gpu::kSignalPage] = layout.signalPage();
  launch[gpu::kBufferPage] = layout.bufferPage();
  launch[gpu::kCells] = layout.cells();
  launch[gpu::kBound] = group_->bound().count();
  words.insert(words.end(), std::begin(launch), std::end(launch));
  return words;
}

void GpuRank::launched(int cores) {
  if (!workspace_)
    return;
  workspace_->launched(rank_, {kernel_, status_, cores, code_});
  if (std::find(underWay_.begin(), underWay_.end(), workspace_) == underWay_.end())
    underWay_.push_back(workspace_);
}

void GpuRank::raiseFailure() {
  for (const std::shared_ptr<Workspace> &one : std::exchange(underWay_, {})) {
    if (!one->hasFailed(rank_))
      continue;
    group_->drop(one);
    workspace_ = nullptr;
    std::string error =
        one->error([&] { return reportFailure(*one, signature_, group_->bound()); });
    status_->fill(0);
    throw RuntimeError(error);
  }
  if (!code_ || code_->isDistributed || code_->requirements.empty())
    return;
  std::vector<int64_t> words(status_->bytes() / sizeof(int64_t));
  status_->download(words.data());
  if (auto failed = failedRequirement(*code_, signature_, std::span(words))) {
    status_->fill(0);
    throw CompileError(*failed);
  }
}

void GpuRank::poison() const {
  if (workspace_)
    workspace_->poison(rank_);
}

} // namespace ditron
