// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/baselines/HostBaseline.h"
#include "ditron/runtime/Rank.h"
#include "ditron/support/Error.h"
#include "tools/baselines/OpenBlas.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <numeric>

namespace ditron::baselines {

using kernels::Baseline;

namespace {

using Operands = std::vector<KernelArgument>;

const Tensor &tensorOf(const Operands &operands, size_t argument) {
  return std::get<Tensor>(operands[argument]);
}

template <class Fn> double timed(const Fn &fn) {
  auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// memcpy between buffers too large for the caches, by the rank's cores; the time that it takes for
/// as many bytes, read and written together, as the kernel moves.
class Copy : public HostBaseline {
public:
  Copy(Context &context, double kernelBytes) : team_(context.runtimeRank().team()) {
    constexpr int64_t kLeast = int64_t(64) << 20;
    bytes_ = std::max(kLeast, int64_t(kernelBytes / 2)) / 4096 * 4096;
    scale_ = kernelBytes / 2 / double(bytes_);
    from_ = Tensor::own(DType::i8, {bytes_});
    to_ = Tensor::own(DType::i8, {bytes_});
    std::memset(from_.data(), 1, size_t(bytes_));
    std::memset(to_.data(), 2, size_t(bytes_));
  }
  std::string name() const override { return "copy"; }
  double run() override {
    return scale_ * timed([&] {
             team_.launch([&](int core) {
               int64_t first = bytes_ * core / team_.cores();
               int64_t end = bytes_ * (core + 1) / team_.cores();
               std::memcpy(to_.as<i8>() + first, from_.as<i8>() + first, size_t(end - first));
             });
           });
  }

private:
  runtime::Team &team_;
  int64_t bytes_;
  double scale_;
  Tensor from_, to_;
};

/// The exclusive or of words: the fastest that memory is read.
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
uint64_t
readWords(const uint64_t *words, int64_t count) {
  constexpr int64_t kTogether = 64;
  uint64_t seen[kTogether] = {};
  for (int64_t n = 0; n + kTogether <= count; n += kTogether)
    for (int64_t lane = 0; lane < kTogether; ++lane)
      seen[lane] ^= words[n + lane];
  return std::accumulate(seen, seen + kTogether, uint64_t(0), std::bit_xor<>());
}

/// Reading the kernel's own inputs, cut evenly among the rank's cores; the time that it takes for as
/// many bytes as the kernel reads.
class Read : public HostBaseline {
public:
  Read(Context &context, const Work &work, const Operands &operands)
      : team_(context.runtimeRank().team()), seen_(size_t(team_.cores())) {
    double all = 0;
    for (size_t n = 0; n < outputOf(work.kernel); ++n)
      if (const auto *tensor = std::get_if<Tensor>(&operands[n])) {
        inputs_.push_back(*tensor);
        all += double(tensor->elements()) * double(byteSize(tensor->dtype()));
      }
    scale_ = work.entry.bytesOf(work.problem, work.config) / all;
  }
  std::string name() const override { return "read"; }
  double run() override {
    return scale_ * timed([&] {
             team_.launch([&](int core) {
               for (const Tensor &input : inputs_) {
                 auto words = input.elements() * int64_t(byteSize(input.dtype())) / 8;
                 int64_t first = words * core / team_.cores();
                 int64_t end = words * (core + 1) / team_.cores();
                 seen_[size_t(core)] ^=
                     readWords(static_cast<const uint64_t *>(input.data()) + first, end - first);
               }
             });
           });
  }

private:
  runtime::Team &team_;
  std::vector<Tensor> inputs_;
  std::vector<uint64_t> seen_; ///< by core, so that nothing is left out
  double scale_;
};

/// The products of all ranks, one after another, each with the threads of all of them.
class Blas : public HostBaseline {
public:
  Blas(Context &context, const Work &work, const Operands &operands)
      : products_(context.rank() == 0 ? context.ranks() : 0),
        isTransposed_(kernels::hasTransposedB(work.kernel)), a_(tensorOf(operands, 0)),
        b_(tensorOf(operands, 1)),
        c_(Tensor::own(DType::f32, tensorOf(operands, outputOf(work.kernel)).shape())) {
    auto blas = OpenBlas::load();
    if (!blas)
      throw UnavailableError("--baseline needs OpenBLAS for gemm, and this machine has no "
                             "libopenblas.so.0 (Debian's package: libopenblas0), or limits on "
                             "memory or threads leave no room for it");
    blas_ = *blas;
    blas_.setThreads(context.ranks() * context.cores());
  }
  std::string name() const override { return "openblas"; }
  std::string version() const override { return blas_.version(); }
  bool leavesThreadsSpinning() const override { return true; }
  double run() override {
    return timed([&] {
      for (int n = 0; n < products_; ++n)
        multiply();
    });
  }

protected:
  virtual void multiply() {
    blas_.gemm(c_.shape()[0], c_.shape()[1], a_.shape()[1], a_.as<float>(), b_.as<float>(),
               c_.as<float>(), isTransposed_);
  }

  OpenBlas blas_;
  int products_;
  bool isTransposed_; ///< B is given as weights
  Tensor a_, b_, c_;
};

/// The products of groups of rows by the transposed weights of each, one after another.
class GroupedBlas : public Blas {
public:
  GroupedBlas(Context &context, const Work &work, const Operands &operands)
      : Blas(context, work, operands), counts_(tensorOf(operands, 2)) {}

protected:
  void multiply() override {
    int64_t N = c_.shape()[1], K = a_.shape()[1], row = 0;
    for (int64_t group = 0; group < counts_.elements(); ++group) {
      int64_t rows = counts_.as<i32>()[group];
      if (rows)
        blas_.gemm(rows, N, K, a_.as<float>() + row * K, b_.as<float>() + group * N * K,
                   c_.as<float>() + row * N, /*isTransposed=*/true);
      row += rows;
    }
  }

private:
  Tensor counts_;
};

/// ditron's kernels, one after another.
class Sequence : public HostBaseline {
public:
  Sequence(Context &context, const kernels::Problem &whole) : context_(context), whole_(whole) {}

  /// Appends a kernel of the library that takes these tensors; its output, which the next may take.
  Tensor append(const char *kernel, DType type, const std::vector<Tensor> &inputs,
                const std::string &config = "") {
    const kernels::KernelEntry &entry = kernels::findKernel(kernel);
    kernels::Problem problem = problemFor(entry, type, inputs);
    Kernel made = entry.kernel(problem, entry.configure(problem, config));
    Operands operands(inputs.begin(), inputs.end());
    Tensor output = allocateOutput(made, problem);
    operands.push_back(output);
    steps_.push_back({context_.compile(made), std::move(operands)});
    steps_.back().program.prepare(steps_.back().operands);
    name_ += (name_.empty() ? "ditron " : ", ") + std::string(kernel);
    if (type == DType::f32)
      name_ += " f32";
    return output;
  }
  std::string name() const override { return name_; }
  std::string cacheProblem() const override {
    for (const Step &step : steps_)
      if (std::string problem = step.program.report().cacheProblem; !problem.empty())
        return problem;
    return "";
  }
  double run() override {
    return timed([&] {
      for (Step &step : steps_)
        step.program.timedLaunch(step.operands);
    });
  }

private:
  struct Step {
    Program program;
    Operands operands;
  };

  /// The one name in a dimension such as R*M, and what it is where the dimension is `extent`.
  std::pair<std::string, int64_t> solve(const Dimension &dimension, int64_t extent) const {
    std::string unknown;
    for (const std::string &factor : dimension.factors)
      if (factor == "R")
        extent /= whole_.ranks;
      else
        unknown = factor;
    for (const std::string &divisor : dimension.divisors)
      if (divisor == "R")
        extent *= whole_.ranks;
    return {unknown, extent};
  }

  /// The problem of the sizes that the tensors have.
  kernels::Problem problemFor(const kernels::KernelEntry &entry, DType type,
                              const std::vector<Tensor> &inputs) const {
    kernels::Problem problem;
    problem.dims = entry.shape;
    problem.type = type;
    problem.ranks = whole_.ranks;
    problem.team = whole_.team;
    problem.cores = context_.cores();
    Kernel probe = entry.kernel(type, entry.configure(problem));
    const std::vector<Argument> &arguments = probe.signature().arguments();
    for (size_t n = 0; n < inputs.size(); ++n)
      for (size_t d = 0; d < arguments[n].dims.size(); ++d) {
        auto [name, extent] = solve(arguments[n].dims[d], inputs[n].shape()[d]);
        problem.dims[name] = extent;
      }
    return problem;
  }

  static Tensor allocateOutput(const Kernel &kernel, const kernels::Problem &problem) {
    Dimensions dims = problem.allDims();
    size_t output = outputOf(kernel);
    const Signature &signature = kernel.signature();
    return Tensor::own(kernel.parameters()[output].dtype,
                       signature.shape(signature.arguments()[output], dims));
  }

  Context &context_;
  kernels::Problem whole_; ///< that it does the work of
  std::vector<Step> steps_;
  std::string name_;
};

/// A random tensor of the same shape in f32.
Tensor inFloat(const Tensor &tensor) {
  Tensor result = Tensor::own(DType::f32, tensor.shape());
  auto *from = static_cast<const std::byte *>(tensor.data());
  for (int64_t n = 0, count = tensor.elements(); n < count; ++n)
    result.as<float>()[n] = float(loadElement(tensor.dtype(), from + n * byteSize(tensor.dtype())));
  return result;
}

std::unique_ptr<HostBaseline> makeProduct(Context &context, const Work &work,
                                          const Operands &operands) {
  if (work.problem.type == DType::f32)
    return std::make_unique<Blas>(context, work, operands);
  auto sequence = std::make_unique<Sequence>(context, work.problem);
  sequence->append("gemm", DType::f32,
                   {inFloat(tensorOf(operands, 0)), inFloat(tensorOf(operands, 1))},
                   kernels::hasTransposedB(work.kernel) ? "transB=yes" : "");
  return sequence;
}

std::unique_ptr<HostBaseline> makeGroups(Context &context, const Work &work,
                                         const Operands &operands) {
  if (work.problem.type == DType::f32)
    return std::make_unique<GroupedBlas>(context, work, operands);
  auto sequence = std::make_unique<Sequence>(context, work.problem);
  sequence->append(
      "grouped-gemm", DType::f32,
      {inFloat(tensorOf(operands, 0)), inFloat(tensorOf(operands, 1)), tensorOf(operands, 2)});
  return sequence;
}

std::unique_ptr<HostBaseline> makeSequence(Context &context, const Work &work,
                                           const Operands &operands) {
  auto sequence = std::make_unique<Sequence>(context, work.problem);
  Tensor A = tensorOf(operands, 0), B = tensorOf(operands, 1);
  DType type = work.problem.type;
  if (work.entry.baseline == Baseline::gatherThenGemm) {
    Tensor full = sequence->append("all-gather", type, {A});
    sequence->append("gemm", type, {full, B});
    return sequence;
  }
  Tensor partial = sequence->append("gemm", type, {A, B});
  const char *collective =
      work.entry.baseline == Baseline::gemmThenScatter ? "reduce-scatter" : "all-reduce";
  sequence->append(collective, partial.dtype(), {partial});
  return sequence;
}

} // namespace

std::unique_ptr<HostBaseline> makeHostBaseline(Context &context, const Work &work,
                                               const Operands &operands) {
  switch (work.entry.baseline) {
  case Baseline::none:
  case Baseline::scaledGemm:
    return nullptr;
  case Baseline::copy:
    return std::make_unique<Copy>(context, work.entry.bytesOf(work.problem, work.config));
  case Baseline::read:
    return std::make_unique<Read>(context, work, operands);
  case Baseline::gemm:
    return makeProduct(context, work, operands);
  case Baseline::groupedGemm:
    return makeGroups(context, work, operands);
  case Baseline::gatherThenGemm:
  case Baseline::gemmThenScatter:
  case Baseline::gemmThenReduce:
    return makeSequence(context, work, operands);
  }
  return nullptr;
}

} // namespace ditron::baselines
