// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatedStreams.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace ditron::emulated {

/// Handles are numbers: streams are looked at in the order in which they were made, run after run.
/// Those below are streams of the driver itself, such as CU_STREAM_PER_THREAD.
static constexpr uintptr_t kFirstHandle = 16;
/// How long a thread sleeps before it looks again at words that others write.
static constexpr auto kMoment = std::chrono::milliseconds(1);

/// How long nothing may change: EMULATED_CUDA_PATIENCE, in ms.
static std::chrono::milliseconds patienceOf() {
  constexpr int kDefault = 20'000;
  const char *text = std::getenv("EMULATED_CUDA_PATIENCE");
  return std::chrono::milliseconds(text ? std::atoi(text) : kDefault);
}

//===-- Enqueuing -----------------------------------------------------------------------------===//

Streams::Streams() { streams_[nullptr] = std::make_shared<Stream>(); }

Streams &Streams::get() {
  static Streams &one = *new Streams; // threads of the program may outlive main()
  return one;
}

Stream &Streams::stream(void *handle) {
  auto found = streams_.find(handle);
  return found == streams_.end() ? *streams_[nullptr] : *found->second;
}

void *Streams::create() {
  std::lock_guard guard(mutex_);
  auto made = std::make_shared<Stream>();
  made->number = ++created_;
  void *handle = reinterpret_cast<void *>(kFirstHandle + uintptr_t(made->number));
  streams_[handle] = std::move(made);
  return handle;
}

void Streams::destroy(void *handle) {
  finish(handle);
  std::lock_guard guard(mutex_);
  if (auto &capture = stream(handle).capture)
    capture->streams[stream(handle).branch] = nullptr;
  if (handle)
    streams_.erase(handle);
}

/// Whether a launch that reads constants early is behind one that is behind all that fills them.
static bool isInOrder(Stream &to, const Launch &launch) {
  bool &hasSeparate = to.capture ? to.capture->hasSeparate : to.hasSeparate;
  hasSeparate |= !launch.beginsEarly;
  return hasSeparate || launch.module->info.readAhead.empty();
}

int Streams::push(Stream &to, Work work) {
  if (auto *launch = std::get_if<Launch>(&work); launch && !isInOrder(to, *launch)) {
    std::fprintf(stderr,
                 "emulated driver: cuLaunchKernelEx: '%s' reads constants before launches in front "
                 "have ended, expected one of these to begin when all before it have\n",
                 launch->module->info.name.c_str());
    return kRefused;
  }
  if (to.capture) {
    to.capture->add(to.branch, std::move(work));
    return 0;
  }
  if (isLost_)
    return status_;
  if (auto *launch = std::get_if<Launch>(&work))
    launch->launch.seed = seed_++;
  to.queue.push_back(std::move(work));
  ++to.enqueued;
  changed_.notify_all();
  return 0;
}

int Streams::record(Stream &to, std::shared_ptr<Record> record) {
  record->stream = to.number;
  if (to.capture) {
    record->isCaptured = true;
    record->capture = to.capture;
    record->before = to.capture->before[to.branch];
  }
  return push(to, RecordEvent{std::move(record)});
}

int Streams::wait(Stream &to, const std::shared_ptr<Record> &record) {
  if (!record)
    return 0; // an event that was never recorded
  if (!record->isCaptured)
    return to.capture ? kCaptureIsolation : push(to, WaitEvent{record});
  std::shared_ptr<Capture> capture = record->capture.lock();
  if (!capture || capture->isOver)
    return kCapturedEvent;
  if (!to.capture) {
    capture->join(to);
    to.capture = capture;
  }
  if (to.capture != capture)
    return kCaptureMerge;
  capture->order(to.branch, record->before);
  return push(to, WaitEvent{record});
}

int Streams::enqueue(void *handle, Work work) {
  std::lock_guard guard(mutex_);
  return push(stream(handle), std::move(work));
}

int Streams::record(void *handle, Event &event) {
  std::lock_guard guard(mutex_);
  event.latest = std::make_shared<Record>();
  return record(stream(handle), event.latest);
}

int Streams::wait(void *handle, const Event &event) {
  std::lock_guard guard(mutex_);
  return wait(stream(handle), event.latest);
}

//===-- Waiting -------------------------------------------------------------------------------===//

static std::string described(const Work &work) {
  char text[200];
  if (auto *launch = std::get_if<Launch>(&work)) {
    std::snprintf(text, sizeof(text), "launches '%s' on rank %lld of %lld",
                  launch->module->info.name.c_str(), static_cast<long long>(launch->rank()),
                  static_cast<long long>(launch->ranks()));
  } else if (auto *event = std::get_if<WaitEvent>(&work)) {
    std::snprintf(text, sizeof(text), "waits for an event of stream %d", event->record->stream);
  } else if (auto *wait = std::get_if<WaitValue>(&work)) {
    static constexpr const char *kConditions[] = {">=", "==", "&", "nor"};
    std::snprintf(text, sizeof(text), "waits for the word at %p: expected %s %llu, found %llu",
                  static_cast<void *>(wait->word), kConditions[wait->condition & 3],
                  static_cast<unsigned long long>(wait->value),
                  static_cast<unsigned long long>(std::atomic_ref(*wait->word).load()));
  } else {
    return "can go on";
  }
  return text;
}

