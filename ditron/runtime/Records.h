// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ranks and cores say about themselves in memory that every rank can read, so that a run that
// makes no progress can be reported whole (Watchdog.h). No pointers: texts are copied once into the
// rank's table and named by number, memory is named by its offset in the heap.
#pragma once
#include "ditron/abi/WorkspaceLayout.h"
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace ditron::runtime {

/// A place in a program: a role and a line; or, as the name of a kernel, `role` alone.
struct PlaceText {
  char role[64];
  char site[64];
};

/// A text that changes from launch to launch; too long ones lose their end. One reads it while another
/// may write: then it has parts of both.
struct TaskText {
  std::atomic<char> text[96];

  void set(std::string_view what) {
    size_t length = std::min(what.size(), std::size(text) - 1);
    for (size_t n = 0; n < length; ++n)
      text[n].store(what[n], std::memory_order_relaxed);
    text[length].store(0, std::memory_order_release);
  }
  std::string get() const {
    std::string result;
    for (size_t n = 0; n < std::size(text) - 1; ++n)
      if (char c = text[n].load(std::memory_order_acquire))
        result += c;
      else
        break;
    return result;
  }
};

/// The words of one rank. Only that rank writes them.
struct alignas(64) RankRecord {
  static constexpr uint32_t kMostPlaces = 511; ///< a Stamp has 9 bits for them

  std::atomic<uint32_t> places; ///< written, from 1 on; 0 is no known place
  std::atomic<uint32_t> kernel; ///< the place that names the kernel in execution, or 0
  TaskText task;                ///< of a graph, that the kernel is
  PlaceText texts[kMostPlaces + 1];
};

/// What a core is doing. Only that core writes it, and readers notice a change half done.
struct alignas(64) CoreRecord {
  enum State : uint32_t {
    computing,
    done,    ///< with its part of the launch
    signal,  ///< waits; words: directory, counter, expected, its NotifyMode
    barrier, ///< waits; words: first core, cores, among all ranks, round
    meeting, ///< the rank waits (core 0); words: the meeting
    launch,  ///< the rank waits (core 0); words: directory, launch needed, launch to begin
  };
  std::atomic<uint32_t> version; ///< odd while the rest changes
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> place; ///< of the last verb that waited or notified
  std::atomic<uint64_t> words[4];

  /// Waits from here on.
  void wait(State what, uint32_t where, uint64_t a, uint64_t b = 0, uint64_t c = 0,
            uint64_t d = 0) {
    uint32_t now = version.load(std::memory_order_relaxed);
    version.store(now + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    state.store(what, std::memory_order_relaxed);
    place.store(where, std::memory_order_relaxed);
    words[0].store(a, std::memory_order_relaxed);
    words[1].store(b, std::memory_order_relaxed);
    words[2].store(c, std::memory_order_relaxed);
    words[3].store(d, std::memory_order_relaxed);
    version.store(now + 2, std::memory_order_release);
  }
  void set(State what) { state.store(what, std::memory_order_release); }
};

/// Who notified a signal last, in a word beside the counter. Racing notifiers leave one of them.
struct Stamp {
  static constexpr uint64_t kLargestValue =
      (1 << 24) - 1; ///< what is more is cut to it, and reported so

  uint64_t rank = 0, core = 0; ///< up to 1023
  uint64_t place = 0;          ///< up to RankRecord::kMostPlaces
  uint64_t epoch = 0;          ///< of the launch, its last bits
  uint64_t value = 0;

  uint64_t pack() const {
    return rank << 54 | (core & 0x3FF) << 44 | place << 35 | (epoch & 0x7FF) << 24 |
           (value < kLargestValue ? value : kLargestValue);
  }
  static Stamp unpack(uint64_t word) {
    return {word >> 54, word >> 44 & 0x3FF, word >> 35 & 0x1FF, word >> 24 & 0x7FF,
            word & kLargestValue};
  }
  bool isOf(uint64_t launch) const { return epoch == (launch & 0x7FF) && (rank | place | value); }
};

/// How a signal is notified; one is notified in one way only.
enum class NotifyMode : int64_t { add = 0, set = 1 };

/// In front of a workspace, on every rank: where its counters are and what they are called. Places
/// are bytes from here on.
struct WorkspaceDirectory {
  struct Array {
    char name[40];
    uint64_t first, count; ///< counters
    uint64_t dims;         ///< 0: known as one dimension
    int64_t extents[4];
  };
  uint64_t head;        ///< of the workspace (abi/WorkspaceLayout.h)
  uint64_t signalStart; ///< pages of counters, then as many of stamps
  uint64_t pageBytes;   ///< of a page of counters
  uint64_t arrays;
  Array array[1]; ///< as many as `arrays`

  /// The launch that a rank completed last, as this one knows.
  const std::atomic<uint64_t> &completed(int rank) const {
    auto *word = reinterpret_cast<const std::byte *>(this) + head + abi::Head::kCompleted;
    return reinterpret_cast<const std::atomic<uint64_t> *>(word)[rank];
  }
};

} // namespace ditron::runtime
