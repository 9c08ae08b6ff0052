// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/TaskGraph.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <atomic>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron {

using detail::Parameter;
using detail::TaskArgument;

const std::vector<Value> &TaskResults::expect(size_t count) const {
  if (values_.size() != count)
    throw CompileError(
        fmt::format("task {} makes {} values, expected {}", task_, values_.size(), count), where_);
  return values_;
}

Value TaskResults::operator[](size_t n) const {
  if (n >= values_.size())
    throw CompileError(
        fmt::format("value {} of task {} is asked for, which makes {}", n, task_, values_.size()),
        where_);
  return values_[n];
}

int64_t detail::TaskArgument::integerOf(Number n) {
  if (std::string reason = reasonAgainst(DType::i64, n); !reason.empty())
    throw CompileError("an argument of a task: " + reason);
  return n.integer();
}

static size_t nextIdentity() {
  static std::atomic<size_t> last = 0;
  return ++last;
}

/// What a signature takes for a name.
static bool isWord(std::string_view text) {
  return !text.empty() && text.find("->") == text.npos && llvm::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
}

TaskGraph::TaskGraph(std::string name, Location where) : identity_(nextIdentity()) {
  if (!isWord(name))
    throw CompileError(
        fmt::format("a graph is named '{}', expected a word of letters, digits, _ and -", name),
        where);
  graph_.name = std::move(name);
}

TaskGraph::TaskGraph(const TaskGraph &other)
    : identity_(nextIdentity()), copied_(other.copied_), graph_(other.graph_), label_(other.label_),
      texts_(other.texts_) {
  copied_.emplace_back(other.identity_, other.graph_.values.size());
}

bool TaskGraph::has(Value value) const {
  if (value.graph() == identity_)
    return value.number() < graph_.values.size();
  return std::ranges::any_of(copied_, [&](const auto &copied) {
    return value.graph() == copied.first && value.number() < copied.second;
  });
}

//===-- Values --------------------------------------------------------------------------------===//

Value TaskGraph::input(std::string_view declaration, DType type, Location where) {
  Signature signature = Signature::ofInputs(fmt::format("{}({})", graph_.name, declaration), where);
  const std::vector<Argument> &parsed = signature.arguments();
  if (parsed.size() != 1 || parsed.front().isScalar)
    throw CompileError(fmt::format("{}: an input is declared as '{}', expected a name and "
                                   "dimensions, as in x[B,K]",
                                   graph_.name, declaration),
                       where);
  const Argument &argument = parsed.front();
  for (const task::Value &value : graph_.values)
    if (value.kind == task::ValueKind::input && value.name == argument.name)
      throw CompileError(fmt::format("{}: there are two inputs '{}'", graph_.name, argument.name),
                         where);
  graph_.values.push_back({.name = argument.name,
                           .kind = task::ValueKind::input,
                           .type = type,
                           .rank = static_cast<int>(argument.dims.size()),
                           .dims = argument.dims});
  return valueOf(graph_.values.size() - 1);
}

Value TaskGraph::constant(const runtime::Tensor &tensor, std::string name, Location where) {
  // The same elements are one value, so that what is written in place is seen by whoever reads it.
  for (auto [n, value] : llvm::enumerate(graph_.values))
    if (value.kind == task::ValueKind::constant && value.tensor.data() == tensor.data() &&
        value.tensor.dtype() == tensor.dtype() && value.tensor.shape() == tensor.shape() &&
        value.tensor.strides() == tensor.strides())
      return valueOf(n);
  if (name.empty())
    name = fmt::format("constant {}", graph_.values.size());
  if (!tensor.data() && tensor.elements() > 0)
    throw CompileError(
        fmt::format("{}: '{}' is a Tensor without memory, expected one that was made", graph_.name,
                    name),
        where);
  task::Value value{.name = std::move(name),
                    .kind = task::ValueKind::constant,
                    .type = tensor.dtype(),
                    .rank = tensor.dims(),
                    .tensor = tensor};
  for (int64_t extent : tensor.shape())
    value.dims.push_back(task::dimension(extent));
  return addConstant(std::move(value));
}

Value TaskGraph::addConstant(task::Value constant) {
  graph_.values.push_back(std::move(constant));
  return valueOf(graph_.values.size() - 1);
}

