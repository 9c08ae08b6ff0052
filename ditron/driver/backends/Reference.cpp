// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backend `reference`: kernels are interpreted (ditron/reference). The interpreter runs all
// ranks in one thread, so launches of a kernel of ranks meet: the last one to come interprets them.
#include "ditron/driver/backends/Backends.h"
#include "ditron/reference/TextLaunch.h"
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/device/HostDevice.h"
#include "ditron/runtime/device/KernelSource.h"
#include "ditron/support/Error.h"
#include "ditron/support/SystemMemory.h"
#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace ditron::backends {

using namespace runtime;

namespace {

constexpr const char *kName = "interpreter", *kTarget = "reference";

/// Interprets parts of a launch; what is odd about it. Rounds number the launches of all ranks.
using Execute =
    std::function<std::vector<std::string>(const reference::LaunchParts &, uint64_t round)>;

/// Where launches of all ranks meet.
class Meeting {
public:
  Meeting(int ranks, std::chrono::milliseconds bound) : ranks_(ranks), bound_(bound) {}

  /// Called by every rank with its part of a launch; the last one executes all parts.
  std::vector<std::string> launch(int rank, const reference::LaunchPart &part,
                                  const Execute &execute) {
    std::unique_lock lock(mutex_);
    uint64_t round = round_;
    parts_[rank] = &part;
    if (int(parts_.size()) == ranks_)
      executeAll(lock, execute);
    else
      awaitRound(lock, round, part);
    if (failure_ && failedRound_ == round)
      std::rethrow_exception(failure_);
    return warnings_;
  }

private:
  using Lock = std::unique_lock<std::mutex>;

