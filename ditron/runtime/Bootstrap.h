// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>

namespace ditron::runtime {

/// Which rank of which run this process is, as the program that started it says.
struct Membership {
  int rank = 0;
  int size = 1;
  std::string job;      ///< the same text on all ranks of a run, and on no other run of this host
  std::string launcher; ///< whose variables they are: "torchrun", "mpirun", "pmi", "slurm"
};

/// Reads torchrun's variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), Open MPI's
/// (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, PMIX_NAMESPACE), PMI's (PMI_RANK, PMI_SIZE) or
/// SLURM's (SLURM_PROCID, SLURM_STEP_NUM_TASKS), in this order. Nothing where none is set.
/// UsageError where they are incomplete or contradict one another, RuntimeError where the ranks are
/// spread over several hosts.
std::optional<Membership> membershipFromEnvironment();

} // namespace ditron::runtime
