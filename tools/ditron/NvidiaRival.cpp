// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NvidiaRival.h"
#include "Cublas.h"
#include <fmt/format.h>

namespace ditron::tools {

using kernels::Baseline;
using namespace runtime::nvidia;

namespace {

class CopyRival : public GpuRival {
public:
  CopyRival(const Gpu &gpu, double bytes, size_t sets) : gpu_(gpu), bytes_(size_t(bytes / 2)) {
    for (size_t n = 0; n < sets; ++n) {
      from_.emplace_back(gpu.device(), bytes_);
      to_.emplace_back(gpu.device(), bytes_);
      from_.back().fill(1);
    }
  }
  std::string name() const override { return "device copy"; }
  void launch(size_t set) const override { gpu_.stream().copy(to_[set], from_[set], bytes_); }

private:
  const Gpu &gpu_;
  size_t bytes_;
  std::vector<Memory> from_, to_;
};

class ProductRival : public GpuRival {
public:
  ProductRival(const Gpu &gpu, std::unique_ptr<Cublas> cublas,
               std::unique_ptr<Cublas::Product> product, std::vector<GemmOperands> sets,
               std::string suffix, bool isSameWork)
      : gpu_(gpu), cublas_(std::move(cublas)), product_(std::move(product)), sets_(std::move(sets)),
        suffix_(std::move(suffix)), isSameWork_(isSameWork) {}

  std::string name() const override { return product_->name() + suffix_; }
  std::string version() const override { return cublas_->version(); }
  void launch(size_t set) const override { product_->launch(sets_[set], gpu_.stream()); }
  bool isSameWork() const override { return isSameWork_; }

private:
  const Gpu &gpu_;
  std::unique_ptr<Cublas> cublas_;
  std::unique_ptr<Cublas::Product> product_; // destroyed before the library, which it uses
  std::vector<GemmOperands> sets_;
  std::string suffix_;
  bool isSameWork_;
};

/// The product that a kernel computes, or the dense one of as many rows.
GemmProblem problemOf(const Task &task) {
  bool isGrouped = task.entry.baseline == Baseline::groupedGemm;
  const std::vector<Argument> &arguments = task.kernel.signature().arguments();
  GemmProblem problem;
  problem.M = task.problem[isGrouped ? "T" : "M"];
  problem.N = task.problem["N"];
  problem.K = task.problem["K"];
  problem.type = task.problem.type;
  problem.result = task.kernel.parameters().back().dtype;
  problem.isTransposed = arguments[1].dims.back().text() == "K";
  problem.hasScales = task.entry.baseline == Baseline::scaledGemm;
  problem.byRows = problem.hasScales && task.config.valueOr("scaling", 0) != 0;
  problem.isFast = task.config.valueOr("accuracy", 0) != 0;
  return problem;
}

/// Whether nothing is done to the product.
bool isPlain(const Task &task) {
  for (const char *name : {"bias", "activation", "residual", "scale"})
    if (task.config.valueOr(name, 0) != 0)
      return false;
  return task.entry.baseline != Baseline::groupedGemm;
}

std::unique_ptr<GpuRival> makeProduct(const Gpu &gpu, const Task &task,
                                      const std::vector<DeviceOperands> &sets,
                                      std::string &missing) {
  std::unique_ptr<Cublas> cublas = Cublas::load(gpu.device(), missing);
  if (!cublas)
    return nullptr;
  GemmProblem problem = problemOf(task);
  std::vector<GemmOperands> operands;
  for (const DeviceOperands &set : sets) {
    GemmOperands one{set.address(0), set.address(1), set.address(set.host().outputs().front())};
    if (problem.hasScales)
      one.scaleA = set.address(2), one.scaleB = set.address(3);
    operands.push_back(one);
  }
  std::unique_ptr<Cublas::Product> product = cublas->product(problem, operands.front(), missing);
  if (!product)
    return nullptr;
  bool isLight = product->name() != "cublasGemmEx";
  std::string suffix = task.entry.baseline == Baseline::groupedGemm ? ", one dense product" : "";
  if (isLight && !problem.isTransposed)
    suffix += ", B transposed";
  bool isSameWork = isPlain(task) && !(isLight && !problem.isTransposed);
  return std::make_unique<ProductRival>(gpu, std::move(cublas), std::move(product),
                                        std::move(operands), suffix, isSameWork);
}

} // namespace

std::unique_ptr<GpuRival> makeGpuRival(const Gpu &gpu, const Task &task,
                                       const std::vector<DeviceOperands> &sets,
                                       std::string &missing) {
  switch (task.entry.baseline) {
  case Baseline::copy:
    return std::make_unique<CopyRival>(gpu, task.entry.bytes(task.problem), sets.size());
  case Baseline::gemm:
  case Baseline::groupedGemm:
  case Baseline::scaledGemm:
    if (auto product = makeProduct(gpu, task, sets, missing))
      return product;
    return std::make_unique<CopyRival>(gpu, operandBytes(task), sets.size());
  default:
    return nullptr;
  }
}

} // namespace ditron::tools
