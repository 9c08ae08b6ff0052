// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs textual IR on arrays, for the tests of the interpreter.
#pragma once
#include "ditron/reference/Interpreter.h"
#include "ditron/support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

namespace ditron::reference {

/// A dense row-major array of the test's own.
template <class T> struct Array {
  std::vector<int64_t> sizes;
  std::vector<T> elements;

  Array(std::vector<int64_t> sizes, T fill = T())
      : sizes(sizes), elements(numElements(sizes), fill) {}
  Array(std::vector<int64_t> sizes, std::vector<T> elements)
      : sizes(std::move(sizes)), elements(std::move(elements)) {}

  T &at(int64_t i, int64_t j) { return elements[i * sizes[1] + j]; }
  operator ArgumentValue() {
    Extents strides = denseStrides(sizes);
    return ArgumentMemory{elements.data(), kDType<T>, sizes, {strides.begin(), strides.end()}};
  }
};

/// "memref<?x?xf32, strided<[?, ?], offset: ?>>": the type of a view, optionally in a space.
inline std::string view(int rank, const std::string &element, const std::string &space = "") {
  std::string extents, strides;
  for (int d = 0; d < rank; ++d) {
    extents += "?x";
    strides += d ? ", ?" : "?";
  }
  return fmt::format("memref<{}{}, strided<[{}], offset: ?>{}>", extents, element, strides,
                     space.empty() ? "" : fmt::format(", #dist.space<{}>", space));
}

/// A parsed module.
class Program {
public:
  explicit Program(const std::string &text) {
    context_
        .loadDialect<core::TileDialect, device::DistDialect, mlir::arith::ArithDialect,
                     mlir::func::FuncDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                     mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
    context_.allowUnregisteredDialects();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_, "test.mlir");
    EXPECT_TRUE(module_) << text;
  }
  /// The function named `kernel`.
  mlir::func::FuncOp kernel() { return module_->lookupSymbol<mlir::func::FuncOp>("kernel"); }

  Result run(const std::vector<std::vector<ArgumentValue>> &arguments, Options options = {}) {
    options.ranks = static_cast<int64_t>(arguments.size());
    return interpret(kernel(), arguments, options);
  }

private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

/// What `fn` throws says each of `parts`, in this order.
template <class Error, class Fn> void expectError(Fn &&fn, const std::vector<std::string> &parts) {
  try {
    fn();
    FAIL() << "no error; expected one that says: " << parts.front();
  } catch (const Error &error) {
    std::string text = error.what();
    size_t from = 0;
    for (const std::string &part : parts) {
      size_t found = text.find(part, from);
      ASSERT_NE(found, std::string::npos) << "'" << part << "' is missing in:\n" << text;
      from = found + part.size();
    }
  }
}

} // namespace ditron::reference