void TaskGraph::fillConstants(const std::function<runtime::Tensor(const task::Value &)> &make,
                              Location where) {
  for (task::Value &value : graph_.values) {
    if (!value.isUnfilled())
      continue;
    runtime::Tensor tensor = make(value);
    if (tensor.dtype() != value.type || tensor.shape() != value.shape())
      throw CompileError(fmt::format("{}: constant '{}' is given {} [{}], expected {} [{}]",
                                     graph_.name, value.name, ditron::name(tensor.dtype()),
                                     fmt::join(tensor.shape(), ", "), ditron::name(value.type),
                                     fmt::join(value.shape(), ", ")),
                         where);
    value.tensor = std::move(tensor);
  }
}

void TaskGraph::output(Value value, Location where) {
  if (!has(value))
    throw CompileError(fmt::format("{}: an output is no value of the graph", graph_.name), where);
  task::Value &made = graph_.values[value.number()];
  if (made.kind != task::ValueKind::made || made.isOutput)
    throw CompileError(fmt::format("{}: '{}' cannot be an output: it is {}, expected what a task "
                                   "has made",
                                   graph_.name, made.name,
                                   made.isOutput                         ? "one already"
                                   : made.kind == task::ValueKind::input ? "an input"
                                                                         : "a constant"),
                       where);
  made.isOutput = true;
  graph_.outputs.push_back(value.number());
}

//===-- Tasks ---------------------------------------------------------------------------------===//

/// Makes a node of a kernel and what it is given.
class NodeBuilder {
public:
  NodeBuilder(TaskGraph &owner, task::Graph &graph, const Kernel &kernel, task::Node node)
      : owner_(owner), graph_(graph), kernel_(kernel), node_(std::move(node)) {}

  TaskResults build(const std::vector<TaskArgument> &arguments) {
    size_t next = 0;
    std::vector<Value> results;
    for (auto [n, argument] : llvm::enumerate(kernel_.signature().arguments())) {
      bool isPlaced = argument.isOutput && next < arguments.size() && arguments[next].isWritten;
      bool isMade =
          argument.isOutput && !isPlaced && kernel_.parameters()[n].access == Access::write;
      if (isMade) {
        results.push_back(make(argument, kernel_.parameters()[n]));
        node_.operands.emplace_back(results.back().number());
        continue;
      }
      if (next == arguments.size())
        fail(fmt::format("it is given {} arguments, expected {} too", next, argument.name));
      node_.operands.push_back(operand(argument, kernel_.parameters()[n], arguments[next++]));
    }
    if (next < arguments.size())
      fail(fmt::format("it is given {} arguments, expected {}", arguments.size(), next));
    checkOverlap();
    TaskResults made(graph_.describe(node_), std::move(results), node_.where);
    graph_.nodes.push_back(std::move(node_));
    return made;
  }

private:
  [[noreturn]] void fail(const std::string &problem) const {
    graph_.fail(node_, fmt::format("{}: {}", kernel_.signature().text(), problem));
  }

  Value make(const Argument &argument, const Parameter &parameter) {
    graph_.values.push_back({.name = fmt::format("{}.{}", node_.name, argument.name),
                             .kind = task::ValueKind::made,
                             .type = parameter.dtype,
                             .rank = parameter.rank});
    return owner_.valueOf(graph_.values.size() - 1);
  }

  task::Operand operand(const Argument &argument, const Parameter &parameter,
                        const TaskArgument &given) {
    using Kind = TaskArgument::Kind;
    bool isNumber = given.kind == Kind::integer || given.kind == Kind::real;
    if (isNumber != (parameter.kind != Parameter::Kind::view))
      fail(fmt::format("{} is {}, expected {}", argument.name, isNumber ? "a number" : "a tensor",
                       isNumber ? "a tensor" : "a number"));
    if (parameter.kind == Parameter::Kind::scalar)
      checkNumber(argument, parameter,
                  given.kind == Kind::integer ? Number(given.integer) : Number(given.real));
    if (given.kind == Kind::integer)
      return given.integer;
    if (parameter.kind == Parameter::Kind::index)
      fail(fmt::format("{} is {}, expected an integer", argument.name, given.real));
    if (given.kind == Kind::real)
      return isFloat(parameter.dtype) ? task::Operand(given.real)
                                      : task::Operand(static_cast<int64_t>(given.real));
    Value value = given.kind == Kind::tensor ? constant(argument, given.tensor) : given.value;
    check(argument, parameter, value, given.isWritten);
    return value.number();
  }

