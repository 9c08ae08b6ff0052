// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Bootstrap.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>
#include <vector>

namespace ditron::runtime {

namespace {

constexpr int64_t kMany = 1 << 24; // ranks or hosts

/// The variables of one launcher. It started this process where `rank` and `size` are both set.
struct Launcher {
  const char *name;
  const char *rank, *size;
  const char *localRank;         ///< this one's number among those on this host, or null
  const char *localSize;         ///< ranks on this host, or null
  const char *nodes;             ///< hosts of the run, or null
  const char *port;              ///< a TCP port, or null
  std::vector<const char *> job; ///< what tells this run from others
  bool strict;                   ///< one of rank and size alone is an error
};

const std::vector<Launcher> &launchers() {
  static const std::vector<Launcher> table = {
      {"torchrun",
       "RANK",
       "WORLD_SIZE",
       "LOCAL_RANK",
       "LOCAL_WORLD_SIZE",
       nullptr,
       "MASTER_PORT",
       {"DITRON_JOB", "TORCHELASTIC_RUN_ID", "MASTER_PORT"},
       true},
      {"mpirun",
       "OMPI_COMM_WORLD_RANK",
       "OMPI_COMM_WORLD_SIZE",
       "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE",
       nullptr,
       nullptr,
       {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"},
       true},
      {"pmi",
       "PMI_RANK",
       "PMI_SIZE",
       "MPI_LOCALRANKID",
       "MPI_LOCALNRANKS",
       nullptr,
       nullptr,
       {"PMI_JOBID", "PMI_PORT"},
       true},
      // A batch script has SLURM_PROCID too; only a step started by srun has tasks.
      {"slurm",
       "SLURM_PROCID",
       "SLURM_STEP_NUM_TASKS",
       "SLURM_LOCALID",
       nullptr,
       "SLURM_STEP_NUM_NODES",
       nullptr,
       {"SLURM_JOB_ID", "SLURM_STEP_ID"},
       false},
  };
  return table;
}

const char *value(const char *variable) {
  const char *text = variable ? std::getenv(variable) : nullptr;
  return text && *text ? text : nullptr;
}

void refuseSeveralHosts(const Launcher &launcher, int64_t size) {
  if (value(launcher.localSize)) {
    int64_t local = *envInteger(launcher.localSize, 1, kMany);
    if (local != size)
      throw RuntimeError(
          fmt::format("the {} ranks of this run are on several hosts ({} are on this "
                      "one, says {}): transport 'processes' reaches one host only",
                      size, local, launcher.localSize));
  }
  if (int64_t nodes = value(launcher.nodes) ? *envInteger(launcher.nodes, 1, kMany) : 1; nodes > 1)
    throw RuntimeError(fmt::format("the {} ranks of this run are on {} hosts, says {}: transport "
                                   "'processes' reaches one host only",
                                   size, nodes, launcher.nodes));
}

/// Ranks are numbered node by node, so that a mesh tells which of them share one.
void checkOrder(const Launcher &launcher, int64_t rank) {
  if (!value(launcher.localRank) || !value(launcher.localSize))
    return;
  int64_t place = *envInteger(launcher.localRank, 0, kMany);
  int64_t local = *envInteger(launcher.localSize, 1, kMany);
  if (place != rank % local)
    throw UsageError(fmt::format("{}={} but {}={} and {}={}: expected ranks that are numbered node "
                                 "by node",
                                 launcher.localRank, place, launcher.rank, rank, launcher.localSize,
                                 local));
}

Membership read(const Launcher &launcher) {
  int64_t rank = *envInteger(launcher.rank, 0, kMany);
  int64_t size = *envInteger(launcher.size, 1, kMany);
  if (rank >= size)
    throw UsageError(fmt::format("{}={} but {}={}: expected a rank below the number of ranks",
                                 launcher.rank, rank, launcher.size, size));
  if (launcher.port)
    envInteger(launcher.port, 1, UINT16_MAX);
  refuseSeveralHosts(launcher, size);
  checkOrder(launcher, rank);
  Membership membership{int(rank), int(size), launcher.name, launcher.name};
  bool named = false;
  for (const char *variable : launcher.job)
    if (const char *text = value(variable)) {
      membership.job += fmt::format("/{}", text);
      named = true;
    }
  if (!named) // the processes of one host are children of one daemon
    membership.job += fmt::format("/parent{}", getppid());
  return membership;
}

} // namespace

std::optional<Membership> membershipFromEnvironment() {
  for (const Launcher &launcher : launchers()) {
    bool rank = value(launcher.rank), size = value(launcher.size);
    if (rank && size)
      return read(launcher);
    if (rank != size && launcher.strict)
      throw UsageError(fmt::format("{} is set, but {} is not: expected both or neither",
                                   rank ? launcher.rank : launcher.size,
                                   rank ? launcher.size : launcher.rank));
  }
  return std::nullopt;
}

} // namespace ditron::runtime
