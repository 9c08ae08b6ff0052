// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/GpuExecutable.h"
#include "ditron/runtime/device/Specialize.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <utility>

namespace ditron::runtime::nvidia {

GpuExecutable::GpuExecutable(GpuDevice &device, std::shared_ptr<KernelSource> source)
    : device_(std::static_pointer_cast<GpuDevice>(device.shared_from_this())),
      source_(std::move(source)), isLogged_(source_->request(*device_).recorded),
      state_(device_->group(), device_->rank(), source_->name(), source_->signature()) {}

/// The variant for these arguments: one that asks for tensor maps only where they can be had, and
/// for clusters where there is room for as many as its roles take.
GpuExecutable::Variant &GpuExecutable::variantFor(const std::vector<KernelArgument> &arguments,
                                                  const abi::LaunchValues &launch) {
  CompileRequest which = specialized(source_->request(*device_), arguments);
  which.ranks = device_->group()->ranks();
  which.inGraph &= device_->group()->ranks() > 1 && !device_->group()->isShared();
  for (auto [reads, stores] : {std::pair(true, true), {true, false}}) {
    which.tensorMaps = reads, which.tensorStores = stores;
    Variant &found = variantOf(which);
    auto isMapped = [&](const abi::TensorMap &map) {
      return TensorMap::whyNot(state_.mapped(*found.info, map, launch).view()).empty();
    };
    const std::vector<abi::TensorMap> &maps = found.info->tensorMaps;
    bool hasRoom = state_.cores(*found.info, found.loaded->cores()) >= found.info->leastCores;
    if (hasRoom && std::all_of(maps.begin(), maps.end(), isMapped))
      return found;
  }
  which.tensorMaps = false;
  return variantOf(which);
}

/// The variant whose code serves these as well: the alignment of what is read element by element
/// makes no difference, such as that of a list whose length changes with every launch.
CompileRequest GpuExecutable::essential(CompileRequest which) const {
  for (int64_t argument : readSingly_)
    if (size_t n = static_cast<size_t>(argument); n < which.alignment.size() && which.alignment[n])
      which.alignment[n] = elementBytes_.at(n);
  return which;
}

GpuExecutable::Variant &GpuExecutable::variantOf(const CompileRequest &given) {
  CompileRequest which = essential(given);
  auto found = variants_.find(which);
  if (found == variants_.end()) {
    Variant made = load(which);
    readSingly_.insert(made.info->readSingly.begin(), made.info->readSingly.end());
    elementBytes_.clear();
    for (const abi::Argument &argument : made.info->arguments)
      elementBytes_.push_back(static_cast<int64_t>(byteSize(argument.type)));
    found = variants_.emplace(essential(which), std::move(made)).first;
  }
  return found->second;
}

GpuExecutable::Variant GpuExecutable::load(const CompileRequest &request) {
  Compilation compiled = source_->compile(request);
  const abi::KernelInfo &info = compiled.kernel.info;
  auto start = std::chrono::steady_clock::now();
  auto loaded = std::make_unique<LoadedKernel>(
      device_->driver(), compiled.kernel.code,
      LoadedKernel::Launch{info.entry, static_cast<int>(info.threads),
                           static_cast<int>(info.sharedBytes), static_cast<int>(info.cluster),
                           info.dependentLaunch && !isLogged_});
  meetsRanks_ = info.isDistributed;
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  compiled.report.assemblySeconds = passed.count();
  compiled.report.seconds += passed.count();
  return {std::make_shared<const abi::KernelInfo>(info), std::move(loaded),
          std::move(compiled.report)};
}

/// What a launch with these arguments takes, which the state is told of: as it was for an earlier
/// one with the same, else made.
const GpuExecutable::Binding &GpuExecutable::bind(const std::vector<KernelArgument> &arguments) {
  identify(arguments, words_);
  if (!last_ || last_->first != words_) {
    auto found = bindings_.find(words_);
    last_ = found == bindings_.end() ? nullptr : &*found;
  }
  bool isStale = last_ && last_->second.dropped != device_->group()->dropped();
  if (last_ && !isStale) {
    const Binding &binding = last_->second;
    state_.choose(binding.variant->info, binding.workspace);
    return binding;
  }
  last_ = nullptr;
  if (isStale || bindings_.size() >= kMostBindings) {
    graphs_.clear();
    bindings_.clear(); // a dropped workspace goes with the last one that has it
  }
  last_ = &*bindings_.emplace(words_, makeBinding(arguments)).first;
  return last_->second;
}

GpuExecutable::Binding GpuExecutable::makeBinding(const std::vector<KernelArgument> &arguments) {
  int ranks = device_->group()->ranks();
  source_->check(arguments, *device_, ranks);
  int64_t dropped = device_->group()->dropped();
  std::vector<int64_t> words = source_->words(arguments);
  abi::LaunchValues launch{words, ranks};
  Variant &variant = variantFor(arguments, launch);
  state_.prepare(variant.info, launch);
  std::vector<TensorMap> maps;
  for (const abi::TensorMap &map : variant.info->tensorMaps) {
    auto mapped = state_.mapped(*variant.info, map, launch);
    StridedMemory memory = mapped.view();
    maps.emplace_back(device_->driver()->use(), memory, map.boxFor(memory.extents),
                      map.roundsToTf32);
  }
  int cores = coresOf(variant, launch);
  if (isLogged_)
    state_.attach(device_->log(), cores);
  std::vector<int64_t> others = state_.words();
  CopyPlan copies;
  std::shared_ptr<const Memory> views;
  if (!variant.info->viewTable.empty()) {
    views = viewTable(*variant.info, words);
    words = abi::parameters(*variant.info, words);
    words.push_back(static_cast<int64_t>(views->address()));
  }
  words.insert(words.end(), others.begin(), others.end());
  if (variant.info->copyEngines) {
    copies = CopyPlan(*variant.info, *state_.workspace(), device_->rank(), words);
    cores = leavingRoom(copies, variant, cores);
  }
  return {
      &variant, state_.workspace(), dropped, LaunchParameters(std::move(words), std::move(maps)),
      cores,    std::move(copies),  views};
}

/// A table with the words of the arguments that the kernel chooses among.
std::shared_ptr<const Memory> GpuExecutable::viewTable(const abi::KernelInfo &info,
                                                       const std::vector<int64_t> &words) {
  std::vector<int64_t> table = abi::viewTable(info, words);
  if (auto found = viewTables_.find(table); found != viewTables_.end())
    if (auto memory = found->second.lock())
      return memory;
  std::erase_if(viewTables_, [](const auto &one) { return one.second.expired(); });
  auto memory = std::make_shared<Memory>(device_->driver(), table.size() * sizeof(int64_t),
                                         "the views of a graph");
  memory->upload(table.data());
  viewTables_.emplace(std::move(table), memory);
  return memory;
}

/// Copies within a GPU may be made by a kernel of the driver: an SM is left for it.
int GpuExecutable::leavingRoom(const CopyPlan &copies, const Variant &variant, int cores) const {
  const RankGroup &group = *device_->group();
  bool isNeeded =
      copies.copiesTo([&, own = device_->rank()](int rank) { return group.areNear(own, rank); });
  if (!isNeeded)
    return cores;
  int sms = device_->driver()->sms(), ofSm = (variant.loaded->cores() + sms - 1) / sms;
  int cluster = static_cast<int>(variant.info->cluster);
  return std::max(cores - std::max(ofSm, cluster), cluster);
}

/// Those that a schedule is made for.
int GpuExecutable::exactCores(const Variant &variant, const abi::LaunchValues &launch) const {
  int64_t cores = variant.info->exactCores.front().evaluate(launch, "the number of cores");
  int most = state_.cores(*variant.info, variant.loaded->cores());
  if (cores < 1 || cores > most)
    throw CompileError(fmt::format("{}: scheduled for {} cores, expected 1 to {}, which run at a "
                                   "time on {}",
                                   source_->signature(), cores, most, device_->name()));
  return static_cast<int>(cores);
}

/// The CTAs of a launch: as many as fit together, or one for each tile.
int GpuExecutable::coresOf(const Variant &variant, const abi::LaunchValues &launch) const {
  if (!variant.info->exactCores.empty())
    return exactCores(variant, launch);
  if (variant.info->tiles.empty())
    return state_.cores(*variant.info, variant.loaded->cores());
  int64_t most = variant.info->cores(launch);
  if (most > INT32_MAX)
    throw CompileError(fmt::format("{}: {} tiles of these extents, expected fewer than 2^31",
                                   source_->signature(), most));
  return static_cast<int>(most);
}

void GpuExecutable::prepare(const std::vector<KernelArgument> &arguments) {
  std::lock_guard guard(lock_);
  bind(arguments);
}

void GpuExecutable::launch(const std::vector<KernelArgument> &arguments, DeviceStream &stream,
                           const std::shared_ptr<const LaunchTasks> &tasks) {
  auto *gpu = dynamic_cast<GpuStream *>(&stream);
  if (!gpu || &gpu->device() != device_.get())
    throw UsageError("a kernel is launched on a stream of another context: expected one of the "
                     "context that compiled it");
  // Before the lock: whoever has the turn takes the locks of what it launches.
  auto turn = meetsRanks_ ? device_->takeTurn() : std::unique_lock<std::mutex>();
  std::lock_guard guard(lock_);
  const Binding &binding = bind(arguments);
  Form form = formOf(binding, *gpu);
  auto launchOne = [&] { enqueue(binding, *gpu, form, tasks); };
  if (binding.variant->info->isDistributed && !gpu->isRecorded())
    device_->launchTogether(name(), launchOne);
  else
    launchOne();
}

/// How a launch is enqueued. What takes long is done here, before the ranks meet.
GpuExecutable::Form GpuExecutable::formOf(const Binding &binding, const GpuStream &stream) {
  if (binding.copies.isEmpty())
    return {};
  if (stream.isRecorded() || stream.driver().isCaptured())
    return {.isCaptured = true};
  return {.graph = graphs_.next(&binding, [&] {
    CopyStream copies(device_->driver());
    return std::make_unique<Graph>(device_->driver(), [&](const Stream &captured) {
      enqueueSteps(binding, captured, copies, /*isCaptured=*/true);
    });
  })};
}

void GpuExecutable::enqueue(const Binding &binding, GpuStream &stream, const Form &form,
                            const std::shared_ptr<const LaunchTasks> &tasks) {
  device_->straggle();
  note(binding, stream, tasks);
  if (form.graph)
    form.graph->launch(stream.driver());
  else if (binding.copies.isEmpty())
    binding.variant->loaded->launch(binding.parameters, stream.driver(), binding.cores,
                                    stream.takeSeparate());
  else
    enqueueSteps(binding, stream.driver(), copyStream(form.isCaptured), form.isCaptured);
  if (!stream.isRecorded()) // who has waited for the stream meanwhile found no launch
    stream.note({shared_from_this(), state_.workspace()});
}

/// Has it in reports, and asked for errors. Of a stream that a graph records, whenever that is launched.
void GpuExecutable::note(const Binding &binding, GpuStream &stream,
                         const std::shared_ptr<const LaunchTasks> &tasks) {
  LaunchState::Note note = state_.note(binding.cores, tasks, binding.copies.words());
  if (stream.isRecorded())
    return stream.noteRecorded({shared_from_this(), std::move(note), binding.views});
  if (binding.views && stream.driver().isCaptured())
    capturedViews_.insert(binding.views);
  stream.note({shared_from_this(), note.workspace});
  noteLaunched(note);
  if (note.workspace && stream.driver().isCaptured())
    note.workspace->launchedUnseen(device_->rank());
}

void GpuExecutable::launched(const LaunchState::Note &note) {
  std::lock_guard guard(lock_);
  noteLaunched(note);
}

void GpuExecutable::noteLaunched(const LaunchState::Note &note) {
  state_.launched(note);
  if (isLogged_)
    device_->log().launched(note.participant, note.workspace);
}

/// The kernel goes first: nothing that waits for it stands in front of it.
void GpuExecutable::enqueueSteps(const Binding &binding, const Stream &stream,
                                 const CopyStream &copies, bool isCaptured) {
  copies.fork(stream);
  binding.variant->loaded->launch(binding.parameters, stream, binding.cores);
  copies.follow(binding.copies);
  if (isCaptured)
    copies.join(stream);
}

/// A stream that is captured is that of a graph until the capture is over.
const CopyStream &GpuExecutable::copyStream(bool isCaptured) {
  std::unique_ptr<CopyStream> &found = copyStreams_[isCaptured];
  if (!found)
    found = std::make_unique<CopyStream>(device_->driver());
  return *found;
}

const std::string &GpuExecutable::name() const { return source_->name(); }

namespace {

class GpuTiming final : public DeviceTiming {
public:
  explicit GpuTiming(DeviceStream &stream) : begin_(stream.record()) {}