  void checkNumber(const Argument &argument, const Parameter &parameter,
                   const Number &number) const {
    if (std::string reason = reasonAgainst(parameter.dtype, number); !reason.empty())
      fail(fmt::format("{}: {}", argument.name, reason));
  }

  Value constant(const Argument &argument, const runtime::Tensor &tensor) {
    if (!tensor.data() && tensor.elements() > 0)
      fail(fmt::format("{} is a Tensor without memory, expected one that was made", argument.name));
    return owner_.constant(tensor, {}, node_.where);
  }

  void check(const Argument &argument, const Parameter &parameter, Value value, bool isWritten) {
    if (!owner_.has(value))
      fail(fmt::format("{} is no value of this graph", argument.name));
    const task::Value &found = graph_.values[value.number()];
    if (found.type != parameter.dtype)
      fail(fmt::format("{} is of {}, expected {}", argument.name, name(found.type),
                       name(parameter.dtype)));
    if (found.rank != parameter.rank)
      fail(fmt::format("{} has {} dimensions, expected {}", argument.name, found.rank,
                       parameter.rank));
    bool writes = parameter.access != Access::read;
    if (writes != isWritten)
      fail(fmt::format("{} is {}, expected {}", argument.name,
                       isWritten ? "passed by inOut() or into() but only read"
                                 : "written by the kernel",
                       isWritten ? "the value alone" : "inOut() or into() around the value"));
  }

  /// What a task writes is no other argument of it.
  void checkOverlap() const {
    for (size_t n = 0; n < node_.operands.size(); ++n)
      for (size_t other = 0; other < node_.operands.size(); ++other) {
        const auto *a = std::get_if<size_t>(&node_.operands[n]);
        const auto *b = std::get_if<size_t>(&node_.operands[other]);
        if (n == other || !a || !b || *a != *b || kernel_.parameters()[n].access == Access::read ||
            kernel_.isInPlace(n, other) || kernel_.isInPlace(other, n))
          continue;
        const std::vector<Argument> &names = kernel_.signature().arguments();
        fail(fmt::format("{} and {} are one value, and {} is written: expected two",
                         names[std::min(n, other)].name, names[std::max(n, other)].name,
                         names[n].name));
      }
  }

  TaskGraph &owner_;
  task::Graph &graph_;
  const Kernel &kernel_;
  task::Node node_;
};

size_t TaskGraph::typeOf(const Kernel &kernel) {
  // What the text does not say: which arguments may be the same.
  std::string text = kernel.signature().text() + kernel.ir();
  for (size_t n = 0; n < kernel.parameters().size(); ++n)
    for (size_t other = 0; other < n; ++other)
      if (kernel.isInPlace(n, other) || kernel.isInPlace(other, n))
        text += fmt::format(" {}={}", n, other);
  auto found = std::find(texts_.begin(), texts_.end(), text);
  if (found == texts_.end()) {
    texts_.push_back(std::move(text));
    graph_.types.push_back(kernel);
    return texts_.size() - 1;
  }
  return static_cast<size_t>(found - texts_.begin());
}

TaskResults TaskGraph::addNode(task::Node node, const std::vector<TaskArgument> &arguments) {
  const Kernel kernel = graph_.kernelOf(node); // the vector of them may move
  return NodeBuilder(*this, graph_, kernel, std::move(node)).build(arguments);
}

TaskResults TaskGraph::add(const Kernel &kernel, const std::vector<TaskArgument> &arguments,
                           Location where) {
  std::string name = label_.empty() ? kernel.name() : fmt::format("{} {}", label_, kernel.name());
  size_t values = graph_.values.size(), types = graph_.types.size();
  try {
    task::Node node{.name = std::move(name), .type = typeOf(kernel), .where = where};
    return addNode(std::move(node), arguments);
  } catch (...) { // a graph is as it was before a task that it refuses
    graph_.values.resize(values);
    graph_.types.erase(graph_.types.begin() + static_cast<std::ptrdiff_t>(types),
                       graph_.types.end());
    texts_.resize(types);
    throw;
  }
}

} // namespace ditron
