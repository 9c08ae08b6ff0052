// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where compiler and runtime meet: a context is one rank; it makes tensors, compiles kernels and
// launches them.
//
//   ditron::runRanks({.ranks = 4}, [](Context &ctx) {
//     auto A = ctx.tensor<f32>({512, 256}), ...;
//     auto run = ctx.compile(agGemm());
//     run(A, B, C);
//   });
#pragma once
#include "ditron/compiler/CompileRequest.h"
#include "ditron/lang/Kernel.h"
#include "ditron/runtime/Options.h"
#include "ditron/runtime/Stats.h"
#include "ditron/runtime/Tensor.h"
#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace ditron {

namespace runtime {
class Rank;
}

using runtime::LaunchStats;
using runtime::Options;
using runtime::Tensor;

/// What is compiled beside the kernel itself.
struct CompileOptions {
  /// Its launches are recorded for a timeline: see ditron/profile/Profiler.h.
  bool recorded = false;
};

/// What a kernel is launched with: a tensor, an Index or a Scalar.
using KernelArgument = std::variant<Tensor, int64_t, double>;

/// What a compilation took.
struct CompileReport {
  double seconds = 0;            ///< from the traced kernel to code that can be launched
  double assemblySeconds = 0;    ///< of these, of a GPU's driver, which keeps a cache of its own
  bool fromCache = false;        ///< the code came from the kernel cache on disk
  std::string cacheProblem = {}; ///< what is wrong with that cache; empty: nothing
};

/// A kernel compiled for the ranks of a context.
class Program {
public:
  struct Impl;
  explicit Program(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  /// Launches on this rank: arguments in the order of the signature. Every rank launches. Returns
  /// when this rank's part is done. CompileError naming argument, found and expected where shapes,
  /// types or kinds do not fit the signature; RuntimeError where a rank failed.
  template <class... A> LaunchStats operator()(const A &...arguments) {
    return launch({toArgument(arguments)...});
  }
  LaunchStats launch(const std::vector<KernelArgument> &arguments);

  /// Makes the variant that a launch with such arguments takes, which its first launch does
  /// otherwise. Errors as of launch; local.
  void prepare(const std::vector<KernelArgument> &arguments);

  /// The compilation of the variant prepared or launched last.
  CompileReport report() const;
  const Signature &signature() const;

private:
  static KernelArgument toArgument(const Tensor &tensor) { return tensor; }
  template <std::integral N> static KernelArgument toArgument(N n) { return int64_t(n); }
  template <std::floating_point F> static KernelArgument toArgument(F f) { return double(f); }
  std::shared_ptr<Impl> impl_;
};

/// One rank of a run.
class Context {
public:
  /// This process as the rank that the environment names (torchrun, mpirun, ditron run --procs), or
  /// as the only one.
  static Context init(const Options &options = {});
  explicit Context(runtime::Rank &rank);
  Context(Context &&) noexcept;
  ~Context();

  int rank() const;
  int ranks() const;
  int cores() const;

  /// A dense row-major tensor on this rank, undefined contents.
  template <class T> Tensor tensor(std::vector<int64_t> shape) {
    return Tensor::own(kDType<T>, std::move(shape));
  }
  Tensor tensor(DType type, std::vector<int64_t> shape) {
    return Tensor::own(type, std::move(shape));
  }

  /// Compiles (or finds in the kernel cache) for this machine. CompileError where it cannot be.
  Program compile(const Kernel &kernel, const Schedule &schedule = {},
                  const CompileOptions &options = {});

  /// All ranks meet; collective. Bounded, as every wait.
  void barrier();
  /// The same after work that may take the ranks very different times, as making inputs: those that
  /// are missing are waited for as long as they use a CPU.
  void assemble();
  /// Waits for this rank's launches.
  void sync() {}

  runtime::Rank &runtimeRank();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs `body` on every rank: as threads of this process, or once as the rank that the environment
/// names. The first error ends every rank and is rethrown.
void runRanks(const Options &options, const std::function<void(Context &)> &body);

} // namespace ditron
