// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Megakernel.h"
#include "ditron/driver/Compile.h"
#include "ditron/driver/Context.h"
#include "ditron/task/SelfSignaling.h"

namespace ditron {

static std::shared_ptr<const std::vector<task::Footprint>> footprintsOf(const task::Graph &graph) {
  return std::make_shared<const std::vector<task::Footprint>>(graph.types.begin(),
                                                              graph.types.end());
}

task::Shapes shapesOfLaunches(std::string_view target, const task::Graph &graph, int64_t ranks) {
  return traitsOf(target).isGpu() ? task::knownShapes(graph, ranks) : task::Shapes();
}

std::vector<bool> selfSignalingFor(std::string_view target, const task::Graph &graph,
                                   const std::vector<task::Footprint> &footprints,
                                   const task::Shapes &known, const task::Machine &machine) {
  return traitsOf(target).hasSlowReleases
             ? task::selfSignalingValues(graph, footprints, known, machine)
             : std::vector<bool>();
}

Megakernel::Megakernel(const Context &context, std::shared_ptr<const task::Graph> graph,
                       const CompileOptions &options)
    : graph_(std::move(graph)), device_(context.device()),
      machine_{context.cores(), context.rank(), context.ranks()},
      footprints_(footprintsOf(*graph_)),
      known_(shapesOfLaunches(targetFor(context.device()->target()), *graph_, context.ranks())),
      selfSignaling_(selfSignalingFor(targetFor(context.device()->target()), *graph_, *footprints_,
                                      known_, machine_)),
      fused_(*graph_, *footprints_, known_, selfSignaling_),
      program_(context.compile(fused_.kernel(), {}, options)) {}

/// A copy in the memory of the device.
static Tensor onDevice(const std::shared_ptr<runtime::Device> &device, std::vector<int64_t> &data,
                       const std::vector<int64_t> &shape) {
  Tensor tensor = Tensor::own(device, DType::i64, shape);
  if (!data.empty())
    tensor.copyFrom(Tensor::borrow(data.data(), DType::i64, shape));
  return tensor;
}

Megakernel::Schedule Megakernel::schedule(const task::Shapes &shapes) const {
  fused_.requireShapes(shapes);
  task::Plan plan = task::schedule(*graph_, *footprints_, shapes, machine_, selfSignaling_);
  task::Tables tables = fused_.tablesOf(plan);
  int64_t columns = tables.columns, tasks = static_cast<int64_t>(tables.tasks.size()) / columns;
  return {onDevice(device_, tables.queue, {static_cast<int64_t>(tables.queue.size())}),
          onDevice(device_, tables.tasks, {tasks, columns}),
          onDevice(device_, tables.waits, {static_cast<int64_t>(tables.waits.size()) / 2, 2}),
          std::move(plan),
          std::make_shared<PlanTasks>(
              PlanSource{graph_, footprints_, shapes, machine_, selfSignaling_})};
}

Megakernel::Signaling Megakernel::makeSignaling(const task::Shapes &shapes,
                                                std::vector<Tensor> &values) const {
  constexpr size_t kAligned = 256; // bytes
  if (selfSignaling_.empty())
    return {};
  std::vector<size_t> places(values.size());
  size_t bytes = 0;
  for (size_t n = 0; n < values.size(); ++n)
    if (selfSignaling_[n]) {
      places[n] = bytes;
      bytes += (values[n].bytes() + kAligned - 1) / kAligned * kAligned;
    }
  auto words = static_cast<int64_t>(bytes / byteSize(DType::i32));
  Tensor set = Tensor::own(DType::i32, {words});
  std::fill_n(set.as<int32_t>(), words, -1);
  Signaling memory{Tensor::own(device_, DType::i32, {words}),
                   Tensor::own(device_, DType::i32, {words})};
  memory.unwritten.copyFrom(set);
  for (size_t n = 0; n < values.size(); ++n)
    if (selfSignaling_[n])
      values[n] = Tensor::borrow(device_, static_cast<std::byte *>(memory.all.data()) + places[n],
                                 graph_->values[n].type, shapes[n]);
  return memory;
}

std::vector<KernelArgument> Megakernel::arguments(const std::vector<Tensor> &values,
                                                  const Schedule &schedule) const {
  std::vector<KernelArgument> arguments;
  for (size_t value : fused_.inputs())
    arguments.emplace_back(values[value]);
  arguments.insert(arguments.end(), {schedule.queue, schedule.tasks, schedule.waits});
  for (size_t value : fused_.outputs())
    arguments.emplace_back(values[value]);
  return arguments;
}

} // namespace ditron
