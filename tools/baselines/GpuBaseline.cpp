// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/baselines/GpuBaseline.h"
#include "ditron/interop/Cuda.h"
#include "ditron/runtime/nvidia/GpuDevice.h"
#include "tools/baselines/Cublas.h"
#include <cstring>

namespace ditron::baselines {

using kernels::Baseline;
using runtime::nvidia::GpuDevice;
using runtime::nvidia::GpuStream;

namespace {

class DeviceCopy : public GpuBaseline {
public:
  DeviceCopy(const Context &context, double bytes, size_t sets) : stream_(context.stream()) {
    std::vector<int64_t> shape{int64_t(bytes / 2)};
    Tensor ones = Tensor::own(DType::i8, shape);
    std::memset(ones.data(), 1, ones.bytes());
    for (size_t n = 0; n < sets; ++n) {
      from_.push_back(context.tensorFrom(ones));
      to_.push_back(context.tensor(DType::i8, shape));
    }
  }
  std::string name() const override { return "device copy"; }
  void launch(size_t set) const override { stream_.copy(to_[set], from_[set]); }

private:
  Stream stream_;
  std::vector<Tensor> from_, to_;
};

class LibraryProduct : public GpuBaseline {
public:
  LibraryProduct(const Context &context, std::unique_ptr<Cublas> cublas,
                 std::unique_ptr<Cublas::Product> product, std::vector<GemmOperands> sets,
                 std::string suffix, bool isSameWork)
      : stream_(context.stream()), cublas_(std::move(cublas)), product_(std::move(product)),
        sets_(std::move(sets)), suffix_(std::move(suffix)), isSameWork_(isSameWork) {}

  std::string name() const override { return product_->name() + suffix_; }
  std::string version() const override { return cublas_->version(); }
  void launch(size_t set) const override {
    product_->launch(sets_[set], dynamic_cast<GpuStream &>(stream_.handle()).driver());
  }
  bool isSameWork() const override { return isSameWork_; }
  bool roundsSums() const override { return product_->roundsSums(); }

private:
  Stream stream_;
  std::unique_ptr<Cublas> cublas_;
  std::unique_ptr<Cublas::Product> product_; // destroyed before the library, which it uses
  std::vector<GemmOperands> sets_;
  std::string suffix_;
  bool isSameWork_;
};

/// The product that a kernel computes, or the dense one of as many rows.
GemmProblem problemOf(const Work &work) {
  bool isGrouped = work.entry.baseline == Baseline::groupedGemm;
  const std::vector<Argument> &arguments = work.kernel.signature().arguments();
  GemmProblem problem;
  problem.M = work.problem[isGrouped ? "T" : "M"];
  problem.N = work.problem["N"];
  problem.K = work.problem["K"];
  problem.type = work.problem.type;
  problem.result = work.kernel.parameters().back().dtype;
  problem.isTransposed = arguments[1].dims.back().text() == "K";
  problem.hasScales = work.entry.baseline == Baseline::scaledGemm;
  problem.byRows = problem.hasScales && work.config.valueOr("scaling", 0) != 0;
  problem.isFast = work.config.valueOr("accuracy", 0) != 0;
  return problem;
}

/// Whether nothing is done to the product.
bool isPlain(const Work &work) {
  for (const char *name : {"bias", "activation", "residual", "scale"})
    if (work.config.valueOr(name, 0) != 0)
      return false;
  return work.entry.baseline != Baseline::groupedGemm;
}

/// Where an argument that is a tensor lies.
uint64_t addressOf(const KernelArgument &argument) {
  return cuda::address(std::get<Tensor>(argument));
}

std::unique_ptr<GpuBaseline> makeProduct(const Context &context, const Work &work,
                                         const std::vector<OperandSet> &sets,
                                         std::string &missing) {
  std::unique_ptr<Cublas> cublas =
      Cublas::load(dynamic_cast<GpuDevice &>(*context.device()).driver(), missing);
  if (!cublas)
    return nullptr;
  GemmProblem problem = problemOf(work);
  std::vector<GemmOperands> operands;
  for (const OperandSet &set : sets) {
    GemmOperands one{addressOf(set[0]), addressOf(set[1]), addressOf(set[outputOf(work.kernel)])};
    if (problem.hasScales)
      one.scaleA = addressOf(set[2]), one.scaleB = addressOf(set[3]);
    operands.push_back(one);
  }
  std::unique_ptr<Cublas::Product> product = cublas->product(problem, operands.front(), missing);
  if (!product)
    return nullptr;
  bool isLight = product->name() != "cublasGemmEx";
  std::string suffix = work.entry.baseline == Baseline::groupedGemm ? ", one dense product" : "";
  if (isLight && !problem.isTransposed)
    suffix += ", B transposed";
  bool isSameWork = isPlain(work) && !(isLight && !problem.isTransposed);
  return std::make_unique<LibraryProduct>(context, std::move(cublas), std::move(product),
                                          std::move(operands), suffix, isSameWork);
}

} // namespace

std::unique_ptr<GpuBaseline> makeGpuBaseline(const Context &context, const Work &work,
                                             const std::vector<OperandSet> &sets,
                                             std::string &missing) {
  switch (work.entry.baseline) {
  case Baseline::copy:
  case Baseline::read:
    return std::make_unique<DeviceCopy>(context, work.entry.bytesOf(work.problem, work.config),
                                        sets.size());
  case Baseline::gemm:
  case Baseline::groupedGemm:
  case Baseline::scaledGemm:
    if (auto product = makeProduct(context, work, sets, missing))
      return product;
    return std::make_unique<DeviceCopy>(context, operandBytes(work.kernel, work.problem),
                                        sets.size());
  default:
    return nullptr;
  }
}

} // namespace ditron::baselines
