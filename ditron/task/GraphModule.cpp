// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/GraphModule.h"
#include "ditron/core/ElementType.h"
#include "ditron/support/Error.h"
#include "ditron/task/KernelFunction.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron::task {

std::unique_ptr<MLIRContext> makeContext() {
  std::unique_ptr<MLIRContext> context = ditron::detail::makeContext();
  context->loadDialect<TaskDialect>();
  return context;
}

//===-- To the IR -----------------------------------------------------------------------------===//

namespace {

class GraphWriter {
public:
  GraphWriter(const Graph &graph, MLIRContext &context)
      : graph_(graph), b_(UnknownLoc::get(&context), &context),
        module_(ModuleOp::create(b_.getLoc())) {}

  OwningOpRef<ModuleOp> write() {
    for (const Kernel &type : graph_.types)
      types_.push_back(SymbolRefAttr::get(addFunction(type, *module_)));
    b_.setInsertionPointToEnd(module_->getBody());
    auto graph = b_.create<GraphOp>(graph_.name);
    SymbolTable(*module_).insert(graph);
    b_.createBlock(&graph.getBody());
    values_.resize(graph_.values.size());
    for (size_t n = 0; n < graph_.values.size(); ++n)
      declare(n);
    for (const Node &node : graph_.nodes)
      add(node);
    for (size_t output : graph_.outputs)
      b_.create<OutputOp>(values_[output]);
    return std::move(module_);
  }

private:
  MemoryType typeOf(const Value &value) {
    SmallVector<int64_t> shape(static_cast<size_t>(value.rank), ShapedType::kDynamic);
    for (auto [d, dim] : llvm::enumerate(value.dims))
      shape[d] = extentOf(dim).value_or(ShapedType::kDynamic);
    return MemoryType::get(b_.getContext(), shape,
                           ditron::detail::elementType(b_.getContext(), value.type));
  }

  void declare(size_t number) {
    const Value &value = graph_.values[number];
    if (value.kind == ValueKind::input)
      values_[number] =
          b_.create<InputOp>(typeOf(value), Argument{value.name, false, false, value.dims}.text());
    else if (value.kind == ValueKind::constant)
      values_[number] = b_.create<ConstantOp>(typeOf(value), value.name);
  }

  void add(const Node &node) {
    SmallVector<mlir::Value> inputs, updated;
    SmallVector<Attribute> forms;
    SmallVector<Type> results{NodeType::get(b_.getContext())};
    SmallVector<size_t> made;
    const Kernel &kernel = graph_.kernelOf(node);
    for (auto [n, operand] : llvm::enumerate(node.operands)) {
      const auto *value = std::get_if<size_t>(&operand);
      bool isOutput = kernel.signature().arguments()[n].isOutput;
      if (!isOutput)
        forms.push_back(formOf(operand));
      if (value && isOutput && !values_[*value]) {
        made.push_back(*value);
        results.push_back(typeOf(graph_.values[*value]));
      } else if (value) {
        (isOutput ? updated : inputs).push_back(values_[*value]);
      }
    }
    ImplicitLocOpBuilder at(placeOf(node), b_);
    auto op = at.create<NodeOp>(results, b_.getStringAttr(node.name), types_[node.type], inputs,
                                updated, b_.getArrayAttr(forms));
    for (auto [value, tensor] : llvm::zip(made, op.getMade()))
      values_[value] = tensor;
  }

  Attribute formOf(const Operand &operand) {
    if (const auto *integer = std::get_if<int64_t>(&operand))
      return b_.getI64IntegerAttr(*integer);
    if (const auto *real = std::get_if<double>(&operand))
      return b_.getF64FloatAttr(*real);
    return b_.getUnitAttr();
  }

  mlir::Location placeOf(const Node &node) {
    return FileLineColLoc::get(b_.getContext(), node.where.file_name(), node.where.line(), 0);
  }

  const Graph &graph_;
  ImplicitLocOpBuilder b_;
  OwningOpRef<ModuleOp> module_;
  SmallVector<FlatSymbolRefAttr> types_;
  std::vector<mlir::Value> values_;
};

} // namespace

OwningOpRef<ModuleOp> moduleOf(const Graph &graph, MLIRContext &context) {
  return GraphWriter(graph, context).write();
}

