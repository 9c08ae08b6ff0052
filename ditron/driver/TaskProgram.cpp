// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/TaskProgram.h"
#include "ditron/driver/Compile.h"
#include "ditron/driver/Context.h"
#include "ditron/driver/GraphRecording.h"
#include "ditron/driver/LaunchChecks.h"
#include "ditron/driver/Megakernel.h"
#include "ditron/driver/Overlap.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <atomic>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <list>
#include <mutex>
#include <optional>

namespace ditron {

namespace {

using Tensors = std::vector<Tensor>;
using Places = std::vector<int64_t>; ///< addresses and strides
using SharedTasks = std::shared_ptr<const runtime::LaunchTasks>;
using Enqueue =
    std::function<void(const Program &, const std::vector<KernelArgument> &, const SharedTasks &)>;

/// The shapes that a program was launched with: what its memory is made for.
struct Instance {
  std::vector<std::vector<int64_t>> shapes; ///< of the inputs
  Tensors values;                           ///< of the graph: null where a launch brings it
  std::vector<std::vector<int64_t>> outputs;
  Megakernel::Schedule schedule;   ///< of a megakernel
  Megakernel::Signaling signaling; ///< likewise
  /// Launches on the tensors that it was launched with last.
  std::list<std::pair<Places, Graph>> recorded;
  std::list<Places> checked; ///< of the last tensors that launches are known to take
  static constexpr size_t kMostRecorded = 8;
};

} // namespace

struct TaskProgram::Impl {
  std::shared_ptr<runtime::Device> device;
  int64_t ranks;
  std::shared_ptr<const task::Graph> shared;
  const task::Graph &graph = *shared;
  Mode mode;
  std::vector<bool> isWritten = task::writtenValues(graph); ///< of the values
  std::vector<size_t> outside = valuesOutside();            ///< whose memory is not the program's
  std::vector<Program> types = {};                          ///< where tasks are launches
  std::vector<SharedTasks> tasks = {};                      ///< likewise, each as reports name it
  task::Shapes known = {};                                  ///< likewise, that their code is for
  std::optional<Megakernel> megakernel = {};
  std::list<Instance> instances = {}; ///< the one launched last in front
  uint64_t lastLaunch = 0;
  std::mutex launching = {}; ///< guards both

  size_t inputs() const {
    return std::count_if(graph.values.begin(), graph.values.end(), [](const task::Value &value) {
      return value.kind == task::ValueKind::input;
    });
  }
  [[noreturn]] void refuse(const std::string &problem) const {
    throw CompileError(fmt::format("{}: {}", graph.name, problem));
  }
  bool isConstant(size_t value) const {
    return graph.values[value].kind == task::ValueKind::constant;
  }