/// What each stream waits for, on stderr.
void Streams::report() {
  std::fprintf(stderr, "emulated driver: no stream goes on\n");
  for (auto &[handle, stream] : streams_)
    if (Work *work = stream->next())
      std::fprintf(stderr, "  stream %d %s; works behind it: %zu\n", stream->number,
                   described(*work).c_str(), stream->queue.size() - 1);
}

/// Nothing has changed for long: executes a launch without the ranks that are missing, and where
/// there is none drops the work of all streams.
void Streams::giveUp(std::unique_lock<std::mutex> &lock) {
  std::vector<Stream *> incomplete = nextLaunches(/*areComplete=*/false);
  bool areOthersBlocked = std::any_of(streams_.begin(), streams_.end(), [](auto &one) {
    Work *work = one.second->next();
    return work && !std::holds_alternative<Launch>(*work);
  });
  if (areOthersBlocked)
    report();
  if (!incomplete.empty())
    return executeLaunches(incomplete, lock);
  isLost_ = true, status_ = kFailed;
  for (auto &[handle, stream] : streams_)
    stream->queue.clear();
  changed_.notify_all();
}

/// Does some work, or waits a moment for some that can be done.
void Streams::takeTurn(std::unique_lock<std::mutex> &lock, std::optional<Patience> &patience) {
  if (advance())
    return;
  if (std::vector<Stream *> group = nextLaunches(/*areComplete=*/true); !group.empty())
    return executeLaunches(group, lock);
  auto now = std::chrono::steady_clock::now();
  if (!patience || patience->progress != progress_)
    patience = {progress_, now + patienceOf()};
  if (now < patience->end)
    changed_.wait_for(lock, kMoment);
  else
    giveUp(lock);
}

int Streams::waitUntil(const std::function<bool()> &isOver) {
  std::unique_lock lock(mutex_);
  std::optional<Patience> patience;
  while (!isOver() && !isLost_) {
    if (isExecuting_ || peersAreProcesses_)
      changed_.wait(lock);
    else
      takeTurn(lock, patience);
  }
  return status_;
}

/// Waits for the works that these streams have now.
int Streams::waitUntilDone(const std::vector<std::shared_ptr<Stream>> &waited) {
  std::vector<uint64_t> enqueued;
  {
    std::lock_guard guard(mutex_);
    for (auto &stream : waited)
      enqueued.push_back(stream->enqueued);
  }
  return waitUntil([&] {
    for (size_t n = 0; n < waited.size(); ++n)
      if (waited[n]->done < enqueued[n])
        return false;
    return true;
  });
}

int Streams::finish(void *handle) {
  std::shared_ptr<Stream> found;
  {
    std::lock_guard guard(mutex_);
    found = streams_.contains(handle) ? streams_[handle] : streams_[nullptr];
    if (found->capture)
      return kCaptureUnsupported;
  }
  return waitUntilDone({found});
}

int Streams::finish(const Event &event) {
  std::shared_ptr<Record> record;
  {
    std::lock_guard guard(mutex_);
    record = event.latest;
  }
  if (record && record->isCaptured)
    return kCapturedEvent;
  return waitUntil([&] { return !record || record->isDone; });
}

int Streams::finishAll() {
  std::vector<std::shared_ptr<Stream>> all;
  {
    std::lock_guard guard(mutex_);
    for (auto &[handle, stream] : streams_)
      all.push_back(stream);
  }
  return waitUntilDone(all);
}

int Streams::elapsed(float &milliseconds, const Event &begin, const Event &end) {
  std::lock_guard guard(mutex_);
  if (!begin.latest || !end.latest)
    return kInvalidHandle;
  if (!begin.latest->isDone || !end.latest->isDone)
    return kNotReady;
  std::chrono::duration<float, std::milli> passed = end.latest->time - begin.latest->time;
  milliseconds = passed.count();
  return 0;
}

bool Streams::isIdle() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](auto &one) { return one.second->queue.empty(); });
}

/// Does what comes, for ever.
void Streams::serve() {
  std::unique_lock lock(mutex_);
  std::optional<Patience> patience;
  for (;;) {
    if (isExecuting_ || isIdle()) {
      patience.reset();
      changed_.wait(lock);
    } else {
      takeTurn(lock, patience);
    }
  }
}

void Streams::meetProcesses() {
  std::lock_guard guard(mutex_);
  if (!std::exchange(peersAreProcesses_, true))
    std::thread([this] { serve(); }).detach();
}

} // namespace ditron::emulated
