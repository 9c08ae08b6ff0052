// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/FailureReport.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/runtime/WaitReport.h"
#include "ditron/support/Message.h"
#include <fmt/format.h>

namespace ditron::runtime::nvidia {

using abi::Status;

std::optional<std::string> failedRequirement(const abi::KernelInfo &info,
                                             const std::string &signature,
                                             std::span<const int64_t> status) {
  if (status[Status::kFailed] == 0)
    return std::nullopt;
  const abi::Requirement &failed =
      info.requirements.at(static_cast<size_t>(status[Status::kNumber]));
  return fmt::format("{}:{}: {}: {}", failed.file, failed.line, signature,
                     fillIn(failed.message, status.subspan(Status::kValues)));
}

/// The status of a rank's last launch, of as many words as its cores have.
static std::vector<int64_t> statusOf(const Workspace &workspace, int rank,
                                     const Participant &participant) {
  std::vector<int64_t> words(
      size_t(Status::kRecords + 2 * Status::kRecordWords * participant.cores));
  DITRON_CUDA(workspace.device(rank)->use(), cuMemcpyDtoH_v2, words.data(),
              participant.status->address(), words.size() * sizeof(int64_t));
  return words;
}

/// A line for a record of a core, if it has noted a wait.
static std::optional<CoreLine> lineOf(const Workspace &workspace, int rank, int core,
                                      const abi::KernelInfo &info,
                                      std::span<const int64_t> record) {
  if (record[0] == 0)
    return std::nullopt;
  const abi::Site &site = info.sites.at(static_cast<size_t>(record[0] - 1));
  int64_t offset = record[1] - static_cast<int64_t>(workspace.memory().address(rank));
  std::string name = runtime::nvidia::nameOf(workspace.layout(), offset);
  bool isBegin = record[0] - 1 == abi::kBeginSite;
  CoreLine line;
  line.place = {rank, core, site.role, fmt::format("{}:{}", site.file, site.line)};
  std::string what = isBegin               ? "waits for " + name
                     : name == "a barrier" ? site.what + " a barrier"
                                           : site.what + " " + name;
  line.state = describe(
      WaitProgress{what, static_cast<uint64_t>(record[2]), static_cast<uint64_t>(record[3]), ""});
  return line;
}

std::string reportFailure(const Workspace &workspace, const std::string &signature,
                          std::chrono::nanoseconds bound) {
  std::vector<Participant> participants = workspace.settle();
  std::vector<CoreLine> lines;
  std::string kernel;
  for (int rank = 0; rank < workspace.ranks(); ++rank) {
    const Participant &participant = participants[size_t(rank)];
    if (!participant.status) {
      lines.push_back({{rank, -1, "", ""}, "has launched nothing"});
      continue;
    }
    kernel = participant.kernel;
    const abi::KernelInfo &info = *participant.info;
    std::vector<int64_t> status = statusOf(workspace, rank, participant);
    if (auto failed = failedRequirement(info, signature, std::span(status).first(Status::kRecords)))
      return fmt::format("{} (rank {})", *failed, rank);
    size_t before = lines.size();
    for (int core = 0; core < participant.cores; ++core)
      for (int part : {0, 1}) {
        auto first = size_t(Status::kRecords + (2 * core + part) * Status::kRecordWords);
        if (auto line = lineOf(workspace, rank, core, info,
                               std::span(status).subspan(first, size_t(Status::kRecordWords))))
          if (part == 0 || lines.size() == before || lines.back().place.core != core)
            lines.push_back(*line);
      }
    if (lines.size() == before)
      lines.push_back({{rank, -1, "", ""}, "has ended, or waits for nothing"});
  }
  return formatReport(fmt::format("kernel '{}': a wait outlived its bound of {:g} ms", kernel,
                                  std::chrono::duration<double, std::milli>(bound).count()),
                      lines);
}

} // namespace ditron::runtime::nvidia
