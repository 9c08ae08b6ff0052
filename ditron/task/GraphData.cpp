// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/GraphData.h"
#include "ditron/core/KnownShape.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>

namespace ditron::task {

std::string memoryName(const Graph &graph, size_t type) {
  return fmt::format("{}.{}", graph.types[type].name(), type);
}

std::string Graph::describe(const Node &node) const {
  return fmt::format("'{}' ({})", node.name, kernelOf(node).name());
}

Dimension dimension(int64_t extent) {
  Dimension result;
  result.factors = {std::to_string(extent)};
  return result;
}

std::optional<int64_t> extentOf(const Dimension &dimension) {
  int64_t extent = 0;
  if (llvm::StringRef(dimension.text()).getAsInteger(10, extent))
    return std::nullopt;
  return extent;
}

std::vector<int64_t> Value::shape() const {
  std::vector<int64_t> shape;
  for (const Dimension &dim : dims)
    shape.push_back(*extentOf(dim));
  return shape;
}

bool Value::isUnfilled() const {
  return kind == ValueKind::constant && !tensor.data() && tensor.shape() != shape();
}

const Graph &requireTasks(const Graph &graph) {
  if (graph.nodes.empty())
    throw CompileError(graph.name + ": the graph has no task, expected one or more");
  return graph;
}

std::vector<bool> writtenValues(const Graph &graph) {
  std::vector<bool> isWritten(graph.values.size());
  for (const Node &node : graph.nodes)
    for (auto [n, parameter] : llvm::enumerate(graph.kernelOf(node).parameters()))
      if (const auto *value = std::get_if<size_t>(&node.operands[n]);
          value && canWrite(parameter.access))
        isWritten[*value] = true;
  return isWritten;
}

bool isDense(const Value &value) {
  if (value.kind != ValueKind::constant)
    return value.kind == ValueKind::made && !value.isOutput;
  return !value.tensor.data() || value.tensor.contiguous(); // it will be filled, or is
}

void failAt(const std::optional<std::string> &place, Location where, const std::string &message) {
  if (!place)
    throw CompileError(message, where);
  throw CompileError(place->empty() ? message : *place + ": " + message);
}

void Graph::fail(const Node &node, const std::string &problem) const {
  failAt(node.place, node.where, fmt::format("{}: task {}: {}", name, describe(node), problem));
}

//===-- Shapes --------------------------------------------------------------------------------===//

/// The inputs as arguments of one signature, which binds the names of their dimensions.
static Signature signatureOf(const Graph &graph) {
  std::vector<std::string> inputs;
  for (const Value &value : graph.values)
    if (value.kind == ValueKind::input)
      inputs.push_back(Argument{value.name, false, false, value.dims}.text());
  return Signature::ofInputs(fmt::format("{}({})", graph.name, fmt::join(inputs, ", ")));
}

std::vector<std::string> dimensionNames(const Graph &graph) {
  return signatureOf(graph).dimensionNames();
}

ShapeInference::ShapeInference(const Graph &graph, int64_t ranks)
    : graph_(graph), ranks_(ranks), shapes_(graph.values.size()), isKnown_(graph.values.size()) {
  for (auto [n, value] : llvm::enumerate(graph.values))
    if (value.kind == ValueKind::constant)
      set(n, value.shape());
}

void ShapeInference::set(size_t value, std::vector<int64_t> shape) {
  shapes_[value] = std::move(shape);
  isKnown_[value] = true;
}

void ShapeInference::add(const Node &node) {
  const Signature &signature = graph_.kernelOf(node).signature();
  std::vector<const std::vector<int64_t> *> given;
  for (const Operand &operand : node.operands) {
    const auto *value = std::get_if<size_t>(&operand);
    given.push_back(value && isKnown_[*value] ? &shapes_[*value] : nullptr);
  }
  try {
    Dimensions dims = signature.bind(given, ranks_);
    for (auto [n, operand] : llvm::enumerate(node.operands))
      if (const auto *value = std::get_if<size_t>(&operand); value && !isKnown_[*value])
        set(*value, signature.shape(signature.arguments()[n], dims));
  } catch (const CompileError &error) {
    graph_.fail(node, error.what());
  }
}

Shapes shapesOf(const Graph &graph, const std::vector<std::vector<int64_t>> &inputs,
                int64_t ranks) {
  std::vector<const std::vector<int64_t> *> given;
  for (const std::vector<int64_t> &shape : inputs)
    given.push_back(&shape);
  if (!inputs.empty())
    signatureOf(graph).bind(given, ranks);
  ShapeInference shapes(graph, ranks);
  size_t next = 0;
  for (auto [n, value] : llvm::enumerate(graph.values))
    if (value.kind == ValueKind::input)
      shapes.set(n, inputs.at(next++));
  for (const Node &node : graph.nodes)
    shapes.add(node);
  return shapes.take();
}

Shapes shapesOf(const Graph &graph, const Dimensions &dims, int64_t ranks) {
  Signature signature = signatureOf(graph);
  Dimensions known = dims;
  known["R"] = ranks;
  std::vector<std::vector<int64_t>> inputs;
  for (const Argument &argument : signature.arguments())
    inputs.push_back(signature.shape(argument, known));
  return shapesOf(graph, inputs, ranks);
}

/// The shapes of constants.
static Shapes constantShapes(const Graph &graph) {
  Shapes shapes;
  for (const Value &value : graph.values)
    shapes.push_back(value.kind == ValueKind::constant
                         ? value.shape()
                         : std::vector(static_cast<size_t>(value.rank), core::kUnknownExtent));
  return shapes;
}

/// Forgets the extents that are others here.
static void keepCommon(std::vector<int64_t> &shape, const std::vector<int64_t> &other) {
  for (auto [extent, found] : llvm::zip_equal(shape, other))
    if (extent != found)
      extent = core::kUnknownExtent;
}
static void keepCommon(Shapes &shapes, const Shapes &others) {
  for (auto [shape, other] : llvm::zip_equal(shapes, others))
    keepCommon(shape, other);
}

Shapes knownShapes(const Graph &graph, int64_t ranks) {
  constexpr int64_t kMost = int64_t(1) << 30;
  Dimensions least;
  for (const std::string &name : dimensionNames(graph))
    least[name] = 1;
  // A dimension grows with each name in it, or falls. One name at a time: M/N is 1 wherever both are the same.
  try {
    Shapes shapes = shapesOf(graph, least, ranks);
    for (const auto &[name, extent] : least) {
      Dimensions dims = least;
      dims[name] = kMost;
      keepCommon(shapes, shapesOf(graph, dims, ranks));
    }
    return shapes;
  } catch (const CompileError &) { // shapes that kernels do not take
    return constantShapes(graph);
  }
}

void requireShapes(const Graph &graph, const Shapes &known, const Shapes &shapes) {
  for (auto [value, extents, shape] : llvm::zip(graph.values, known, shapes))
    for (auto [extent, found] : llvm::zip(extents, shape))
      if (extent != core::kUnknownExtent && extent != found)
        throw InternalError(fmt::format("{}: '{}' has an extent of {}, and the kernel is for {}",
                                        graph.name, value.name, found, extent));
}

/// What holds of an argument where another node passes another value.
static void keepCommon(GraphArgument &argument, const GraphArgument &other) {
  argument.isConstant &= other.isConstant;
  argument.isLasting &= other.isLasting;
  argument.isDense &= other.isDense;
  if (!argument.extents.empty() && !other.extents.empty())
    keepCommon(argument.extents, other.extents);
  else
    argument.extents.clear();
}

std::vector<GraphArgument> graphArguments(const Graph &graph, size_t type, const Shapes &known) {
  std::vector<bool> isWritten = writtenValues(graph);
  auto argumentOf = [&](const Operand &operand) -> GraphArgument {
    const auto *number = std::get_if<size_t>(&operand);
    if (!number)
      return {};
    const Value &value = graph.values[*number];
    bool writes = isWritten[*number], hasShapes = !known.empty();
    return {.isConstant = !writes && value.kind != ValueKind::made,
            .isLasting = writes && value.kind == ValueKind::constant,
            .isDense = hasShapes && isDense(value),
            .extents = hasShapes ? known[*number] : std::vector<int64_t>()};
  };
  std::vector<GraphArgument> result;
  for (const Node &node : graph.nodes)
    for (size_t n = 0; node.type == type && n < node.operands.size(); ++n)
      if (n == result.size())
        result.push_back(argumentOf(node.operands[n]));
      else
        keepCommon(result[n], argumentOf(node.operands[n]));
  return result;
}

} // namespace ditron::task