//===-- From the IR ---------------------------------------------------------------------------===//

using ditron::detail::TaskArgument;

/// Calls what takes a line of C++, for which there is none here.
template <class Fn> static auto withoutPlace(const Fn &call) {
  Location here = Location::current();
  try {
    return call(here);
  } catch (const CompileError &error) {
    std::string text = error.what(), prefix = describe(here) + ": ";
    throw CompileError(StringRef(text).starts_with(prefix) ? text.substr(prefix.size()) : text);
  }
}

static std::string placeOf(Operation *op) {
  auto place = dyn_cast<FileLineColLoc>(op->getLoc());
  return place ? fmt::format("{}:{}:{}", place.getFilename().str(), place.getLine(),
                             place.getColumn())
               : "";
}

GraphReader::GraphReader(GraphOp graph) : op_(graph), current_(graph) {}

TaskGraph GraphReader::read() {
  return readWith([](func::FuncOp f) { return kernelOf(f); });
}

void GraphReader::check() {
  TaskGraph graph = readWith([](func::FuncOp f) { return signatureOf(f); });
  for (Node &node : graph.graph_.nodes)
    node.place = ""; // `current` says it
  inferShapes(graph.graph());
}

TaskGraph GraphReader::readWith(llvm::function_ref<Kernel(func::FuncOp)> kernelOf) {
  TaskGraph graph =
      withoutPlace([&](Location where) { return TaskGraph(op_.getSymName().str(), where); });
  for (Operation &op : op_.getBody().front())
    add(graph, op, kernelOf);
  return graph;
}

void GraphReader::add(TaskGraph &graph, Operation &op,
                      llvm::function_ref<Kernel(func::FuncOp)> kernelOf) {
  current_ = &op;
  if (auto input = dyn_cast<InputOp>(op))
    addInput(graph, input);
  else if (auto constant = dyn_cast<ConstantOp>(op))
    addConstant(graph, constant);
  else if (auto node = dyn_cast<NodeOp>(op))
    addNode(graph, node, typeOf(graph, node, kernelOf));
  else if (auto output = dyn_cast<OutputOp>(op))
    addOutput(graph, output);
}

static DType dtypeOf(MemoryType type) { return *core::dtypeOf(type.getElement()); }

void GraphReader::bind(mlir::Value tensor, ditron::Value value, const TaskGraph &graph) {
  const Value &known = graph.graph().values[value.number()];
  auto type = cast<MemoryType>(tensor.getType());
  auto refuse = [&](const std::string &found, const std::string &expected) {
    throw CompileError(fmt::format("{}: '{}' is written as {}, expected {}", graph.name(),
                                   known.name, found, expected));
  };
  if (dtypeOf(type) != known.type)
    refuse(fmt::format("of {}", ditron::name(dtypeOf(type))),
           fmt::format("{}", ditron::name(known.type)));
  if (type.getShape().size() != static_cast<size_t>(known.rank))
    refuse(fmt::format("of {} dimensions", type.getShape().size()), std::to_string(known.rank));
  for (size_t d = 0; d < known.dims.size(); ++d) {
    int64_t written = type.getShape()[d];
    std::optional<int64_t> extent = extentOf(known.dims[d]);
    if (!ShapedType::isDynamic(written) && extent != written)
      throw CompileError(fmt::format("{}: '{}' is written with extent {}, expected {}",
                                     graph.name(), known.name, written,
                                     extent ? std::to_string(*extent) : "?"));
  }
  values_[tensor] = value;
}

void GraphReader::addInput(TaskGraph &graph, InputOp op) {
  ditron::Value value = withoutPlace([&](Location where) {
    return graph.input(op.getDeclaration().str(), dtypeOf(op.getTensor().getType()), where);
  });
  bind(op.getTensor(), value, graph);
}

void GraphReader::addConstant(TaskGraph &graph, ConstantOp op) {
  MemoryType type = op.getTensor().getType();
  Value constant{.name = op.getLabel().str(),
                 .kind = ValueKind::constant,
                 .type = dtypeOf(type),
                 .rank = static_cast<int>(type.getShape().size())};
  for (int64_t extent : type.getShape())
    constant.dims.push_back(dimension(extent));
  bind(op.getTensor(), graph.addConstant(std::move(constant)), graph);
}

