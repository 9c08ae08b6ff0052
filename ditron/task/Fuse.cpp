// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/Fuse.h"
#include "ditron/core/KnownShape.h"
#include "ditron/device/LowerInboxes.h"
#include "ditron/support/Error.h"
#include "ditron/task/NodeMemory.h"
#include "ditron/task/PreparedKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Verifier.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

using namespace mlir;

namespace ditron::task {

/// Columns of a task; those of its operands follow. What it waits for first stands among them: few
/// tasks wait for more.
enum Column : int64_t {
  kType,
  kWaits,     ///< how many
  kCounter,   ///< of the first of them
  kAwaited,   ///< the count that it waits for
  kMoreWaits, ///< where the others begin in their table
  kNode,      ///< its counter; below 0: nobody waits for it
  kCount, ///< of tasks that are added to the counter of the core; 0: none; below 0: so many, and nobody waits
  kInstance,
  kFirst,
  kEnd,
  kOperands
};

namespace {

std::string argumentText(const Graph &graph, size_t value) {
  std::vector<std::string> dims;
  for (int d = 0; d < graph.values[value].rank; ++d)
    dims.push_back(fmt::format("v{}_{}", value, d));
  return fmt::format("v{}[{}]", value, fmt::join(dims, ","));
}

} // namespace

/// Writes the kernel.
class Fuser {
public:
  Fuser(FusedKernel &fused, const Graph &graph, const std::vector<Footprint> &footprints)
      : fused_(fused), graph_(graph), footprints_(footprints),
        traced_(std::make_shared<TracedKernel>()) {
    traced_->context = detail::makeContext();
  }

  Kernel build() {
    std::vector<OwningOpRef<ModuleOp>> types;
    for (const Kernel &type : graph_.types)
      types.push_back(prepare(type, *traced_->context));
    for (const Node &node : graph_.nodes)
      refuseCopyEngines(node, functionOf(*types[node.type]));
    declare();
    b_.emplace(UnknownLoc::get(traced_->context.get()), traced_->context.get());
    makeFunction();
    declareMemory(types);
    loopOverTasks([&](mlir::Value task, mlir::Value type) {
      for (size_t number = 0; number < types.size(); ++number)
        addType(number, functionOf(*types[number]), task, type);
    });
    b_->create<func::ReturnOp>();
    if (failed(verify(*traced_->module)))
      throw InternalError(fmt::format("{}: the kernel of a graph is not valid", graph_.name));
    if (!function_.front().getOps<device::InboxOp>().empty())
      expandInboxes();
    return Kernel(std::shared_ptr<const TracedKernel>(traced_));
  }

private:
  void refuseCopyEngines(const Node &node, func::FuncOp function) const {
    if (device::copyRoles(function).empty())
      return;
    throw CompileError(
        fmt::format("{}: task {} is of a kernel with a role on copy engines, which no "
                    "core can drive: expected Mode::stream, or another engine",
                    graph_.name, graph_.describe(node)),
        node.where);
  }

  /// For what the kernel means.
  void expandInboxes() {
    traced_->withVerbs = traced_->module->clone();
    if (failed(device::lowerInboxes(*traced_->withVerbs)))
      throw InternalError(
          fmt::format("{}: the inboxes of a graph cannot be expanded", graph_.name));
  }

  //===-- The signature -----------------------------------------------------------------------===//

  void declare() {
    std::vector<bool> isWritten = writtenValues(graph_);
    std::vector<std::string> inputs, outputs;
    auto parameter = [&](size_t value, Access access) {
      const Value &given = graph_.values[value];
      return detail::Parameter{detail::Parameter::Kind::view, access, given.type, given.rank};
    };
    std::vector<detail::Parameter> written;
    for (size_t value = 0; value < graph_.values.size(); ++value) {
      std::string text = argumentText(graph_, value);
      if (isWritten[value]) {
        fused_.outputs_.push_back(value);
        outputs.push_back(text);
        written.push_back(parameter(value, Access::readWrite));
      } else {
        fused_.inputs_.push_back(value);
        inputs.push_back(text);
        traced_->parameters.push_back(parameter(value, Access::read));
      }
    }
    for (const char *table : {"queue[Q]", "tasks[T,C]", "waits[W,2]"})
      inputs.emplace_back(table);
    for (int rank : {1, 2, 2})
      traced_->parameters.push_back(
          {detail::Parameter::Kind::view, Access::read, DType::i64, rank});
    traced_->parameters.insert(traced_->parameters.end(), written.begin(), written.end());
    traced_->signature = Signature(fmt::format("{}({}) -> {}", graph_.name, fmt::join(inputs, ", "),
                                               fmt::join(outputs, ", ")));
  }

