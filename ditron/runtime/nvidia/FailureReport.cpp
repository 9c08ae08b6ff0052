// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/FailureReport.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/runtime/WaitReport.h"
#include "ditron/runtime/nvidia/EngineReport.h"
#include "ditron/support/Message.h"
#include <algorithm>
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

constexpr std::string_view kSignal = "signal ";

/// Ranks that are other processes launch the graph that this one does.
static std::shared_ptr<const LaunchTasks> tasksOf(const Workspace &workspace, int rank,
                                                  int64_t launch) {
  int own = workspace.ownRank();
  return workspace.tasksOf(own >= 0 ? own : rank, launch);
}

/// A line for a record of a core, if it has noted a wait.
static std::optional<CoreLine> lineOf(const Workspace &workspace, int rank, int core,
                                      const abi::KernelInfo &info,
                                      std::span<const int64_t> record) {
  int64_t number = Status::siteOf(record[0]);
  if (number < 0 || number >= static_cast<int64_t>(info.sites.size()))
    return std::nullopt;
  const abi::Site &site = info.sites.at(static_cast<size_t>(number));
  int64_t offset = workspace.memory().offsetAt(rank, record[1]);
  std::string name = runtime::nvidia::nameOf(workspace.layout(), offset);
  bool isBegin = number == abi::kBeginSite;
  CoreLine line;
  line.place = {rank, core, site.role,
                site.file.empty() ? "" : fmt::format("{}:{}", site.file, site.line)};
  std::string on;
  if (auto tasks = isBegin ? nullptr : tasksOf(workspace, rank, Status::launchOf(record[0]))) {
    bool isSignal = name.starts_with(kSignal);
    TaskWait wait =
        tasks->ofWait(rank, core, isSignal ? name.substr(kSignal.size()) : name, record[2]);
    line.place.task = wait.task;
    on = wait.on.empty() ? "" : wait.on + ": ";
  }
  std::string what = isBegin               ? "waits for " + name
                     : name == "a barrier" ? site.what + " a barrier"
                                           : site.what + " " + on + name;
  line.state = describe(
      WaitProgress{what, static_cast<uint64_t>(record[2]), static_cast<uint64_t>(record[3]), ""});
  return line;
}

/// A line for each core of a rank that has noted a wait.
static std::vector<CoreLine> linesOf(const Workspace &workspace, int rank,
                                     const Participant &participant,
                                     std::span<const int64_t> status) {
  std::vector<CoreLine> lines;
  for (int core = 0; core < participant.cores; ++core)
    for (int part : {0, 1}) {
      auto first = size_t(Status::kRecords + (2 * core + part) * Status::kRecordWords);
      if (auto line = lineOf(workspace, rank, core, *participant.info,
                             status.subspan(first, size_t(Status::kRecordWords))))
        if (part == 0 || lines.empty() || lines.back().place.core != core)
          lines.push_back(*line);
    }
  return lines;
}

/// The counters for which cores of a rank waited.
static std::vector<AwaitedCounter> awaitedBy(const Workspace &workspace, int rank, int cores,
                                             std::span<const int64_t> status) {
  std::vector<AwaitedCounter> counters;
  for (int record = 0; record < 2 * cores; ++record) {
    auto words = status.subspan(size_t(Status::kRecords + record * Status::kRecordWords));
    if (Status::siteOf(words[0]) < 0)
      continue;
    AwaitedCounter counter{rank, workspace.memory().offsetAt(rank, words[1]), words[3]};
    if (std::find(counters.begin(), counters.end(), counter) == counters.end())
      counters.push_back(counter);
  }
  return counters;
}

/// Adds the lines of copy engines to those of the cores, which come by rank.
static void addEngines(const Workspace &workspace, const std::vector<Participant> &participants,
                       const std::vector<AwaitedCounter> &counters, std::vector<CoreLine> &lines) {
  for (int rank = 0; rank < workspace.ranks(); ++rank) {
    const Participant &participant = participants[size_t(rank)];
    if (!participant.info)
      continue;
    std::vector<CoreLine> more = engineLines(workspace, rank, participant, counters);
    auto behind = std::find_if(lines.begin(), lines.end(),
                               [&](const CoreLine &line) { return line.place.rank > rank; });
    lines.insert(behind, more.begin(), more.end());
  }
}

/// What is said of a rank that waits for nothing.
static std::string stateOf(const Workspace &workspace, int rank) {
  int own = workspace.ownRank();
  if (own >= 0 && workspace.completed(rank) < workspace.completed(own))
    return fmt::format("has not completed launch {}", workspace.completed(rank) + 1);
  return "has ended, or waits for nothing";
}

Failure reportFailure(const Workspace &workspace, const std::string &signature,
                      std::chrono::nanoseconds bound) {
  std::vector<Participant> participants = workspace.settle();
  if (int own = workspace.ownRank(); own >= 0) { // the others launch the same
    Participant theirs = participants[size_t(own)];
    theirs.cores = Status::kMostCores;
    std::fill(participants.begin(), participants.end(), theirs);
  }
  std::vector<CoreLine> lines;
  std::vector<AwaitedCounter> awaited;
  std::string kernel;
  for (int rank = 0; rank < workspace.ranks(); ++rank) {
    const Participant &participant = participants[size_t(rank)];
    if (!participant.info) {
      lines.push_back({{rank, -1, "", ""}, "has launched nothing"});
      continue;
    }
    kernel = participant.kernel;
    std::vector<int64_t> status = workspace.readStatus(rank, participant.cores);
    if (auto failed = failedRequirement(*participant.info, signature,
                                        std::span(status).first(Status::kRecords)))
      return {fmt::format("{} (rank {})", *failed, rank), Fault::program};
    std::vector<CoreLine> own = linesOf(workspace, rank, participant, status);
    if (own.empty())
      own.push_back({{rank, -1, "", ""}, stateOf(workspace, rank)});
    lines.insert(lines.end(), own.begin(), own.end());
    auto counters = awaitedBy(workspace, rank, participant.cores, status);
    awaited.insert(awaited.end(), counters.begin(), counters.end());
  }
  addEngines(workspace, participants, awaited, lines);
  std::chrono::duration<double, std::milli> milliseconds = bound;
  return {formatReport(fmt::format("kernel '{}': a wait outlived its bound of {:g} ms", kernel,
                                   milliseconds.count()),
                       lines)};
}

} // namespace ditron::runtime::nvidia
