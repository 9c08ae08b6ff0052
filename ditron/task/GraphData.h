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
#include "ditron/abi/CompileRequest.h"
#include "ditron/lang/Kernel.h"
#include "ditron/runtime/TensorMemory.h"
#include <optional>
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
  /// Of an input, as it was declared: names and numbers. Of a constant, numbers.
  std::vector<Dimension> dims = {};
  runtime::Tensor tensor = {}; ///< of a constant; null where the graph was read from a text
  bool isOutput = false;       ///< given at the launch too, behind the inputs

  /// Of a constant, its extents.
  std::vector<int64_t> shape() const;
  /// A constant of a text, whose elements nobody knows.
  bool isUnfilled() const;
};

/// A dimension that is a number.
Dimension dimension(int64_t extent);
/// The number that a dimension is, if it is one.
std::optional<int64_t> extentOf(const Dimension &dimension);

/// What a node passes for an argument: the number of a value, or a number.
using Operand = std::variant<size_t, int64_t, double>;

struct Node {
  std::string name;
  size_t type = 0;
  std::vector<Operand> operands = {}; ///< as the signature of the type has them
  Location where = Location::current();
  /// Of a graph that was read from a text: "mlp.mlir:12:3", which stands for `where`.
  std::optional<std::string> place = {};
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
  /// Throws a CompileError at the node's line: "mlp: task 'layer 0 gemv' (gemv): <problem>".
  [[noreturn]] void fail(const Node &node, const std::string &problem) const;
};

/// What the symmetric memory and signals of a type are called in a megakernel, in front of their names:
/// "all-reduce.2".
std::string memoryName(const Graph &graph, size_t type);

/// The graph, where it has a task. CompileError otherwise.
const Graph &requireTasks(const Graph &graph);

/// For each value, whether a node writes it.
std::vector<bool> writtenValues(const Graph &graph);
/// Whether the elements of a value lie one behind the other at every launch, in row-major order.
bool isDense(const Value &value);

/// Throws a CompileError at the place in a text, where there is one, otherwise at the line.
[[noreturn]] void failAt(const std::optional<std::string> &place, Location where,
                         const std::string &message);

/// The shape of each value.
using Shapes = std::vector<std::vector<int64_t>>;

/// The shapes that follow from those of the inputs, in the order of declaration. CompileError naming
/// the input, or the node and its argument, where they contradict one another.
Shapes shapesOf(const Graph &graph, const std::vector<std::vector<int64_t>> &inputs, int64_t ranks);
/// The same for extents of the names that stand in the declarations of inputs. CompileError for one
/// that is missing.
Shapes shapesOf(const Graph &graph, const Dimensions &dims, int64_t ranks);

/// The extents that values have at every launch, core::kUnknownExtent for the others.
Shapes knownShapes(const Graph &graph, int64_t ranks);

/// Throws an InternalError unless the shapes of a launch have all extents that are known; `known`: of no value, or of all.
void requireShapes(const Graph &graph, const Shapes &known, const Shapes &shapes);

/// What holds of each argument of a type for all nodes of it. Constant: inputs or constants that no node writes. Lasting:
/// constants that nodes write, caches, say, most of which was there before. `known`: of values, as knownShapes gives them;
/// empty: extents, and what is dense, are not asked for.
std::vector<GraphArgument> graphArguments(const Graph &graph, size_t type, const Shapes &known);

/// The names that stand in the declarations of inputs.
std::vector<std::string> dimensionNames(const Graph &graph);

/// Shapes of values, node by node.
class ShapeInference {
public:
  ShapeInference(const Graph &graph, int64_t ranks);
  void set(size_t value, std::vector<int64_t> shape);
  bool isKnown(size_t value) const { return isKnown_[value]; }
  /// Fills in the shapes of what the node makes.
  void add(const Node &node);
  Shapes take() { return std::move(shapes_); }

private:
  const Graph &graph_;
  int64_t ranks_;
  Shapes shapes_;
  std::vector<bool> isKnown_;
};

} // namespace ditron::task