  void launched(DeviceStream &stream) { end_ = stream.record(); }
  LaunchStats stats() const override {
    LaunchStats stats;
    stats.seconds = end_->secondsSince(*begin_);
    return stats;
  }

private:
  std::shared_ptr<DeviceEvent> begin_, end_;
};

} // namespace

std::shared_ptr<DeviceTiming>
GpuExecutable::launchTimed(const std::vector<KernelArgument> &arguments, DeviceStream &stream) {
  prepare(arguments); // so that no time is that of compiling
  auto timing = std::make_shared<GpuTiming>(stream);
  launch(arguments, stream, nullptr);
  timing->launched(stream);
  return timing;
}

LaunchStats GpuExecutable::timed(const std::vector<KernelArgument> &arguments,
                                 DeviceStream &stream) {
  auto timing = launchTimed(arguments, stream);
  stream.wait();
  return timing->stats();
}

CompileReport GpuExecutable::report() const {
  std::lock_guard guard(lock_);
  return last_ ? last_->second.variant->report : CompileReport();
}

int GpuExecutable::cores() const {
  std::lock_guard guard(lock_);
  return last_ ? last_->second.cores : 0;
}

void GpuExecutable::poison() {
  std::lock_guard guard(lock_);
  state_.poison();
}

void GpuExecutable::raiseFailure(const std::shared_ptr<Workspace> &workspace) {
  std::lock_guard guard(lock_);
  state_.raiseFailure(workspace);
}

} // namespace ditron::runtime::nvidia
