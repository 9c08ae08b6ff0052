// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is told of launches on GPUs that failed.
#pragma once
#include "ditron/abi/KernelInfo.h"
#include "ditron/runtime/nvidia/RankGroup.h"
#include <optional>
#include <span>
#include <string>

namespace ditron::runtime::nvidia {

/// The requirement that a launch found not to hold, in words: "gemm.cpp:12: gemm(...): text".
/// Nothing where its status says of none. `status`: its first words.
std::optional<std::string> failedRequirement(const abi::KernelInfo &info,
                                             const std::string &signature,
                                             std::span<const int64_t> status);

/// What the cores of every rank of a failed launch waited for, in the words of
/// runtime/WaitReport.h; or the requirement that one of them found not to hold. Waits until all
/// ranks have ended.
Failure reportFailure(const Workspace &workspace, const std::string &signature,
                      std::chrono::nanoseconds bound);

} // namespace ditron::runtime::nvidia