  void makeFunction() {
    traced_->module = ModuleOp::create(b_->getLoc());
    b_->setInsertionPointToEnd(traced_->module->getBody());
    function_ = detail::makeFunction(*b_, b_->getLoc(), *traced_);
    b_->setInsertionPointToEnd(&function_.getBody().front());
    arguments_.resize(graph_.values.size());
    unsigned next = 0;
    auto bind = [&](size_t value) {
      arguments_[value] = function_.getArgument(next);
      function_.setArgAttr(next, core::kNameAttr, b_->getStringAttr(graph_.values[value].name));
      describeShape(value, next++);
    };
    llvm::for_each(fused_.inputs_, bind);
    std::string cores = fmt::format("a{}.0 1 sub", next);
    function_->setAttr(device::kExactCoresAttr, b_->getStrArrayAttr({StringRef(cores)}));
    queue_ = function_.getArgument(next++);
    tasks_ = function_.getArgument(next++);
    waits_ = function_.getArgument(next++);
    for (size_t value : fused_.outputs_) {
      if (graph_.values[value].kind == ValueKind::constant) {
        function_.setArgAttr(next, core::kLastingAttr, b_->getUnitAttr());
        if (isPrior(value))
          function_.setArgAttr(next, core::kPriorAttr, b_->getUnitAttr());
      }
      bind(value);
    }
  }

  /// Whether one node has it, and deals its tiles: then no tile of it depends on another.
  bool isPrior(size_t value) const {
    auto takes = [&](const Node &node) {
      return llvm::is_contained(node.operands, Operand(value));
    };
    auto node = llvm::find_if(graph_.nodes, takes);
    return llvm::count_if(graph_.nodes, takes) == 1 && footprints_[node->type].isDealt();
  }

  /// What is known of the argument that a value is.
  void describeShape(size_t value, unsigned argument) {
    const std::vector<int64_t> &known = fused_.known_[value];
    if (llvm::any_of(known, [](int64_t extent) { return extent != core::kUnknownExtent; }))
      function_.setArgAttr(argument, core::kKnownExtentsAttr, b_->getDenseI64ArrayAttr(known));
    if (isDense(graph_.values[value]))
      function_.setArgAttr(argument, core::kDenseAttr, b_->getUnitAttr());
    if (fused_.selfSignaling_[value])
      function_.setArgAttr(argument, core::kSelfSignalingAttr, b_->getUnitAttr());
  }

  //===-- The loop ----------------------------------------------------------------------------===//

  mlir::Value constant(int64_t value) { return b_->create<arith::ConstantIndexOp>(value); }
  mlir::Value add(mlir::Value a, int64_t b) { return b_->create<arith::AddIOp>(a, constant(b)); }
  mlir::Value word(mlir::Value table, ValueRange at) {
    auto load = b_->create<memref::LoadOp>(table, at);
    isWithin(load);
    return load;
  }
  /// Numbers of the tables and what they count are those of a schedule.
  void isWithin(Operation *op) { op->setAttr(core::kWithinAttr, b_->getUnitAttr()); }
  /// A number of the schedule's, which has 32 bits: see tablesOf.
  mlir::Value number(mlir::Value table, ValueRange at) {
    mlir::Value low = b_->create<arith::TruncIOp>(b_->getI32Type(), word(table, at));
    return b_->create<arith::IndexCastOp>(b_->getIndexType(), low);
  }
  mlir::Value ofTask(mlir::Value task, int64_t column) {
    return number(tasks_, {task, constant(column)});
  }

