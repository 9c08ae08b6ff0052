// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rival.h"
#include "OpenBlas.h"
#include "Report.h"
#include "ditron/runtime/Rank.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <map>

namespace ditron::tools {

using kernels::Baseline;

namespace {

template <class Fn> double timed(const Fn &fn) {
  auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// memcpy between buffers too large for the caches, by the rank's cores; the time that it takes for
/// as many bytes, read and written together, as the kernel moves.
class Copy : public Rival {
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

/// The products of all ranks, one after another, each with the threads of all of them.
class Blas : public Rival {
public:
  Blas(Context &context, const Operands &operands, bool isTransposed = false)
      : products_(context.rank() == 0 ? context.ranks() : 0), isTransposed_(isTransposed),
        a_(operands.tensor(0)), b_(operands.tensor(1)),
        c_(Tensor::own(DType::f32, operands.tensor(operands.outputs().front()).shape())) {
    auto blas = OpenBlas::load();
    if (!blas)
      throw UnavailableError("--baseline needs OpenBLAS for gemm, and this machine has no "
                             "libopenblas.so.0 (Debian's package: libopenblas0)");
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
  GroupedBlas(Context &context, const Operands &operands)
      : Blas(context, operands), counts_(operands.tensor(2)) {}

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
class Sequence : public Rival {
public:
  explicit Sequence(Context &context) : context_(context) {}

  /// Appends a kernel of the library on these tensors; its output, which the next may take.
  Tensor append(const char *kernel, DType type, const std::vector<Tensor> &inputs,
                const std::string &config = "") {
    Task task = taskFor(kernel, type, inputs, config);
    Operands operands(task);
    std::vector<Operands::Value> values(inputs.begin(), inputs.end());
    Tensor output = operands.tensor(operands.outputs().front());
    for (size_t n = values.size(); n < operands.values().size(); ++n)
      values.push_back(operands.values()[n]);
    steps_.push_back({context_.compile(task.kernel), std::move(values)});
    steps_.back().program.prepare(steps_.back().values);
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
        step.program.launch(step.values);
    });
  }

private:
  struct Step {
    Program program;
    std::vector<Operands::Value> values;
  };

  /// The one name in a dimension such as R*M, and what it is where the dimension is `extent`.
  std::pair<std::string, int64_t> solve(const Dimension &dimension, int64_t extent) const {
    std::string unknown;
    for (const std::string &factor : dimension.factors)
      if (factor == "R")
        extent /= context_.ranks();
      else
        unknown = factor;
    for (const std::string &divisor : dimension.divisors)
      if (divisor == "R")
        extent *= context_.ranks();
    return {unknown, extent};
  }

  /// The kernel at the sizes that the tensors have.
  Task taskFor(const char *kernel, DType type, const std::vector<Tensor> &inputs,
               const std::string &config) {
    KernelArguments arguments;
    arguments.config = config;
    arguments.kernel = kernel;
    arguments.dtype = ditron::name(type);
    Task probe = makeTask(arguments, "", context_.ranks(), context_.cores());
    const std::vector<Argument> &parameters = probe.kernel.signature().arguments();
    std::map<std::string, int64_t> extents;
    for (size_t n = 0; n < inputs.size(); ++n)
      for (size_t d = 0; d < parameters[n].dims.size(); ++d)
        extents.insert(solve(parameters[n].dims[d], inputs[n].shape()[d]));
    std::string shape;
    for (const auto &[name, extent] : extents)
      shape += fmt::format("{}{}={}", shape.empty() ? "" : ",", name, extent);
    return makeTask(arguments, shape, context_.ranks(), context_.cores());
  }

  Context &context_;
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

std::unique_ptr<Rival> makeProduct(Context &context, const Task &task, const Operands &operands) {
  if (task.problem.type == DType::f32)
    return std::make_unique<Blas>(context, operands, isOfWeights(task));
  auto sequence = std::make_unique<Sequence>(context);
  sequence->append("gemm", DType::f32, {inFloat(operands.tensor(0)), inFloat(operands.tensor(1))},
                   isOfWeights(task) ? "weights=yes" : "");
  return sequence;
}

std::unique_ptr<Rival> makeGroups(Context &context, const Task &task, const Operands &operands) {
  if (task.problem.type == DType::f32)
    return std::make_unique<GroupedBlas>(context, operands);
  auto sequence = std::make_unique<Sequence>(context);
  sequence->append("grouped-gemm", DType::f32,
                   {inFloat(operands.tensor(0)), inFloat(operands.tensor(1)), operands.tensor(2)});
  return sequence;
}

std::unique_ptr<Rival> makeSequence(Context &context, const Task &task, const Operands &operands) {
  auto sequence = std::make_unique<Sequence>(context);
  Tensor A = operands.tensor(0), B = operands.tensor(1);
  DType type = task.problem.type;
  if (task.entry.baseline == Baseline::gatherThenGemm) {
    Tensor full = sequence->append("all-gather", type, {A});
    sequence->append("gemm", type, {full, B});
    return sequence;
  }
  Tensor partial = sequence->append("gemm", type, {A, B});
  const char *collective =
      task.entry.baseline == Baseline::gemmThenScatter ? "reduce-scatter" : "all-reduce";
  sequence->append(collective, partial.dtype(), {partial});
  return sequence;
}

} // namespace

std::unique_ptr<Rival> makeRival(Context &context, const Task &task, const Operands &operands) {
  switch (task.entry.baseline) {
  case Baseline::none:
  case Baseline::scaledGemm:
    return nullptr;
  case Baseline::copy:
    return std::make_unique<Copy>(context, task.entry.bytes(task.problem));
  case Baseline::gemm:
    return makeProduct(context, task, operands);
  case Baseline::groupedGemm:
    return makeGroups(context, task, operands);
  case Baseline::gatherThenGemm:
  case Baseline::gemmThenScatter:
  case Baseline::gemmThenReduce:
    return makeSequence(context, task, operands);
  }
  return nullptr;
}

} // namespace ditron::tools
