// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The streams of the emulated driver: queues of copies, launches, waits and writes.
//
// Work is done by whoever waits for a stream: the work of all streams, in the order of each. A stream
// whose first work is a wait that does not hold is blocked. Launches of a kernel of several ranks are
// executed together, so the others are waited for, and after a while no longer. Where the ranks are
// processes, each executes its own as it comes, on a thread beside. While kernels execute, the streams
// that do not begin with a launch go on, one work now and then.
//
//   rank 0, launch stream   record fork | launch                     | wait join
//   rank 0, side stream     wait fork   | wait word >= 1 | copy | write word | record join
#pragma once
#include "../unit/emulator/Emulator.h"
#include "ditron/abi/KernelInfo.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace ditron::emulated {

/// Values of CUresult.
enum Status : int {
  kInvalidValue = 1,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotReady = 600,
  kFailed = 719,  ///< CUDA_ERROR_LAUNCH_FAILED
  kRefused = 801, ///< CUDA_ERROR_NOT_SUPPORTED
  kCaptureUnsupported = 900,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCapturedEvent = 907,
};

struct Module {
  std::string ptx;
  abi::KernelInfo info;
};

struct Launch {
  const Module *module;
  emulator::Launch launch;
  bool beginsEarly = false; ///< before those in front of it have ended
  /// Of ranks, and which of them this is, where the kernel has several.
  int64_t ranks() const;
  int64_t rank() const;
};

struct Capture;

/// A place in the order of a stream, which others can wait for.
struct Record {
  bool isDone = false;
  std::chrono::steady_clock::time_point time; ///< when it was done
  int stream = 0;                             ///< its number
  bool isCaptured = false;
  std::weak_ptr<Capture> capture;
  std::vector<size_t> before; ///< of the capture: Capture::before of the branch
};

/// What CUDA calls an event: where it was recorded last.
struct Event {
  std::shared_ptr<Record> latest;
};

/// A copy or a write: done as soon as it is its turn.
struct Action {
  std::function<void()> run;
};
struct RecordEvent {
  std::shared_ptr<Record> record;
};
struct WaitEvent {
  std::shared_ptr<Record> record;
};
/// Waits until a word of memory and a value are in a relation.
struct WaitValue {
  enum Condition : unsigned { geq = 0, eq = 1, andBits = 2, norBits = 3 };
  uint64_t *word;
  uint64_t value;
  unsigned condition;
  bool holds() const;
};
using Work = std::variant<Action, Launch, RecordEvent, WaitEvent, WaitValue>;

struct Stream {
  int number = 0;
  std::deque<Work> queue;
  uint64_t enqueued = 0, done = 0;
  bool isLaunching = false;         ///< its launch executes: nothing behind it begins
  bool hasSeparate = false;         ///< a launch that began when all before it had ended
  std::shared_ptr<Capture> capture; ///< not null: work is captured
  size_t branch = 0;                ///< of the capture

  /// The work that comes next; null: there is none, or another one executes.
  Work *next() { return isLaunching || queue.empty() ? nullptr : &queue.front(); }
};

/// Work of a stream and of those that join it by events, in the order of the calls. The streams are
/// its branches, that where the capture began the first.
struct Capture {
  std::vector<std::pair<size_t, Work>> works; ///< branches, and what they do
  std::vector<Stream *> streams;
  /// Of each branch: how many works of each branch come before what it does next.
  std::vector<std::vector<size_t>> before;
  bool isOver = false;
  bool hasSeparate = false; ///< as of a stream

  void add(size_t branch, Work work);
  void join(Stream &stream);
  /// What a branch does from now on comes behind these works.
  void order(size_t branch, const std::vector<size_t> &works);
  /// The first branch is behind all works.
  bool isJoined() const;
};

/// What was captured. Its side branches have streams of their own, as branches of a graph do not
/// order themselves behind what the captured streams do.
struct Graph {
  std::vector<std::pair<size_t, Work>> works;
  size_t branches = 1;
  std::vector<void *> sides = {}; ///< of an executable graph: the streams of branches 1, 2, ...
};

class Streams {
public:
  static Streams &get();

  /// Of the calls that enqueue something.
  void count() { ++calls_; }
  uint64_t calls() const { return calls_; }

  void *create();
  /// Waits for the stream first.
  void destroy(void *stream);

  /// The functions below return a Status, or 0. A handle of no stream, such as null, is that of the
  /// default stream, which waits for no other.
  int enqueue(void *stream, Work work);
  int record(void *stream, Event &event);
  int wait(void *stream, const Event &event);
  int finish(void *stream);
  int finish(const Event &event);
  int finishAll();
  int elapsed(float &milliseconds, const Event &begin, const Event &end);

  int beginCapture(void *stream);
  bool isCaptured(void *stream);
  /// `graph`: null where the capture is refused.
  int endCapture(void *stream, Graph *&graph);
  void instantiate(Graph &graph);
  /// Records are made anew, so that each launch of a graph has its own.
  int launch(const Graph &graph, void *stream);
  void destroy(Graph *graph);

  /// From here on launches do not wait for those of the other ranks.
  void meetProcesses();

private:
  /// Until when a thread waits for something to change.
  struct Patience {
    uint64_t progress;
    std::chrono::steady_clock::time_point end;
  };

  Streams();
  Stream &stream(void *handle);
  int push(Stream &to, Work work);
  int record(Stream &to, std::shared_ptr<Record> record);
  int wait(Stream &to, const std::shared_ptr<Record> &record);

  int waitUntil(const std::function<bool()> &isOver);
  int waitUntilDone(const std::vector<std::shared_ptr<Stream>> &waited);
  void serve();
  bool isIdle() const;
  void takeTurn(std::unique_lock<std::mutex> &lock, std::optional<Patience> &patience);
  bool isReady(Stream &stream) const;
  bool advance();
  std::vector<Stream *> nextLaunches(bool areComplete);
  void executeLaunches(const std::vector<Stream *> &group, std::unique_lock<std::mutex> &lock);
  int execute(const std::vector<Launch> &launches, bool arePeersProcesses);
  void giveUp(std::unique_lock<std::mutex> &lock);
  void report();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<void *, std::shared_ptr<Stream>> streams_; ///< the default stream under null
  int created_ = 0;
  std::atomic<uint64_t> calls_ = 0;
  bool isExecuting_ = false;
  bool peersAreProcesses_ = false; ///< memory of others is mapped, and a thread executes
  bool isLost_ = false;            ///< nothing could go on: the work of all streams was dropped
  uint64_t progress_ = 0;          ///< works that were done
  uint64_t seed_ = 1;              ///< of the next launch
  std::mt19937_64 random_;
  int status_ = 0;
};

} // namespace ditron::emulated
