// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/GraphData.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::task {

std::string Graph::describe(const Node &node) const {
  return fmt::format("'{}' ({})", node.name, kernelOf(node).name());
}

namespace {

/// The inputs as arguments of one signature, which binds the names of their dimensions.
Signature signatureOf(const Graph &graph) {
  std::vector<std::string> inputs;
  for (const Value &value : graph.values)
    if (value.kind == ValueKind::input)
      inputs.push_back(Argument{value.name, false, false, value.dims}.text());
  return Signature(fmt::format("{}({}) -> nothing[1]", graph.name, fmt::join(inputs, ", ")));
}

/// Fills in the shapes of what a node makes.
void addShapes(const Graph &graph, const Node &node, Shapes &shapes, std::vector<bool> &isKnown,
               int64_t ranks) {
  const Signature &signature = graph.kernelOf(node).signature();
  std::vector<const std::vector<int64_t> *> given;
  for (const Operand &operand : node.operands) {
    const auto *value = std::get_if<size_t>(&operand);
    given.push_back(value && isKnown[*value] ? &shapes[*value] : nullptr);
  }
  try {
    Dimensions dims = signature.bind(given, ranks);
    for (auto [n, operand] : llvm::enumerate(node.operands))
      if (const auto *value = std::get_if<size_t>(&operand); value && !isKnown[*value]) {
        shapes[*value] = signature.shape(signature.arguments()[n], dims);
        isKnown[*value] = true;
      }
  } catch (const CompileError &error) {
    throw CompileError(
        fmt::format("{}: task {}: {}", graph.name, graph.describe(node), error.what()), node.where);
  }
}

} // namespace

Shapes shapesOf(const Graph &graph, const std::vector<std::vector<int64_t>> &inputs,
                int64_t ranks) {
  std::vector<const std::vector<int64_t> *> given;
  for (const std::vector<int64_t> &shape : inputs)
    given.push_back(&shape);
  if (!inputs.empty())
    signatureOf(graph).bind(given, ranks);
  Shapes shapes(graph.values.size());
  std::vector<bool> isKnown(graph.values.size());
  size_t next = 0;
  for (auto [n, value] : llvm::enumerate(graph.values)) {
    isKnown[n] = value.kind != ValueKind::made;
    if (value.kind == ValueKind::constant)
      shapes[n] = value.tensor.shape();
    else if (value.kind == ValueKind::input)
      shapes[n] = inputs.at(next++);
  }
  for (const Node &node : graph.nodes)
    addShapes(graph, node, shapes, isKnown, ranks);
  return shapes;
}

} // namespace ditron::task