  void executeAll(Lock &lock, const Execute &execute) {
    isExecuting_ = true;
    reference::LaunchParts parts;
    for (const auto &[rank, part] : parts_)
      parts.push_back(part);
    lock.unlock();
    std::exception_ptr failure;
    try {
      warnings_ = execute(parts, round_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    endRound(failure);
  }

  void awaitRound(Lock &lock, uint64_t round, const reference::LaunchPart &part) {
    auto isOver = [&] { return round_ != round; };
    auto deadline = std::chrono::steady_clock::now() + bound_;
    while (!isOver()) {
      if (isExecuting_)
        changed_.wait(lock);
      else if (changed_.wait_until(lock, deadline) == std::cv_status::timeout && !isOver() &&
               !isExecuting_)
        endRound(std::make_exception_ptr(RuntimeError(lateText(part))));
    }
  }

  std::string lateText(const reference::LaunchPart &part) const {
    std::string missing;
    for (int rank = 0; rank < ranks_; ++rank)
      if (!parts_.count(rank))
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
    return fmt::format("kernel '{}': rank{} {} did not launch within {} ms", part.kernel,
                       missing.size() > 1 ? "s" : "", missing, bound_.count());
  }

  void endRound(std::exception_ptr failure) {
    failure_ = std::move(failure);
    failedRound_ = round_++;
    isExecuting_ = false;
    parts_.clear();
    changed_.notify_all();
  }

  int ranks_;
  std::chrono::milliseconds bound_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, const reference::LaunchPart *> parts_; ///< by rank, of those that have come
  uint64_t round_ = 0, failedRound_ = 0;
  bool isExecuting_ = false;
  std::exception_ptr failure_;        ///< of failedRound_; null: it went well
  std::vector<std::string> warnings_; ///< of the last round
};

class ReferenceDevice final : public HostDevice {
public:
  ReferenceDevice(Rank &rank, int cores, std::shared_ptr<Meeting> meeting)
      : HostDevice(rank), cores_(cores), meeting_(std::move(meeting)) {}

  std::string_view backend() const override { return "reference"; }
  std::string name() const override { return kName; }
  std::string target() const override { return kTarget; }
  int cores() const override { return cores_; }
  std::shared_ptr<Executable> load(std::shared_ptr<KernelSource> source) override;
  Meeting &meeting() { return *meeting_; }

private:
  int cores_;
  std::shared_ptr<Meeting> meeting_;
};

class ReferenceExecutable final : public HostExecutable {
public:
  ReferenceExecutable(ReferenceDevice &device, std::shared_ptr<KernelSource> source)
      : HostExecutable(device), reference_(device), source_(std::move(source)) {}

  void prepare(const std::vector<KernelArgument> &arguments) override { bind(arguments, nullptr); }
  CompileReport report() const override { return {}; }
  int cores() const override { return reference_.cores(); }
  void poison() override {} // symmetric memory is without contents before each launch

protected:
  Launch bind(const std::vector<KernelArgument> &arguments,
              const std::shared_ptr<const LaunchTasks> &) override {
    source_->check(arguments, reference_, reference_.ranks());
    parse();
    return [this, part = reference::LaunchPart{source_->name(), ir_, arguments}] {
      auto start = std::chrono::steady_clock::now();
      LaunchStats stats;
      stats.warnings = interpret(part);
      stats.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return stats;
    };
  }

private:
  std::vector<std::string> interpret(const reference::LaunchPart &part) {
    Rank &rank = reference_.rank();
    uint64_t seed = rank.options().scheduleSeed;
    auto execute = [&](const reference::LaunchParts &parts, uint64_t round) {
      const MeshAxes &axes = rank.mesh().axes;
      bool areAll = parts.size() == static_cast<size_t>(axes.ranks());
      return program_->launch(parts, reference_.cores(), parts.size() > 1 ? rank.mesh().nodes : 1,
                              areAll ? axes : MeshAxes(), seed ? seed + round : 0,
                              rank.options().launchTimeout);
    };
    if (program_->isOfRanks())
      return reference_.meeting().launch(rank.rank(), part, execute);
    return execute({&part}, launches_++);
  }

  /// Once. An error may not pass std::call_once: where the unwinder is linked statically, that of
  /// the C library, through which it would go, is another one and ends the process.
  void parse() {
    constexpr size_t kToParse = size_t(16) << 20;
    std::lock_guard guard(parsing_);
    if (program_)
      return;
    requireAddressSpace(kToParse, "parsing a kernel");
    ir_ = std::make_shared<const std::string>(source_->ir());
    program_ = std::make_unique<reference::ParsedKernel>(*ir_);
  }

  ReferenceDevice &reference_;
  std::shared_ptr<KernelSource> source_;
  std::mutex parsing_;
  std::shared_ptr<const std::string> ir_;
  std::unique_ptr<reference::ParsedKernel> program_;
  uint64_t launches_ = 0; ///< of this rank alone
};

std::shared_ptr<Executable> ReferenceDevice::load(std::shared_ptr<KernelSource> source) {
  return std::make_shared<ReferenceExecutable>(*this, std::move(source));
}

class ReferencePlatform final : public Platform {
public:
  explicit ReferencePlatform(const Options &options) : options_(options) {}

  std::shared_ptr<Device> device(Rank &rank) override {
    if (rank.size() > 1 && rank.transport() != "threads")
      throw UnavailableError(fmt::format("backend 'reference' interprets all ranks in one process, "
                                         "but these are {} {}",
                                         rank.size(), rank.transport()));
    std::lock_guard lock(mutex_);
    if (!meeting_)
      meeting_ = std::make_shared<Meeting>(rank.size(), rank.meetingTimeout());
    return std::make_shared<ReferenceDevice>(rank, options_.cores, meeting_);
  }

private:
  Options options_;
  std::mutex mutex_;
  std::shared_ptr<Meeting> meeting_;
};

class ReferenceBackend final : public Backend {
  BackendTraits traits() const override { return {.timesMatter = false}; }
  std::string target() const override { return kTarget; }
  std::string deviceName() const override { return kName; }
  Options hostOptions(const Options &options) const override {
    Options host = options;
    host.cores = 1; // what interprets
    return host;
  }
  std::shared_ptr<Platform> open(const Options &options) const override {
    return std::make_shared<ReferencePlatform>(options);
  }
};

} // namespace

const Backend &reference() {
  static const ReferenceBackend backend;
  return backend;
}

} // namespace ditron::backends
