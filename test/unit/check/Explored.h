// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explores textual IR, for the tests of the explorer.
#pragma once
#include "ditron/check/Explorer.h"
#include "ditron/reference/Memory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ditron::explorer {

/// A module in textual IR, and memory for its kernels' arguments.
class Source {
public:
  explicit Source(const std::string &text, const std::string &file = "test.mlir") {
    context_
        .loadDialect<core::TileDialect, device::DistDialect, mlir::arith::ArithDialect,
                     mlir::func::FuncDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                     mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_, file);
    EXPECT_TRUE(module_) << text;
  }

  mlir::func::FuncOp kernel(const std::string &name) {
    return module_->lookupSymbol<mlir::func::FuncOp>(name);
  }

  /// The options that the kernel states as attributes.
  static reference::Options options(mlir::func::FuncOp kernel) {
    auto number = [&](const char *name, int64_t otherwise) {
      auto attribute = kernel->getAttrOfType<mlir::IntegerAttr>(name);
      return attribute ? attribute.getInt() : otherwise;
    };
    reference::Options options;
    options.ranks = number("ranks", 2);
    options.cores = number("cores", 1);
    options.nodes = number("nodes", 1);
    options.launches = static_cast<int>(number("launches", 1));
    return options;
  }

  /// Memory of the extents that the types state, integers of 1.
  std::vector<std::vector<reference::ArgumentValue>> arguments(mlir::func::FuncOp kernel,
                                                               int64_t ranks) {
    std::vector<std::vector<reference::ArgumentValue>> all(ranks);
    for (std::vector<reference::ArgumentValue> &values : all)
      for (mlir::Type type : kernel.getArgumentTypes()) {
        auto memory = mlir::dyn_cast<mlir::MemRefType>(type);
        if (!memory) {
          values.push_back(int64_t(1));
          continue;
        }
        DType element = reference::elementType(type);
        reference::Extents sizes(memory.getShape()), strides = reference::denseStrides(sizes);
        buffers_.emplace_back(reference::numElements(sizes) * byteSize(element));
        values.push_back(reference::ArgumentMemory{buffers_.back().data(),
                                                   element,
                                                   {sizes.begin(), sizes.end()},
                                                   {strides.begin(), strides.end()}});
      }
    return all;
  }

  Program record(const std::string &name) {
    mlir::func::FuncOp function = kernel(name);
    reference::Options chosen = options(function);
    return explorer::record(function, arguments(function, chosen.ranks), chosen);
  }

  Exploration explore(const std::string &name, const ExploreOptions &how = {}) {
    mlir::func::FuncOp function = kernel(name);
    reference::Options chosen = options(function);
    return explorer::explore(function, arguments(function, chosen.ranks), chosen, how);
  }

private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<std::vector<std::byte>> buffers_;
};

/// All that was found, for messages.
inline std::string toString(const Exploration &exploration) {
  std::string text = fmt::format("{} ({} states, {} schedules)\n", name(exploration.method),
                                 exploration.states, exploration.schedules);
  for (const Finding &finding : exploration.findings) {
    text += fmt::format("{}: {}\n", name(finding.kind), finding.message);
    for (const Party &party : finding.parties)
      text += fmt::format("  {}: {} ({})\n", party.who(), party.what, party.source());
    for (const std::string &note : finding.notes)
      text += fmt::format("  note: {}\n", note);
    text += fmt::format("  schedule {}\n", finding.schedule);
    for (const std::string &step : finding.steps)
      text += fmt::format("    {}\n", step);
  }
  return text;
}

} // namespace ditron::explorer
