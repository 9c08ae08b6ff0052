// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is checked: a function of the IR, and arguments to run it on.
#pragma once
#include "ditron/checker/Check.h"
#include "ditron/reference/Interpreter.h"
#include <optional>
#include <utility>

namespace ditron::checker {

/// One argument of a kernel, on every rank.
struct ArgumentPlan {
  std::string name;
  bool isMemory = false;
  bool isOutput = false; ///< what it holds before is undefined
  bool isReadOnly = false;
  DType type = DType::f32;
  std::vector<int64_t> sizes;
  double scalar = 0;
  bool isAssumed = false;   ///< a scalar of which no value is given
  bool isOfProgram = false; ///< what it holds is a part of the program, not an input of it
  /// The number of the input whose memory this output is; none where it has its own.
  std::optional<size_t> inPlaceOf = {};
};

/// CompileError for numbers of ranks, cores and the like that make no sense.
void requireSense(const CheckOptions &options);

/// A kernel and its arguments. The IR is borrowed.
struct Subject {
  std::string name;
  mlir::func::FuncOp function;
  std::vector<ArgumentPlan> arguments;
  /// Numbers of an output and an input that a launch may give as one tensor: Kernel::inPlace.
  std::vector<std::pair<size_t, size_t>> inPlace = {};

  /// CompileError where the options do not fit the signature.
  static Subject of(const Kernel &kernel, const CheckOptions &options);
  /// The function of the module that is marked tile.kernel and has this name; the only one so
  /// marked if it is empty. What is not tile.readonly counts as defined. CompileError where there
  /// is none, or the extents of an argument are not known.
  static Subject of(mlir::ModuleOp module, const std::string &kernel, const CheckOptions &options);

  /// The same kernel in a copy of its module.
  Subject with(mlir::ModuleOp copy) const;
  /// The same kernel where the output lies in the memory of the input.
  Subject withInPlace(size_t output, size_t input) const;
};

/// The memory of the arguments of all ranks, filled: inputs by the options, outputs with poison.
class ArgumentSet {
public:
  /// RuntimeError where there is not that much memory.
  ArgumentSet(const Subject &subject, const CheckOptions &options);
  const std::vector<std::vector<reference::ArgumentValue>> &values() const { return values_; }
  /// All that the kernel may have written, rank by rank.
  std::vector<std::byte> outputs() const;

private:
  const Subject &subject_;
  std::vector<std::vector<std::vector<std::byte>>> memory_; ///< [rank][argument]
  std::vector<std::vector<reference::ArgumentValue>> values_;
};

} // namespace ditron::checker
