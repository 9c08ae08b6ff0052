// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/report/Interpretation.h"
#include "ditron/core/TileOps.h"
#include "ditron/lang/Trace.h"
#include "ditron/reference/TextLaunch.h"
#include "ditron/runtime/Options.h"
#include <mutex>
#include <optional>

namespace ditron::tools {

using runtime::KernelArgument;
using runtime::Tensor;

namespace {

/// The kernel with all of its verbs, as text with the places of its operations.
std::string textOf(const Kernel &kernel) {
  std::lock_guard own(kernel.traced().compiling);
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel.traced().meaning()->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return text;
}

/// Whether a product of it may lose what others keep.
bool hasFastProducts(const Kernel &kernel) {
  std::lock_guard own(kernel.traced().compiling);
  bool isFast = false;
  kernel.traced().meaning()->walk(
      [&](core::DotOp product) { isFast |= product.getPrecision() != core::Precision::ieee; });
  return isFast;
}

/// Half of the distance of two neighbouring floats, in parts of them.
double roundingUnit(DType type) {
  switch (type) {
  case DType::f16:
    return 0x1p-11;
  case DType::bf16:
    return 0x1p-8;
  case DType::f8e4m3:
    return 0x1p-4;
  case DType::f8e5m2:
    return 0x1p-3;
  default:
    return 0x1p-24;
  }
}

} // namespace

struct Interpretation::Impl {
  Kernel kernel;
  runtime::MeshShape mesh;
  bool isFast;
  std::shared_ptr<const std::string> text;
  reference::ParsedKernel parsed;

  std::mutex lock = {};
  std::optional<uint64_t> seed = {};                       ///< of the arguments below
  std::vector<std::vector<KernelArgument>> arguments = {}; ///< by rank, behind the launch

  Impl(const Kernel &of, const runtime::MeshShape &on)
      : kernel(of), mesh(on), isFast(hasFastProducts(of)),
        text(std::make_shared<const std::string>(textOf(of))), parsed(*text) {}

  std::vector<KernelArgument> argumentsOf(const kernels::Inputs &inputs, int64_t rank) const {
    std::vector<KernelArgument> result;
    for (size_t n = 0; n < kernel.parameters().size(); ++n) {
      const detail::Parameter &parameter = kernel.parameters()[n];
      if (parameter.kind == detail::Parameter::Kind::view) {
        Tensor memory = Tensor::own(parameter.dtype, inputs.shape(n));
        inputs.fill(rank, n, memory.data());
        result.emplace_back(memory);
      } else if (isFloat(parameter.dtype)) {
        result.emplace_back(inputs.scalar(n));
      } else {
        result.emplace_back(int64_t(inputs.scalar(n)));
      }
    }
    return result;
  }

  /// Interprets a launch of all ranks; of a kernel that knows nothing of ranks, one of each.
  void run(const kernels::Inputs &inputs) {
    constexpr int kCores = 2;
    arguments.clear();
    std::vector<reference::LaunchPart> parts;
    for (int64_t rank = 0; rank < int64_t(mesh.nodes) * mesh.local; ++rank) {
      arguments.push_back(argumentsOf(inputs, rank));
      parts.push_back({kernel.name(), text, arguments.back()});
    }
    std::chrono::milliseconds time = runtime::Options().launchTimeout;
    reference::LaunchParts all;
    for (const reference::LaunchPart &part : parts)
      all.push_back(&part);
    if (parsed.isOfRanks())
      parsed.launch(all, kCores, mesh.nodes, mesh.axes, 0, time);
    else
      for (const reference::LaunchPart *part : all)
        parsed.launch({part}, kCores, 1, {}, 0, time);
  }
};

Interpretation::Interpretation(const Kernel &kernel, const runtime::MeshShape &mesh)
    : impl_(std::make_unique<Impl>(kernel, mesh)) {}
Interpretation::~Interpretation() = default;
Interpretation::Interpretation(Interpretation &&) noexcept = default;

Tensor Interpretation::expected(const kernels::Inputs &inputs, int64_t rank,
                                size_t argument) const {
  std::unique_lock guard(impl_->lock, std::try_to_lock);
  while (!guard) // busy, so that the other ranks take this one to be at work
    guard = std::unique_lock(impl_->lock, std::try_to_lock);
  if (impl_->seed != inputs.seed()) {
    impl_->seed.reset();
    impl_->run(inputs);
    impl_->seed = inputs.seed();
  }
  return std::get<Tensor>(impl_->arguments[size_t(rank)][argument]);
}

double Interpretation::tolerance(DType type) const {
  if (!isFloat(type))
    return 0;
  constexpr double kSums = 1e-4, kFastProducts = 1e-2;
  return (impl_->isFast ? kFastProducts : kSums) + 2 * roundingUnit(type);
}

} // namespace ditron::tools
