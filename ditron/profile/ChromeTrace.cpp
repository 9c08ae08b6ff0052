// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/profile/Export.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ditron::profile {

namespace {

/// Text as a JSON string; bytes that are no UTF-8 are replaced.
std::string quoted(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Writes the list of events. Times are microseconds with three decimals: nanoseconds. Process 0
/// and thread 0 are the idle ones to viewers, and a thread with the number of its process is its
/// main thread, so ranks are counted from 1 and cores go on from there.
class ChromeWriter {
public:
  explicit ChromeWriter(const Timeline &timeline) : timeline_(timeline) {}

  std::string run() {
    line(
        R"({{"displayTimeUnit":"ns","otherData":{{"kernel":{},"dropped_events":{}}},"traceEvents":[)",
        quoted(timeline_.kernel), timeline_.dropped());
    for (int rank = 0; rank < timeline_.ranks; ++rank) {
      event(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"rank {}"}}}})",
            process(rank), rank);
      event(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
            process(rank), rank);
    }
    for (const Lane &lane : timeline_.lanes)
      writeLane(lane);
    for (size_t n = 0; n < timeline_.arrows.size(); ++n)
      writeArrow(timeline_.arrows[n], n);
    line("\n]}}\n");
    return std::move(text_);
  }

private:
  template <class... T> void line(fmt::format_string<T...> format, T &&...values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<T>(values)...);
  }
  template <class... T> void event(fmt::format_string<T...> format, T &&...values) {
    text_ += isFirst_ ? "\n" : ",\n";
    isFirst_ = false;
    line(format, std::forward<T>(values)...);
  }

  static int process(int32_t rank) { return rank + 1; }
  int thread(const Lane &lane) const {
    return 1 + timeline_.ranks + lane.rank * timeline_.cores + lane.core;
  }
  static std::string micros(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  void writeLane(const Lane &lane) {
    event(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"core {}"}}}})",
          process(lane.rank), thread(lane), lane.core);
    event(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
          process(lane.rank), thread(lane), lane.core);
    event(
        R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"kernel","args":{{"dropped_events":{}}}}})",
        process(lane.rank), thread(lane), micros(lane.begin), micros(lane.end - lane.begin),
        quoted(timeline_.kernel), lane.dropped);
    for (const Slice &slice : lane.slices)
      event(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}","args":{{{}}}}})",
            process(lane.rank), thread(lane), micros(slice.begin), micros(slice.end - slice.begin),
            quoted(nameOf(slice)), name(slice.kind), arguments(slice));
    if (lane.dropped)
      event(
          R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{} events missing","cat":"missing","args":{{}}}})",
          process(lane.rank), thread(lane), micros(lane.knownEnd()),
          micros(lane.end - lane.knownEnd()), lane.dropped);
  }

  std::string nameOf(const Slice &slice) const {
    switch (slice.kind) {
    case Kind::role:
      return timeline_.text(slice.name);
    case Kind::tile:
      return fmt::format("tile {}", fmt::join(slice.values, slice.values + slice.dims, ","));
    case Kind::put:
      return fmt::format("put to {}", slice.peer);
    case Kind::get:
      return fmt::format("get from {}", slice.peer);
    default:
      if (slice.task >= 0)
        return "wait for " + taskOf(slice);
      return slice.name < 0 ? name(slice.kind)
                            : fmt::format("{} {}", name(slice.kind), timeline_.text(slice.name));
    }
  }

  const std::string &taskOf(const Slice &slice) const {
    return timeline_.tasks[static_cast<size_t>(slice.task)].label;
  }

  /// The members of `args`.
  std::string arguments(const Slice &slice) const {
    std::string text;
    auto add = [&](const char *name, const std::string &value) {
      text += fmt::format(R"({}"{}":{})", text.empty() ? "" : ",", name, value);
    };
    const int64_t *values = slice.values;
    if (slice.place >= 0)
      add("source", quoted(timeline_.text(slice.place)));
    if (slice.peer >= 0)
      add("peer", std::to_string(slice.peer));
    if (slice.task >= 0)
      add(slice.kind == Kind::role ? "kernel" : "task",
          quoted(slice.kind == Kind::role ? timeline_.tasks[static_cast<size_t>(slice.task)].kernel
                                          : taskOf(slice)));
    if (slice.transfers())
      add("bytes", std::to_string(values[0]));
    if (slice.kind == Kind::tile)
      add("tile", fmt::format("[{}]", fmt::join(values, values + slice.dims, ",")));
    if (slice.kind == Kind::barrier) {
      add("ranks", values[0] ? "\"all\"" : "\"this\"");
      add("first_core", std::to_string(values[1]));
      add("cores", std::to_string(values[2]));
    }
    if (slice.kind == Kind::wait || slice.kind == Kind::notify) {
      const std::string &counter = timeline_.text(slice.name); // "ready[1, 2]"
      size_t bracket = std::min(counter.rfind('['), counter.size());
      add("signal", quoted(counter.substr(0, bracket)));
      if (bracket < counter.size())
        add("index", counter.substr(bracket));
    }
    if (slice.kind == Kind::wait) {
      add("expected", std::to_string(values[1]));
      add("waited", slice.waited ? "true" : "false");
    }
    if (slice.kind == Kind::notify)
      add("added", std::to_string(values[2] - values[1]));
    return text;
  }

  /// A flow's ends lie in the slices that it joins: at the start of the first, and in the last
  /// nanosecond of the second.
  void writeArrow(const Arrow &arrow, size_t number) {
    const Slice &from = timeline_.at(arrow.from), &to = timeline_.at(arrow.to);
    auto end = [&](const char *phase, SliceRef at, int64_t time) {
      const Lane &lane = timeline_.lanes[size_t(at.lane)];
      event(R"({{"ph":"{}","id":{},"pid":{},"tid":{},"ts":{},"name":"{}","cat":"signal"{}}})",
            phase, number + 1, process(lane.rank), thread(lane), micros(time), name(to.kind),
            *phase == 'f' ? R"(,"bp":"e")" : "");
    };
    end("s", arrow.from, from.begin);
    end("f", arrow.to, std::max(to.begin, to.end - 1));
  }

  const Timeline &timeline_;
  std::string text_;
  bool isFirst_ = true;
};

} // namespace

std::string chromeTrace(const Timeline &timeline) { return ChromeWriter(timeline).run(); }

} // namespace ditron::profile