size_t GraphReader::typeOf(TaskGraph &graph, NodeOp op,
                           llvm::function_ref<Kernel(func::FuncOp)> kernelOf) {
  StringRef name = op.getKernel();
  auto [known, isNew] = types_.try_emplace(name, graph.graph_.types.size());
  if (!isNew)
    return known->second;
  auto fail = [&](const std::string &problem) {
    throw CompileError(fmt::format("{}: task '{}' ({}): {}", graph.name(), op.getLabel().str(),
                                   name.str(), problem));
  };
  Operation *found = SymbolTable::lookupNearestSymbolFrom(op_, op.getKernelAttr());
  auto function = dyn_cast_or_null<func::FuncOp>(found);
  if (!function || function.isExternal())
    fail(fmt::format("the module has no function '{}'", name.str()));
  try {
    graph.graph_.types.push_back(kernelOf(function));
  } catch (const CompileError &error) {
    fail(error.what());
  }
  graph.texts_.push_back(""); // another type than any of a program
  return known->second;
}

/// What a node of a program would be given.
static std::vector<TaskArgument> argumentsOf(NodeOp op,
                                             llvm::DenseMap<mlir::Value, ditron::Value> &values) {
  std::vector<TaskArgument> arguments;
  auto next = op.getInputs().begin();
  for (size_t n = 0; n < op.getInputForms().size(); ++n) {
    Attribute number = op.numberOf(n);
    if (auto integer = dyn_cast_or_null<IntegerAttr>(number))
      arguments.emplace_back(integer.getInt());
    else if (auto real = dyn_cast_or_null<FloatAttr>(number))
      arguments.emplace_back(real.getValueAsDouble());
    else
      arguments.emplace_back(values.lookup(*next++));
  }
  for (mlir::Value updated : op.getUpdated())
    arguments.push_back(inOut(values.lookup(updated)));
  return arguments;
}

void GraphReader::addNode(TaskGraph &graph, NodeOp op, size_t type) {
  Node node{.name = op.getLabel().str(), .type = type, .place = ""};
  std::vector<TaskArgument> arguments = argumentsOf(op, values_);
  std::string what = graph.graph().describe(node);
  TaskResults made = graph.addNode(std::move(node), arguments);
  graph.graph_.nodes.back().place = placeOf(op);
  nodes_.push_back(op);
  if (made.size() != op.getMade().size())
    throw CompileError(
        fmt::format("{}: task {} makes {} tensors, but has {} results behind the node",
                    graph.name(), what, made.size(), op.getMade().size()));
  for (auto [n, tensor] : llvm::enumerate(op.getMade()))
    bind(tensor, made[n], graph);
}

void GraphReader::addOutput(TaskGraph &graph, OutputOp op) {
  withoutPlace([&](Location where) { graph.output(values_.lookup(op.getTensor()), where); });
}

void GraphReader::inferShapes(const Graph &graph) {
  auto isOfRanks = [](const Kernel &type) {
    return llvm::any_of(type.signature().arguments(), [](const Argument &argument) {
      return StringRef(argument.text()).contains("R");
    });
  };
  if (llvm::any_of(graph.types, isOfRanks))
    return;
  ShapeInference shapes(graph, 1);
  for (auto [n, value] : llvm::enumerate(graph.values)) {
    std::vector<int64_t> shape;
    for (const Dimension &dim : value.dims)
      if (std::optional<int64_t> extent = extentOf(dim))
        shape.push_back(*extent);
    if (value.kind == ValueKind::input && shape.size() == value.dims.size())
      shapes.set(n, std::move(shape));
  }
  for (auto [number, node] : llvm::enumerate(graph.nodes)) {
    const Kernel &kernel = graph.kernelOf(node);
    bool isKnown = true;
    for (auto [n, operand] : llvm::enumerate(node.operands))
      if (const auto *value = std::get_if<size_t>(&operand))
        isKnown &= shapes.isKnown(*value) || kernel.signature().arguments()[n].isOutput;
    current_ = nodes_[number];
    if (isKnown)
      shapes.add(node);
  }
}

} // namespace ditron::task