  void compileLaunches(const Context &context, CompileOptions options);
  std::vector<size_t> valuesOutside() const;
  void checkOverlap(const Tensors &values, bool ofConstants) const;
  void checkTensors(Instance &instance, const Tensors &tensors) const;
  Instance &instanceFor(const Tensors &tensors);
  Instance makeInstance(const std::vector<std::vector<int64_t>> &shapes) const;
  void checkGiven(const Instance &instance, const Tensors &tensors) const;
  Tensors bind(const Instance &instance, const Tensors &tensors) const;
  const Graph &recorded(Instance &instance, const Tensors &tensors) const;
  void eachLaunch(const Instance &instance, const Tensors &tensors, const Enqueue &launch) const;
  void enqueue(const Instance &instance, const Tensors &tensors, const Stream &stream) const;
};

Instance TaskProgram::Impl::makeInstance(const std::vector<std::vector<int64_t>> &inputs) const {
  task::Shapes shapes = task::shapesOf(graph, inputs, ranks);
  task::requireShapes(graph, known, shapes);
  Instance instance;
  instance.shapes = inputs;
  for (size_t n = 0; n < graph.values.size(); ++n) {
    const task::Value &value = graph.values[n];
    bool isOurs = value.kind == task::ValueKind::made && !value.isOutput;
    instance.values.push_back(isOurs ? Tensor::own(device, value.type, shapes[n]) : value.tensor);
  }
  for (size_t output : graph.outputs)
    instance.outputs.push_back(shapes[output]);
  if (megakernel) {
    instance.schedule = megakernel->schedule(shapes);
    instance.signaling = megakernel->makeSignaling(shapes, instance.values);
  }
  return instance;
}

Instance &TaskProgram::Impl::instanceFor(const Tensors &tensors) {
  size_t expected = inputs() + graph.outputs.size();
  if (tensors.size() != expected)
    refuse(fmt::format("launched with {} tensors, expected {}: {} inputs and {} outputs",
                       tensors.size(), expected, inputs(), graph.outputs.size()));
  std::vector<std::vector<int64_t>> shapes;
  for (size_t n = 0; n < inputs(); ++n)
    shapes.push_back(tensors[n].shape());
  auto found = std::find_if(instances.begin(), instances.end(),
                            [&](const Instance &known) { return known.shapes == shapes; });
  if (found == instances.end())
    found = instances.insert(instances.begin(), makeInstance(shapes));
  instances.splice(instances.begin(), instances, found);
  if (instances.size() > kMostShapes) {
    device->sync(); // it may still be launched
    instances.pop_back();
  }
  checkGiven(instances.front(), tensors);
  checkTensors(instances.front(), tensors);
  return instances.front();
}

void TaskProgram::Impl::checkGiven(const Instance &instance, const Tensors &tensors) const {
  size_t next = 0;
  auto check = [&](const task::Value &value, const std::vector<int64_t> *shape) {
    const Tensor &tensor = tensors[next++];
    if (tensor.dtype() != value.type)
      refuse(fmt::format("'{}' is of {}, expected {}", value.name, name(tensor.dtype()),
                         name(value.type)));
    if (shape && tensor.shape() != *shape)
      refuse(fmt::format("output '{}' has shape [{}], expected [{}]", value.name,
                         fmt::join(tensor.shape(), ", "), fmt::join(*shape, ", ")));
  };
  for (const task::Value &value : graph.values)
    if (value.kind == task::ValueKind::input)
      check(value, nullptr);
  for (size_t n = 0; n < graph.outputs.size(); ++n)
    check(graph.values[graph.outputs[n]], &instance.outputs[n]);
}

/// Where what a launch brings lies: recorded launches have it in them.
static Places placesOf(const Tensors &tensors) {
  Places places;
  for (const Tensor &tensor : tensors) {
    places.push_back(std::bit_cast<int64_t>(tensor.data()));
    places.insert(places.end(), tensor.strides().begin(), tensor.strides().end());
  }
  return places;
}

std::vector<size_t> TaskProgram::Impl::valuesOutside() const {
  std::vector<size_t> result;
  for (size_t n = 0; n < graph.values.size(); ++n)
    if (graph.values[n].kind != task::ValueKind::made || graph.values[n].isOutput)
      result.push_back(n);
  return result;
}

/// Tasks follow one another by values: memory of two of them is written by neither. `ofConstants`: pairs of these, or
/// all others.
void TaskProgram::Impl::checkOverlap(const Tensors &values, bool ofConstants) const {
  auto refusePair = [&](size_t first, size_t second) {
    refuse(fmt::format("'{}' and '{}' overlap in memory, and '{}' is written: expected tensors "
                       "apart",
                       graph.values[first].name, graph.values[second].name,
                       graph.values[isWritten[second] ? second : first].name));
  };
  for (size_t written : outside) {
    if (!isWritten[written])
      continue;
    for (size_t other : outside) {
      bool isPair = other > written || (other < written && !isWritten[other]);
      bool isAsked = (isConstant(written) && isConstant(other)) == ofConstants;
      if (isPair && isAsked && overlap(values[written], values[other]))
        refusePair(std::min(written, other), std::max(written, other));
    }
  }
}

/// By the names that the graph has for them.
void TaskProgram::Impl::checkTensors(Instance &instance, const Tensors &tensors) const {
  Places places = placesOf(tensors);
  if (std::find(instance.checked.begin(), instance.checked.end(), places) != instance.checked.end())
    return;
  Tensors values = bind(instance, tensors);
  for (size_t n : outside)
    if (std::string reason = reasonAgainst(values[n], isWritten[n], *device); !reason.empty())
      refuse(fmt::format("'{}' {}", graph.values[n].name, reason));
  checkOverlap(values, false);
  if (instance.checked.size() == Instance::kMostRecorded)
    instance.checked.pop_front();
  instance.checked.push_back(std::move(places));
}

/// The tensor of each value.
Tensors TaskProgram::Impl::bind(const Instance &instance, const Tensors &tensors) const {
  Tensors values = instance.values;
  size_t next = 0;
  for (size_t n = 0; n < graph.values.size(); ++n)
    if (graph.values[n].kind == task::ValueKind::input)
      values[n] = tensors[next++];
  for (size_t output : graph.outputs)
    values[output] = tensors[next++];
  return values;
}

void TaskProgram::Impl::eachLaunch(const Instance &instance, const Tensors &tensors,
                                   const Enqueue &launch) const {
  Tensors values = bind(instance, tensors);
  if (megakernel) {
    launch(megakernel->program(), megakernel->arguments(values, instance.schedule),
           instance.schedule.names);
    return;
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const task::Node &node = graph.nodes[n];
    std::vector<KernelArgument> arguments;
    for (const task::Operand &operand : node.operands)
      std::visit(
          [&](auto given) {
            if constexpr (std::is_same_v<decltype(given), size_t>)
              arguments.emplace_back(values[given]);
            else
              arguments.emplace_back(given);
          },
          operand);
    try {
      launch(types[node.type], arguments, tasks[n]);
    } catch (const CompileError &error) {
      throw CompileError(
          fmt::format("{}: task {}: {}", graph.name, graph.describe(node), error.what()),
          node.where);
    }
  }
}

/// The launches of a step on these tensors, recorded: their arguments are checked and laid out once.
void TaskProgram::Impl::enqueue(const Instance &instance, const Tensors &tensors,
                                const Stream &stream) const {
  if (const auto &[all, unwritten] = instance.signaling; all.data())
    stream.handle().copy(all, unwritten);
  stream.handle().separate(); // what constants are filled with is there before any launch begins
  eachLaunch(instance, tensors,
             [&](const Program &program, const std::vector<KernelArgument> &arguments,
                 const SharedTasks &tasks) { program.launch(arguments, stream, tasks); });
}

const Graph &TaskProgram::Impl::recorded(Instance &instance, const Tensors &tensors) const {
  Places places = placesOf(tensors);
  std::erase_if(instance.recorded, [](const auto &entry) { return entry.second.isStale(); });
  auto found = std::find_if(instance.recorded.begin(), instance.recorded.end(),
                            [&](const auto &entry) { return entry.first == places; });
  if (found != instance.recorded.end())
    return found->second;
  Graph graph(device, device->record([&](const std::shared_ptr<runtime::DeviceStream> &stream) {
    enqueue(instance, tensors, Stream(stream));
  }));
  if (instance.recorded.size() == Instance::kMostRecorded)
    instance.recorded.pop_front();
  return instance.recorded.emplace_back(std::move(places), std::move(graph)).second;
}

TaskProgram::TaskProgram(const Context &context, const TaskGraph &graph, const TaskOptions &options)
    : impl_(new Impl{.device = context.device(),
                     .ranks = context.ranks(),
                     .shared = std::make_shared<const task::Graph>(graph.graph()),
                     .mode = options.mode}) {
  for (const task::Value &value : impl_->graph.values)
    if (value.isUnfilled())
      impl_->refuse(fmt::format("constant '{}' has no memory: the graph was read from a text, "
                                "expected fillConstants",
                                value.name));
  Tensors constants;
  for (const task::Value &value : impl_->graph.values)
    constants.push_back(value.tensor);
  impl_->checkOverlap(constants, true);
  if (impl_->graph.nodes.empty())
    return;
  CompileOptions compileOptions{.recorded = options.recorded,
                                .inGraph = options.mode == Mode::graph};
  if (options.mode == Mode::megakernel)
    impl_->megakernel.emplace(context, impl_->shared, compileOptions);
  else
    impl_->compileLaunches(context, compileOptions);
}

/// Each type, with what the graph says of its arguments.
void TaskProgram::Impl::compileLaunches(const Context &context, CompileOptions options) {
  known = shapesOfLaunches(targetFor(device->target()), graph, ranks);
  for (size_t type = 0; type < graph.types.size(); ++type) {
    options.graphArguments = task::graphArguments(graph, type, known);
    types.push_back(context.compile(graph.types[type], {}, options));
  }
  for (const task::Node &node : graph.nodes)
    tasks.push_back(std::make_shared<runtime::LaunchTasks>(textOf(node)));
}

Mode TaskProgram::mode() const { return impl_->mode; }
const task::Graph &TaskProgram::graph() const { return impl_->graph; }
const task::Plan *TaskProgram::lastPlan() const {
  bool isThere = impl_->megakernel && !impl_->instances.empty();
  return isThere ? &impl_->instances.front().schedule.plan : nullptr;
}

uint64_t TaskProgram::lastLaunch() const { return impl_->lastLaunch; }

void TaskProgram::prepare(const std::vector<Tensor> &tensors) const {
  std::lock_guard guard(impl_->launching);
  impl_->eachLaunch(impl_->instanceFor(tensors), tensors,
                    [](const Program &program, const std::vector<KernelArgument> &arguments,
                       const SharedTasks &) { program.prepare(arguments); });
}

void TaskProgram::launch(const std::vector<Tensor> &tensors) const {
  static std::atomic<uint64_t> launches = 0;
  runtime::DeviceStream &stream = ownStream(*impl_->device);
  std::lock_guard guard(impl_->launching);
  impl_->lastLaunch = ++launches;
  Instance &instance = impl_->instanceFor(tensors);
  if (impl_->mode != Mode::stream)
    impl_->recorded(instance, tensors).launch();
  else
    impl_->enqueue(instance, tensors, Stream({impl_->device, &stream}));
}

} // namespace ditron
