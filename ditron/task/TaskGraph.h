// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Task level: kernels as nodes of one program.
//
//   TaskGraph g("mlp");
//   auto x = g.input("x[B,K]");
//   auto up = g.task(gemv(), x, wUp);          // wUp, wDown: tensors of the device
//   auto act = g.task(silu(), up);
//   g.output(g.task(gemv(), act, wDown));
//   TaskProgram step = ctx.compile(g, {.mode = Mode::megakernel});
//   step(x, y);                                // inputs, then outputs, as they were declared
//
// A node means what a launch of its kernel means, and nodes follow one another in the order in
// which they were added. Which tile of a node waits for which tiles of others follows from the
// tiles that the kernels read and write.
#pragma once
#include "ditron/support/Number.h"
#include "ditron/task/GraphData.h"
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace ditron {

namespace task {
class GraphReader; // of graphs in the IR: GraphModule.h
}

/// A tensor of a graph: a handle of it.
class Value {
public:
  Value() = default;
  Value(size_t graph, size_t number) : graph_(graph), number_(number) {}
  size_t number() const { return number_; }
  /// Which graph it is of: see TaskGraph.
  size_t graph() const { return graph_; }

private:
  size_t graph_ = 0, number_ = size_t(-1);
};

namespace detail {

/// What a task is given for an argument.
struct TaskArgument {
  enum class Kind { value, tensor, integer, real } kind;
  Value value = {};
  runtime::Tensor tensor = {};
  int64_t integer = 0;
  double real = 0;
  bool isWritten = false; ///< by inOut() or into()

  TaskArgument(Value value) : kind(Kind::value), value(value) {}
  TaskArgument(const runtime::Tensor &tensor) : kind(Kind::tensor), tensor(tensor) {}
  /// CompileError where the integer is beyond those of 64 bits.
  template <std::integral N> TaskArgument(N n) : kind(Kind::integer), integer(integerOf(n)) {}
  template <std::floating_point F> TaskArgument(F f) : kind(Kind::real), real(f) {}

private:
  static int64_t integerOf(Number n);
};

/// A kernel, and the line that makes a task of it.
struct TaskKernel {
  const Kernel &kernel;
  Location where;
  TaskKernel(const Kernel &kernel, Location where = Location::current())
      : kernel(kernel), where(where) {}
};

} // namespace detail

/// An argument that the task reads and writes in place.
inline detail::TaskArgument inOut(detail::TaskArgument argument) {
  argument.isWritten = true;
  return argument;
}
/// Where an output of the task goes: in the place of that output, behind the inputs.
inline detail::TaskArgument into(detail::TaskArgument argument) {
  return inOut(std::move(argument));
}

/// What a task makes: a Value where it has one output, otherwise as many as are asked for, also as
/// an aggregate of Values: `struct Stream { Value x, scaled; }; Stream s = g.task(...)`.
class TaskResults {
public:
  TaskResults(std::string task, std::vector<Value> values, Location where)
      : task_(std::move(task)), values_(std::move(values)), where_(where) {}

  operator Value() const { return expect(1)[0]; }
  template <class T>
    requires(std::is_aggregate_v<T> && sizeof(T) % sizeof(Value) == 0)
  operator T() const {
    constexpr size_t count = sizeof(T) / sizeof(Value);
    return [this]<size_t... n>(std::index_sequence<n...>) {
      expect(count);
      return T{values_[n]...};
    }(std::make_index_sequence<count>());
  }
  size_t size() const { return values_.size(); }
  /// CompileError where there are not as many.
  Value operator[](size_t n) const;

private:
  const std::vector<Value> &expect(size_t count) const;
  std::string task_;
  std::vector<Value> values_;
  Location where_;
};

/// A graph of tasks, as a value. A copy takes the values that the graph had, and no later ones: they share nothing.
class TaskGraph {
public:
  /// CompileError where the name is no word of letters, digits, _ and -.
  explicit TaskGraph(std::string name, Location where = Location::current());
  TaskGraph(const TaskGraph &other);
  TaskGraph(TaskGraph &&) = default;
  TaskGraph &operator=(const TaskGraph &other) { return *this = TaskGraph(other); }
  TaskGraph &operator=(TaskGraph &&) = default;

  /// A tensor that launches are given, declared as in a signature: input("token[B]", DType::i32).
  /// A dimension is a name or a number; one name has one extent in all inputs.
  Value input(std::string_view declaration, DType type = DType::f32,
              Location where = Location::current());
  /// A tensor that lives as long as the graph and what is compiled of it: weights, caches.
  Value constant(const runtime::Tensor &tensor, std::string name = {},
                 Location where = Location::current());

  /// Adds an invocation of the kernel. Arguments are those of its signature: all inputs, then those
  /// outputs that are somewhere already, inOut() or into(); the others are made. CompileError naming
  /// the task and the argument where kind, type or number of dimensions do not fit, or where a value
  /// is read that no task before has made.
  template <class... A> TaskResults task(const detail::TaskKernel &kernel, const A &...arguments) {
    return add(kernel.kernel, {detail::TaskArgument(arguments)...}, kernel.where);
  }

  /// From here on names of nodes begin with this: "layer 3".
  void label(std::string text) { label_ = std::move(text); }
  /// A tensor that launches are given to write, behind the inputs: what `value` is in the end.
  void output(Value value, Location where = Location::current());

  /// Gives constants that have no memory, those of a graph that was read from a text, what `make`
  /// returns. CompileError where type or extents are others.
  void fillConstants(const std::function<runtime::Tensor(const task::Value &)> &make,
                     Location where = Location::current());

  const std::string &name() const { return graph_.name; }
  bool has(Value value) const;
  const task::Graph &graph() const { return graph_; }

private:
  TaskResults add(const Kernel &kernel, const std::vector<detail::TaskArgument> &arguments,
                  Location where);
  /// Adds a node of one of the graph's types.
  TaskResults addNode(task::Node node, const std::vector<detail::TaskArgument> &arguments);
  size_t typeOf(const Kernel &kernel);

  friend class NodeBuilder;
  friend class task::GraphReader;
  Value addConstant(task::Value constant);
  Value valueOf(size_t number) const { return {identity_, number}; }

  size_t identity_; ///< from 1 on, another one for each graph that is made, copies too
  /// Of which graphs this is a copy, and how many of their values it has.
  std::vector<std::pair<size_t, size_t>> copied_;
  task::Graph graph_;
  std::string label_;
  std::vector<std::string> texts_; ///< of the types: IR
};

} // namespace ditron
