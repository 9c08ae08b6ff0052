// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RankMemory.h"
#include "ditron/support/DType.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <gtest/gtest.h>

namespace ditron::emulator {

using abi::WorkspaceLayout;
using kernels::Inputs;

kernels::Config configOf(const LibraryRun &run) {
  const kernels::KernelEntry &entry = kernels::findKernel(run.kernel);
  kernels::Config config = entry.defaults(run.problem);
  config.parse(run.config, entry.parameters);
  return config;
}

RankMemory::RankMemory(const LibraryRun &run, const kernels::Config &config, const Kernel &kernel,
                       abi::KernelInfo info)
    : run_(run), entry_(kernels::findKernel(run.kernel)), config_(config), kernel_(kernel),
      info_(std::move(info)) {
  for (int launch = 0; launch < run.launches; ++launch)
    inputs_.emplace_back(entry_, kernel_, run.problem, uint64_t(7 + launch));
  for (int rank = 0; rank < ranks(); ++rank)
    addRank(rank);
  status_.resize(size_t(ranks()), std::vector<int64_t>(size_t(abi::Status::kWords)));
  layout_.emplace(abi::symmetricAt(info_, {argumentWords(0, 0), ranks()}),
                  abi::WorkspaceOptions{.ranks = ranks(), .barriers = info_.barriers});
  makeWorkspaces();
}

void RankMemory::makeWorkspaces() {
  constexpr int kGarbage = 0xff;
  stride_ = (layout_->bytes() + 4095) / 4096 * 4096;
  memory_.assign(size_t(ranks() * stride_ / 8 + 256), 0);
  for (int rank = 0; rank < ranks(); ++rank) {
    std::memset(reinterpret_cast<void *>(head(rank) + layout_->bufferStart()), kGarbage,
                size_t(layout_->bytes() - layout_->bufferStart()));
    *reinterpret_cast<int64_t *>(head(rank) + abi::Head::kEpoch) = run_.before;
    for (int other = 0; other < ranks(); ++other)
      *reinterpret_cast<int64_t *>(head(rank) + abi::Head::kCompleted + 8 * other) = run_.before;
  }
}

/// Memory in multiples of 16 bytes, as tensors of GPUs have it.
void RankMemory::addRank(int rank) {
  arguments_.emplace_back();
  for (const Inputs &inputs : inputs_) {
    arguments_.back().emplace_back();
    for (size_t n = 0; n < kernel_.parameters().size(); ++n) {
      int64_t bytes = int64_t(byteSize(inputs.type(n)));
      for (int64_t extent : inputs.shape(n))
        bytes *= extent;
      std::vector<std::byte> memory(size_t(bytes), std::byte(0xff));
      if (!kernel_.signature().arguments()[n].isOutput && !isScalar(n))
        inputs.fill(rank, n, memory.data());
      arguments_.back().back().push_back(std::move(memory));
    }
  }
}

bool RankMemory::isScalar(size_t n) const {
  return kernel_.parameters()[n].kind != detail::Parameter::Kind::view;
}

std::vector<int64_t> RankMemory::argumentWords(int rank, int launch) const {
  std::vector<int64_t> words;
  const Inputs &inputs = inputs_[size_t(launch)];
  for (size_t n = 0; n < kernel_.parameters().size(); ++n)
    if (isScalar(n))
      words.push_back(std::bit_cast<int32_t>(float(inputs.scalar(n))));
    else
      abi::addView(words,
                   reinterpret_cast<int64_t>(arguments_[size_t(rank)][size_t(launch)][n].data()),
                   inputs.shape(n), abi::denseStrides(inputs.shape(n)));
  return words;
}

std::vector<int64_t> RankMemory::words(int rank, int launch, int64_t bound) const {
  std::vector<int64_t> words = argumentWords(rank, launch);
  auto status = reinterpret_cast<int64_t>(status_[size_t(rank)].data());
  if (!info_.isDistributed) {
    words.push_back(status);
    return words;
  }
  std::vector<int64_t> more = abi::distributedWords(*layout_, {.status = status,
                                                               .rank = rank,
                                                               .ranks = ranks(),
                                                               .stride = stride_,
                                                               .head = head(rank),
                                                               .bound = bound});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void RankMemory::clearOutputs() {
  for (auto &ofRank : arguments_)
    for (auto &ofLaunch : ofRank)
      for (size_t n = 0; n < ofLaunch.size(); ++n)
        if (kernel_.signature().arguments()[n].isOutput)
          std::ranges::fill(ofLaunch[n], std::byte(0xff));
}

int RankMemory::cores(int rank, int launch) const {
  return info_.isDistributed ? run_.cores
                             : int(info_.cores({argumentWords(rank, launch), ranks()}));
}

void RankMemory::expectNoFailure() const {
  for (size_t rank = 0; rank < status_.size(); ++rank)
    for (size_t n = 0; n < status_[rank].size(); ++n)
      if (status_[rank][n] != 0) {
        ADD_FAILURE() << "rank " << rank << ", word " << n << " of its status is "
                      << status_[rank][n];
        break;
      }
}

void RankMemory::expectRight() const {
  for (int launch = 0; launch < run_.launches; ++launch)
    for (int rank = 0; rank < ranks(); ++rank)
      for (size_t n = 0; n < kernel_.parameters().size(); ++n)
        if (kernel_.signature().arguments()[n].isOutput) {
          const Inputs &inputs = inputs_[size_t(launch)];
          kernels::Verdict verdict =
              kernels::verify(entry_, {run_.problem, config_, inputs}, rank, n,
                              arguments_[size_t(rank)][size_t(launch)][n].data(), int64_t(1) << 40);
          EXPECT_TRUE(verdict.ok) << "launch " << launch << ", rank " << rank << ": "
                                  << verdict.failure;
          EXPECT_GT(verdict.checked, 0);
        }
}

} // namespace ditron::emulator
