// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph of kernel invocations as data: what TaskGraph records, and what schedules, drawings and
// launches are made of.
//
//   value   a tensor: given at the launch, a constant, or made by a node
//   type    a kernel, once for all nodes that invoke the same IR
//   node    an invocation of a type: an operand for each argument of its signature
//
// Nodes stand in the order in which they were added. Each may be launched behind those before it,
// which is what the graph means; a schedule keeps as much of that order as the tiles need.
#pragma once
#include "ditron/lang/Kernel.h"
#include "ditron/runtime/TensorMemory.h"
#include <string>
#include <variant>
#include <vector>

namespace ditron::task {

/// Where the elements of a value are.
enum class ValueKind {
  input,    ///< given at the launch
  constant, ///< a tensor that the graph was made with
  made,     ///< memory of the compiled graph
};

struct Value {
  std::string name;
  ValueKind kind = ValueKind::made;
  DType type = DType::f32;
  int rank = 0;
  /// Of an input, as it was declared: names and numbers.
  std::vector<Dimension> dims = {};
  runtime::Tensor tensor = {}; ///< of a constant
  bool isOutput = false;       ///< given at the launch too, behind the inputs
};

/// What a node passes for an argument: the number of a value, or a number.
using Operand = std::variant<size_t, int64_t, double>;

struct Node {
  std::string name;
  size_t type = 0;
  std::vector<Operand> operands = {}; ///< as the signature of the type has them
  Location where = Location::current();
};

struct Graph {
  std::string name;
  std::vector<Value> values = {};
  std::vector<Kernel> types = {};
  std::vector<Node> nodes = {};
  std::vector<size_t> outputs = {}; ///< values, in the order of launches

  const Kernel &kernelOf(const Node &node) const { return types[node.type]; }
  /// "'layer 0 gemv' (gemv)"
  std::string describe(const Node &node) const;
};

/// The shape of each value.
using Shapes = std::vector<std::vector<int64_t>>;

/// The shapes that follow from those of the inputs, in the order of declaration. CompileError naming
/// the input, or the node and its argument, where they contradict one another.
Shapes shapesOf(const Graph &graph, const std::vector<std::vector<int64_t>> &inputs, int64_t ranks);

} // namespace ditron::task
