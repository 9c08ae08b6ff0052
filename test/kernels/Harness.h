// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels of the registry on all ranks and judges every element of every output.
#pragma once
#include "ditron/kernels/Registry.h"
#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ditron::kernels {

/// The outputs of a run, dense and row-major: outputs[rank][argument], empty for inputs.
using Outputs = std::vector<std::vector<std::vector<std::byte>>>;

/// How many ranks there are: those of the problem, or of the mesh of which these are teams.
int64_t worldOf(const Problem &problem, const MeshAxes &mesh);

/// Arguments of all ranks: inputs filled, outputs poisoned.
Outputs makeArguments(const Kernel &kernel, const Problem &problem, const Inputs &inputs,
                      const MeshAxes &mesh = {});

/// Runs the kernel in the reference interpreter; every notify is to be waited for.
void interpretKernel(const Kernel &kernel, const Problem &problem, const Inputs &inputs,
                     Outputs &arguments, uint64_t schedule = 0, const MeshAxes &mesh = {});

/// Compiles the kernel for this machine and launches it `launches` times, back to back, by ranks
/// that are threads; symmetric memory is poisoned.
void launchKernel(const Kernel &kernel, const Problem &problem, const Inputs &inputs,
                  Outputs &arguments, int launches = 1, const MeshAxes &mesh = {});

/// The verdict on all outputs of all ranks, every element compared.
Verdict judge(const KernelEntry &entry, const Case &run, const Kernel &kernel,
              const Outputs &arguments);

/// "gemm f32 R=2 cores=1 K=1 M=1 N=1 m=1,...": for messages.
std::string describe(const KernelEntry &entry, const Problem &problem, const Config &config);

enum class Backend { reference, cpu };

/// Runs and judges one problem, and expects all to be right. `variant` changes the default
/// configuration. `mesh`: of the ranks, where the problem is that of teams.
void expectRight(Backend backend, const KernelEntry &entry, const Problem &problem,
                 const std::string &variant = "", const MeshAxes &mesh = {});

/// The integer golden: A(i,k) = ((7i + 3k) mod 5) - 2 and B(k,j) = ((5k + 11j) mod 7) - 3.
inline double goldenA(int64_t i, int64_t k) { return double((7 * i + 3 * k) % 5 - 2); }
inline double goldenB(int64_t k, int64_t j) { return double((5 * k + 11 * j) % 7 - 3); }

} // namespace ditron::kernels