  void loop(mlir::Value begin, mlir::Value end, llvm::function_ref<void(mlir::Value)> body) {
    auto loop = b_->create<scf::ForOp>(begin, end, constant(1));
    OpBuilder::InsertionGuard guard(*b_);
    b_->setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void loopOverTasks(llvm::function_ref<void(mlir::Value, mlir::Value)> body) {
    mlir::Value cores = add(b_->create<memref::DimOp>(queue_, 0), -1);
    mlir::Value done = b_->create<device::SignalsOp>(
        device::SignalsType::get(b_->getContext(), 1), b_->getStringAttr(kDoneSignal),
        add(cores, static_cast<int64_t>(graph_.nodes.size())));
    mlir::Value core = b_->create<device::CoreOp>(b_->getIndexType());
    loop(number(queue_, core), number(queue_, add(core, 1)), [&](mlir::Value task) {
      mlir::Value type = ofTask(task, kType), waits = ofTask(task, kWaits);
      // Known before the task begins: nothing is read between its end and who waits for it.
      mlir::Value node = ofTask(task, kNode), count = ofTask(task, kCount);
      loop(constant(0), waits, [&](mlir::Value wait) {
        auto [counter, awaited] = waitOf(task, wait);
        isWithin(b_->create<device::WaitOp>(done, counter, awaited));
      });
      body(task, type);
      tell(done, b_->create<arith::AddIOp>(cores, node), constant(1), node, 0);
      tell(done, core, count, count, 1);
      if (!llvm::is_contained(fused_.selfSignaling_, true))
        return;
      mlir::Value quiet = b_->create<arith::SubIOp>(constant(0), count);
      tell(done, core, quiet, quiet, 1)->setAttr(device::kUnorderedAttr, b_->getUnitAttr());
    });
  }

  /// The counter of a wait of a task, and the count.
  std::pair<mlir::Value, mlir::Value> waitOf(mlir::Value task, mlir::Value wait) {
    mlir::Value counter = ofTask(task, kCounter), awaited = ofTask(task, kAwaited);
    mlir::Value isFirst = b_->create<arith::CmpIOp>(arith::CmpIPredicate::eq, wait, constant(0));
    Type index = b_->getIndexType();
    auto branch = b_->create<scf::IfOp>(TypeRange{index, index}, isFirst, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(*b_);
    b_->setInsertionPointToStart(branch.thenBlock());
    b_->create<scf::YieldOp>(ValueRange{counter, awaited});
    b_->setInsertionPointToStart(branch.elseBlock());
    mlir::Value row = b_->create<arith::AddIOp>(ofTask(task, kMoreWaits), add(wait, -1));
    mlir::Value other = number(waits_, {row, constant(0)}),
                more = number(waits_, {row, constant(1)});
    b_->create<scf::YieldOp>(ValueRange{other, more});
    return {branch.getResult(0), branch.getResult(1)};
  }

  /// Raises a counter where a number is at least so large.
  Operation *tell(mlir::Value done, mlir::Value counter, mlir::Value by, mlir::Value number,
                  int64_t least) {
    mlir::Value is = b_->create<arith::CmpIOp>(arith::CmpIPredicate::sge, number, constant(least));
    auto branch = b_->create<scf::IfOp>(is, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(*b_);
    b_->setInsertionPointToStart(branch.thenBlock());
    auto notify =
        b_->create<device::NotifyOp>(done, counter, mlir::Value(), device::NotifyMode::add, by);
    isWithin(notify);
    return notify;
  }

  /// The symmetric memory of the nodes of all types.
  void declareMemory(ArrayRef<OwningOpRef<ModuleOp>> types) {
    for (auto [number, type] : llvm::enumerate(types)) {
      memory_.emplace_back(functionOf(*type), memoryName(graph_, number));
      if (memory_.back().isEmpty())
        continue;
      SmallVector<SmallVector<mlir::Value>> nodes;
      for (const Node &node : graph_.nodes)
        if (node.type == number)
          nodes.push_back(argumentsOf(node, functionOf(*type).getArgumentTypes()));
      memory_.back().declare(*b_, nodes);
    }
  }

  /// None for floats, of which no extent depends.
  SmallVector<mlir::Value> argumentsOf(const Node &node, TypeRange types) {
    SmallVector<mlir::Value> result;
    for (auto [operand, type] : llvm::zip_equal(node.operands, types)) {
      const auto *value = std::get_if<size_t>(&operand);
      const auto *integer = std::get_if<int64_t>(&operand);
      if (value)
        result.push_back(arguments_[*value]);
      else if (integer && type.isIntOrIndex())
        result.push_back(
            b_->create<arith::ConstantOp>(b_->getIntegerAttr(type, *integer)).getResult());
      else
        result.emplace_back();
    }
    return result;
  }

  //===-- A type ------------------------------------------------------------------------------===//

  void addType(size_t number, func::FuncOp type, mlir::Value task, mlir::Value taken) {
    mlir::Value is = b_->create<arith::CmpIOp>(arith::CmpIPredicate::eq, taken,
                                               constant(static_cast<int64_t>(number)));
    auto branch = b_->create<scf::IfOp>(is, /*withElseRegion=*/false);
    branch->setAttr(device::kAlternativeAttr, b_->getI64IntegerAttr(static_cast<int64_t>(number)));
    OpBuilder::InsertionGuard guard(*b_);
    b_->setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping;
    for (auto [n, argument] : llvm::enumerate(type.getArguments()))
      mapping.map(argument, operand(number, n, argument.getType(), task));
    mlir::Value instance;
    if (!memory_[number].isEmpty()) {
      instance = ofTask(task, kInstance);
      isWithin(instance.getDefiningOp());
    }
    bool isOrdered = handsOnMemory(number);
    for (Operation &op : type.front().without_terminator()) {
      if (memory_[number].enter(*b_, op, instance, mapping))
        continue;
      Operation *copy = b_->clone(op, mapping);
      memory_[number].address(copy, instance);
      if (!isOrdered)
        copy->walk([&](Operation *verb) {
          if (isa<device::SendOp, device::ReceiveOp>(verb))
            verb->setAttr(device::kUnorderedAttr, b_->getUnitAttr());
        });
      if (auto tiles = dyn_cast<device::TilesOp>(copy); tiles && footprints_[number].isDealt())
        limit(tiles, task);
    }
  }

  /// Whether cores may tell one another of memory, beside the tiles in inboxes: of that of verbs, or of a
  /// tensor that a node both reads and writes.
  bool handsOnMemory(size_t type) const {
    const std::vector<detail::Parameter> &parameters = graph_.types[type].parameters();
    auto isUpdated = [&](const Node &node) {
      std::set<size_t> read, written;
      for (auto [operand, parameter] : llvm::zip_equal(node.operands, parameters))
        if (const auto *value = std::get_if<size_t>(&operand)) {
          if (parameter.access != Access::write)
            read.insert(*value);
          if (canWrite(parameter.access))
            written.insert(*value);
        }
      return llvm::any_of(read, [&](size_t value) { return written.contains(value); });
    };
    return !memory_[type].isOfInboxes() || llvm::any_of(graph_.nodes, [&](const Node &node) {
      return node.type == type && isUpdated(node);
    });
  }

  /// The loop over tiles takes those of the task.
  void limit(device::TilesOp tiles, mlir::Value task) {
    OpBuilder::InsertionGuard guard(*b_);
    b_->setInsertionPoint(tiles);
    tiles.getFirstMutable().assign(ofTask(task, kFirst));
    tiles.getEndMutable().assign(ofTask(task, kEnd));
  }

  mlir::Value operand(size_t type, size_t argument, Type as, mlir::Value task) {
    mlir::Value at = constant(kOperands + static_cast<int64_t>(argument));
    if (!isa<MemRefType>(as)) {
      std::optional<int64_t> common = fused_.commonWord(type, argument);
      mlir::Value bits = common ? b_->create<arith::ConstantIntOp>(*common, 64).getResult()
                                : word(tasks_, {task, at});
      return scalar(bits, as);
    }
    SmallVector<mlir::Value> views;
    for (size_t value : fused_.choices_[type][argument])
      views.push_back(arguments_[value]);
    if (views.size() == 1)
      return views.front();
    return b_->create<core::SelectViewOp>(as, number(tasks_, {task, at}), views);
  }

  /// The scalar whose bits are the lowest of a word.
  mlir::Value scalar(mlir::Value word, Type as) {
    if (as.isIndex())
      return b_->create<arith::IndexCastOp>(as, word);
    unsigned bits = as.getIntOrFloatBitWidth();
    mlir::Value low =
        bits < 64 ? b_->create<arith::TruncIOp>(b_->getIntegerType(bits), word).getResult() : word;
    return isa<FloatType>(as) ? b_->create<arith::BitcastOp>(as, low).getResult() : low;
  }

  FusedKernel &fused_;
  const Graph &graph_;
  const std::vector<Footprint> &footprints_;
  std::shared_ptr<TracedKernel> traced_;
  std::optional<ImplicitLocOpBuilder> b_;
  func::FuncOp function_;
  std::vector<mlir::Value> arguments_; ///< of the values
  std::vector<NodeMemory> memory_;     ///< of the types
  mlir::Value queue_, tasks_, waits_;
};

FusedKernel::FusedKernel(const Graph &graph, const std::vector<Footprint> &footprints, Shapes known,
                         std::vector<bool> selfSignaling)
    : graph_(graph), known_(std::move(known)), selfSignaling_(std::move(selfSignaling)),
      choices_(graph.types.size()) {
  known_.resize(graph.values.size());
  selfSignaling_.resize(graph.values.size());
  size_t most = 0;
  for (size_t type = 0; type < graph.types.size(); ++type) {
    choices_[type].resize(graph.types[type].parameters().size());
    most = std::max(most, choices_[type].size());
  }
  columns_ = kOperands + static_cast<int64_t>(most);
  std::vector<int64_t> counts(graph.types.size());
  for (const Node &node : graph.nodes) {
    instances_.push_back(counts[node.type]++);
    for (auto [n, operand] : llvm::enumerate(node.operands))
      if (const auto *value = std::get_if<size_t>(&operand)) {
        std::vector<size_t> &choices = choices_[node.type][n];
        if (!llvm::is_contained(choices, *value))
          choices.push_back(*value);
      }
  }
  kernel_ = Fuser(*this, graph, footprints).build();
}

void FusedKernel::requireShapes(const Shapes &shapes) const {
  task::requireShapes(graph_, known_, shapes);
}

int64_t FusedKernel::column(const Node &node, size_t argument) const {
  const Operand &operand = node.operands[argument];
  if (const auto *value = std::get_if<size_t>(&operand))
    return llvm::find(choices_[node.type][argument], *value) -
           choices_[node.type][argument].begin();
  const detail::Parameter &parameter = graph_.kernelOf(node).parameters()[argument];
  const auto *integer = std::get_if<int64_t>(&operand);
  if (parameter.kind == detail::Parameter::Kind::index || !isFloat(parameter.dtype))
    return integer ? *integer : static_cast<int64_t>(std::get<double>(operand));
  int64_t bits = 0;
  storeElement(parameter.dtype, &bits, integer ? double(*integer) : std::get<double>(operand));
  return bits;
}

std::optional<int64_t> FusedKernel::commonWord(size_t type, size_t argument) const {
  std::optional<int64_t> common;
  for (const Node &node : graph_.nodes) {
    if (node.type != type)
      continue;
    int64_t word = column(node, argument);
    if (common.value_or(word) != word)
      return std::nullopt;
    common = word;
  }
  return common;
}

/// The kernel reads 32 bits of each.
static void requireNumbers(const Graph &graph, ArrayRef<int64_t> row) {
  for (int64_t number : row)
    if (number != int32_t(number))
      throw CompileError(
          fmt::format("{}: a task has number {} among its tiles or waits, expected less than 2^31",
                      graph.name, number));
}

Tables FusedKernel::tablesOf(const Plan &plan) const {
  Tables tables;
  tables.queue = {0};
  tables.columns = columns_;
  auto cores = static_cast<int64_t>(plan.queues.size());
  auto counterOf = [&](const Wait &wait) {
    return wait.node ? cores + static_cast<int64_t>(*wait.node) : wait.core;
  };
  for (const std::vector<Task> &queue : plan.queues) {
    int64_t untold = 0; // tasks that the core's counter does not have yet
    for (const Task &task : queue) {
      const Node &node = graph_.nodes[task.node];
      ++untold;
      auto more = static_cast<int64_t>(tables.waits.size() / 2);
      for (const Wait &wait : std::span(task.waits).subspan(task.waits.empty() ? 0 : 1))
        tables.waits.insert(tables.waits.end(), {counterOf(wait), wait.count});
      Wait first = task.waits.empty() ? Wait() : task.waits.front();
      std::vector<int64_t> row{static_cast<int64_t>(node.type),
                               static_cast<int64_t>(task.waits.size()),
                               counterOf(first),
                               first.count,
                               more,
                               task.tellsNode ? static_cast<int64_t>(task.node) : -1,
                               task.tellsCore      ? std::exchange(untold, 0)
                               : task.tellsQuietly ? -std::exchange(untold, 0)
                                                   : 0,
                               instances_[task.node],
                               task.first,
                               task.end};
      requireNumbers(graph_, row);
      for (size_t n = 0; n < node.operands.size(); ++n)
        row.push_back(column(node, n));
      row.resize(static_cast<size_t>(columns_));
      tables.tasks.insert(tables.tasks.end(), row.begin(), row.end());
    }
    tables.queue.push_back(static_cast<int64_t>(tables.tasks.size()) / columns_);
  }
  return tables;
}

} // namespace ditron::task
