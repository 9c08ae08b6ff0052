// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where compiler and runtime meet: a context is one rank on one device; it makes tensors, compiles
// kernels and launches them. It is the same on every backend:
//
//   ditron::runRanks({.ranks = 4}, [](Context &ctx) {
//     Tensor A = ctx.tensor<f32>({512, 256}), ...;
//     A.copyFrom(host);
//     Program run = ctx.compile(agGemm());
//     run(A, B, C);                                   // asynchronous
//     Tensor result = C.toHost();                     // waits
//   });
//
// Options::backend or DITRON_BACKEND chooses: `cpu` (a rank is a group of CPU cores), `reference`
// (the interpreter that defines what a kernel means: slow, and the same on every machine), or one
// whose ranks are GPUs. `ditron info` lists them.
#pragma once
#include "ditron/driver/Program.h"
#include "ditron/driver/TaskProgram.h"
#include "ditron/runtime/Options.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ditron {

namespace runtime {
class Rank;
}

using runtime::Options;

/// One rank of a run. Every thread may use it: launches are done in the order in which they are
/// enqueued, whoever does.
class Context {
public:
  /// This process as the rank that the environment names (torchrun, mpirun, ditron run --procs), or
  /// as the only one, on the backend that the options name. UsageError where there is no such
  /// backend, or the options ask for another number of ranks; UnavailableError saying what this machine lacks for
  /// the backend.
  static Context init(const Options &options = {});
  Context(runtime::Rank &rank, const std::shared_ptr<runtime::Platform> &platform);
  Context(Context &&) noexcept;
  /// Waits for what is enqueued. An error that nobody has waited for is printed on stderr.
  ~Context();

  int rank() const;
  int ranks() const;
  /// Cores of the rank: threads of the CPU, or of a GPU the SMs.
  int cores() const;
  /// The name of the backend: "cpu".
  std::string backend() const;
  /// What the device is called.
  std::string deviceName() const;
  /// Bytes of memory that the device can still give.
  size_t availableBytes() const;

  /// A dense row-major tensor in the memory of this rank's device, undefined contents.
  /// CompileError where a size is negative; RuntimeError naming the bytes asked for and available
  /// where there is not enough memory.
  template <class T> Tensor tensor(std::vector<int64_t> shape) const {
    return tensor(kDType<T>, std::move(shape));
  }
  Tensor tensor(DType type, std::vector<int64_t> shape) const;
  /// The same with the elements of another tensor, of the host say.
  Tensor tensorFrom(const Tensor &source) const;

  /// Compiles (or finds in the kernel cache) for this device, at the first launch. CompileError
  /// where it cannot be.
  Program compile(const Kernel &kernel, const Schedule &schedule = {},
                  const CompileOptions &options = {}) const;

  /// Compiles a graph of tasks, as one kernel or as a launch a task: see TaskProgram. CompileError
  /// where it cannot be.
  TaskProgram compile(const TaskGraph &graph, const TaskOptions &options = {}) const;

  /// The stream of launches that name none, and others beside it.
  Stream stream() const;
  Stream makeStream() const;
  /// Records what `body` launches and copies on the stream that it is given, which does none of it
  /// now: a graph of the device's driver on GPUs. RuntimeError where `body` does what cannot be recorded, such as
  /// waiting for the stream, or launches a program on no stream, which the graph would not have.
  Graph record(const std::function<void(const Stream &)> &body) const;
  /// Waits for all streams. Throws the error of a launch that failed, once: see Stream::wait.
  void sync() const;

  /// All ranks meet, behind their launches; collective. Bounded, as every wait.
  void barrier() const;
  /// The same after work that may take the ranks very different times, as making inputs: those that
  /// are missing are waited for as long as they use a CPU.
  void assemble() const;

  /// The rank as the runtime knows it, for what the ranks' hosts exchange; where nothing is
  /// enqueued, by one thread at a time.
  runtime::Rank &runtimeRank() const;
  const std::shared_ptr<runtime::Device> &device() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs `body` on every rank, on the backend that the options name: as threads of this process, or
/// once as the rank that the environment names. Waits for the launches of a body that returns. The
/// first error ends every rank and is rethrown.
void runRanks(const Options &options, const std::function<void(Context &)> &body);

/// The backends of this build, each with the reason why this machine cannot use it, or none.
struct BackendState {
  std::string name, whyNot;
};
std::vector<BackendState> availableBackends();

} // namespace ditron
