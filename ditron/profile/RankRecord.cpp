// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/profile/RankRecord.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>

namespace ditron::profile {

using runtime::Event;
using runtime::EventKind;
using runtime::EventLog;
using runtime::LaunchRecord;
using runtime::NamedEvent;

namespace {

/// Texts, each with a number.
class Names {
public:
  int32_t of(const std::string &text) {
    auto [known, isNew] = numbers_.try_emplace(text, int32_t(texts.size()));
    if (isNew)
      texts.push_back(text);
    return known->second;
  }
  std::vector<std::string> texts;

private:
  std::unordered_map<std::string, int32_t> numbers_;
};

/// Lets what takes time take a nanosecond at least: viewers find the end of an arrow by its time.
void letNothingBeEmpty(std::vector<Event> &events) {
  uint64_t least = 0;
  for (Event &event : events) {
    event.begin = std::max(event.begin, least);
    if (!event.isMark())
      least = event.end = std::max(event.end, event.begin + 1);
  }
}

/// The events of a log with all times in nanoseconds. What was in ticks lies between its
/// neighbours: the clocks may differ by about what it takes to read them.
std::vector<Event> inNanoseconds(const EventLog &log) {
  std::vector<Event> events(log.events().begin(), log.events().end());
  uint64_t least = log.begin();
  for (Event &event : events) {
    if (event.inTicks()) {
      event.begin = std::max(least, log.timeOf(event.begin));
      event.end = event.isMark() ? event.begin : std::max(event.begin, log.timeOf(event.end));
    } else if (event.isMark()) {
      event.end = event.begin;
    }
    least = std::max(least, event.end);
  }
  uint64_t most = log.end();
  for (size_t n = events.size(); n-- > 0;) {
    Event &event = events[n];
    if (event.inTicks()) {
      event.end = std::min(most, event.end);
      event.begin = std::min(event.begin, event.end);
    }
    most = std::min(most, event.begin);
  }
  letNothingBeEmpty(events);
  return events;
}

/// The counters of a launch: where they are, and the head of the workspace that names them.
struct Counters {
  const runtime::SignalCell *cells = nullptr;
  size_t count = 0;
  const runtime::WorkspaceDirectory *directory = nullptr;
};

/// Names the events of the logs of a host's cores.
class HostReader {
public:
  HostReader(const runtime::Rank &rank, Counters counters) : rank_(rank), counters_(counters) {}

  LaunchRecord::Core read(const EventLog &log) {
    LaunchRecord::Core core{log.begin(), log.end(), log.dropped(), 0, log.cpuNs(), {}};
    if (log.dropped())
      core.firstDropped = log.firstDropped();
    for (const Event &event : inNanoseconds(log))
      core.events.push_back(named(event));
    return core;
  }

  std::vector<std::string> takeNames() { return std::move(names_.texts); }

private:
  NamedEvent named(const Event &event) {
    NamedEvent result{event};
    switch (event.kind) {
    case EventKind::roleEnter:
      result.name = nameOf(event.place);
      break;
    case EventKind::roleLeave:
    case EventKind::tilesEnd:
      break;
    default:
      result.place = nameOf(event.place);
      if (event.kind != EventKind::tile && event.kind != EventKind::barrier)
        resolve(result);
    }
    result.event.place = nullptr;
    return result;
  }

  int32_t nameOf(const char *text) {
    if (!text)
      return -1;
    auto [known, isNew] = places_.try_emplace(text, -1);
    if (isNew)
      known->second = names_.of(text);
    return known->second;
  }

  /// "ready[1, 2]".
  int32_t counterName(int64_t counter) {
    if (counter < 0 || size_t(counter) >= counters_.count)
      return -1;
    auto [known, isNew] = counterNames_.try_emplace(counter, -1);
    if (isNew) {
      std::string text = runtime::counterName(*counters_.directory, size_t(counter));
      if (size_t quote = text.rfind('\''); quote != std::string::npos)
        text = text.substr(1, quote - 1) + text.substr(quote + 1);
      known->second = names_.of(text);
    }
    return known->second;
  }

  /// Puts the rank and the counter in place of the address that the event has.
  void resolve(NamedEvent &named) {
    int64_t *values = named.event.values;
    auto *address = reinterpret_cast<const std::byte *>(values[0]);
    std::optional<int> owner = rank_.heap().ownerOf(address);
    if (named.event.kind != EventKind::wait)
      named.peer = owner.value_or(-1);
    if (named.event.kind == EventKind::put || named.event.kind == EventKind::get) {
      values[0] = values[1];
      values[1] = 0;
      return;
    }
    auto *here = owner ? rank_.heap().own(address, *owner) : address;
    values[0] = reinterpret_cast<const runtime::SignalCell *>(here) - counters_.cells;
    named.name = counterName(values[0]);
  }

  const runtime::Rank &rank_;
  Counters counters_;
  Names names_;
  std::unordered_map<const char *, int32_t> places_;
  std::unordered_map<int64_t, int32_t> counterNames_;
};

/// Turns the events of a core into slices.
class Reader {
public:
  Lane read(const LaunchRecord::Core &own, int rank, int core) {
    lane_ = {};
    lane_.rank = rank;
    lane_.core = core;
    lane_.begin = int64_t(own.begin);
    lane_.end = int64_t(own.end);
    lane_.dropped = int64_t(own.dropped);
    lane_.cpu = int64_t(own.cpu);
    if (own.dropped)
      lane_.knownUntil = int64_t(own.firstDropped);
    roles_.clear();
    tile_ = -1;
    for (const NamedEvent &event : own.events) {
      add(event);
      lane_.end = std::max(lane_.end, int64_t(event.event.end));
    }
    while (closeRole(lane_.knownEnd())) {
    }
    return std::move(lane_);
  }

private:
  Slice &open(const NamedEvent &named, Kind kind) {
    const Event &event = named.event;
    Slice &slice = lane_.slices.emplace_back();
    slice.begin = int64_t(event.begin);
    slice.end = int64_t(event.end);
    slice.kind = kind;
    slice.waited = event.waited;
    slice.dims = event.dims;
    slice.name = named.name;
    slice.place = named.place;
    slice.peer = named.peer;
    std::copy(std::begin(event.values), std::end(event.values), slice.values);
    return slice;
  }

  void closeTile(int64_t time) {
    if (tile_ >= 0)
      lane_.slices[size_t(tile_)].end = time;
    tile_ = -1;
  }

  /// Closes the innermost role, and the tile in it; false where there is none.
  bool closeRole(int64_t time) {
    closeTile(time);
    if (roles_.empty())
      return false;
    lane_.slices[roles_.back()].end = time;
    roles_.pop_back();
    return true;
  }

  void add(const NamedEvent &event) {
    auto time = int64_t(event.event.begin);
    switch (event.event.kind) {
    case EventKind::roleEnter:
      roles_.push_back(lane_.slices.size());
      open(event, Kind::role);
      return;
    case EventKind::roleLeave:
      closeRole(time);
      return;
    case EventKind::tile:
      closeTile(time);
      tile_ = int64_t(lane_.slices.size());
      open(event, Kind::tile);
      return;
    case EventKind::tilesEnd:
      closeTile(time);
      return;
    default:
      addVerb(event);
    }
  }

  void addVerb(const NamedEvent &event) {
    constexpr std::pair<EventKind, Kind> kKinds[] = {{EventKind::put, Kind::put},
                                                     {EventKind::get, Kind::get},
                                                     {EventKind::wait, Kind::wait},
                                                     {EventKind::barrier, Kind::barrier},
                                                     {EventKind::notify, Kind::notify}};
    for (auto [from, kind] : kKinds)
      if (event.event.kind == from)
        open(event, kind);
  }

  Lane lane_;
  std::vector<size_t> roles_;
  int64_t tile_ = -1;
};

//===-- Bytes ---------------------------------------------------------------------------------===//

class Writer {
public:
  template <class T> void put(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
  }
  void put(const std::string &text) {
    put(text.size());
    bytes += text;
  }
  std::string bytes;
};

class BytesReader {
public:
  explicit BytesReader(const std::string &bytes) : bytes_(bytes) {}
  template <class T> void get(T &value) { copy(&value, sizeof(T)); }
  void get(std::string &text) {
    text.resize(count());
    copy(text.data(), text.size());
  }
  size_t count() {
    size_t n = 0;
    get(n);
    return n;
  }
  void copy(void *to, size_t bytes) {
    if (bytes > bytes_.size() - at_)
      throw InternalError("a rank's events are cut short");
    std::copy_n(bytes_.data() + at_, bytes, static_cast<char *>(to));
    at_ += bytes;
  }

private:
  const std::string &bytes_;
  size_t at_ = 0;
};

} // namespace

Recorded::Recorded(const runtime::Rank &rank) {
  for (int core = 0; core < rank.cores(); ++core)
    logs_.push_back(std::make_unique<EventLog>(rank.options().events));
}

void Recorded::take(runtime::Rank &rank, const std::string &kernel,
                    const runtime::Workspace *workspace) {
  for (int core = 0; core < rank.cores(); ++core)
    logs_[size_t(core)] = rank.takeLog(core, std::move(logs_[size_t(core)]));
  kernel_ = kernel;
  isTaken_ = true;
  cells_ = workspace ? workspace->cells() : nullptr;
  cellCount_ = workspace ? workspace->cellCount() : 0;
  directory_.clear();
  if (workspace) {
    const runtime::WorkspaceDirectory &directory = workspace->directory();
    auto *bytes = reinterpret_cast<const std::byte *>(&directory);
    directory_.assign(bytes,
                      bytes + sizeof(directory) + directory.arrays * sizeof(directory.array[0]));
  }
}

RankRecord Recorded::read(const runtime::Rank &rank) const {
  RankRecord record;
  if (!isTaken_)
    return record;
  HostReader host(rank, {cells_, cellCount_,
                         reinterpret_cast<const runtime::WorkspaceDirectory *>(directory_.data())});
  Reader reader;
  record.kernel = kernel_;
  for (int core = 0; core < rank.cores(); ++core)
    record.lanes.push_back(reader.read(host.read(*logs_[size_t(core)]), rank.rank(), core));
  record.names = host.takeNames();
  return record;
}

RankRecord readRecord(const LaunchRecord &launch, int rank, size_t cores) {
  RankRecord record{launch.kernel, launch.names, {}};
  Reader reader;
  uint64_t begin = UINT64_MAX;
  for (const LaunchRecord::Core &core : launch.cores)
    begin = std::min(begin, core.begin);
  for (size_t core = 0; core < std::max(cores, launch.cores.size()); ++core) {
    LaunchRecord::Core absent{begin, begin, 0, 0, 0, {}};
    record.lanes.push_back(
        reader.read(core < launch.cores.size() ? launch.cores[core] : absent, rank, int(core)));
  }
  return record;
}

std::string pack(const RankRecord &record) {
  Writer writer;
  writer.put(record.kernel);
  writer.put(record.names.size());
  for (const std::string &name : record.names)
    writer.put(name);
  writer.put(record.lanes.size());
  for (const Lane &lane : record.lanes) {
    for (int64_t word : {int64_t(lane.rank), int64_t(lane.core), lane.begin, lane.end,
                         lane.knownUntil, lane.dropped, lane.cpu})
      writer.put(word);
    writer.put(lane.slices.size());
    if (!lane.slices.empty())
      writer.bytes.append(reinterpret_cast<const char *>(lane.slices.data()),
                          lane.slices.size() * sizeof(Slice));
  }
  return std::move(writer.bytes);
}

RankRecord unpack(const std::string &bytes) {
  BytesReader reader(bytes);
  RankRecord record;
  reader.get(record.kernel);
  record.names.resize(reader.count());
  for (std::string &name : record.names)
    reader.get(name);
  record.lanes.resize(reader.count());
  for (Lane &lane : record.lanes) {
    int64_t words[7];
    reader.get(words);
    lane.rank = int32_t(words[0]);
    lane.core = int32_t(words[1]);
    lane.begin = words[2];
    lane.end = words[3];
    lane.knownUntil = words[4];
    lane.dropped = words[5];
    lane.cpu = words[6];
    lane.slices.resize(reader.count());
    reader.copy(lane.slices.data(), lane.slices.size() * sizeof(Slice));
  }
  return record;
}

std::vector<std::string> gatherBytes(runtime::Rank &rank, const std::string &mine) {
  constexpr size_t kWindow = size_t(1) << 18;
  auto *window = static_cast<char *>(rank.heap().allocate(kWindow, 64, "timeline"));
  auto exchange = [&](const void *from, size_t bytes, auto &&read) {
    std::memcpy(window, from, bytes);
    rank.barrier();
    for (int peer = 0; peer < rank.size(); ++peer)
      read(size_t(peer), rank.heap().peer(window, peer));
    rank.barrier();
  };
  std::vector<size_t> sizes(size_t(rank.size()));
  size_t size = mine.size(), longest = 0;
  exchange(&size, sizeof(size), [&](size_t peer, const char *theirs) {
    std::memcpy(&sizes[peer], theirs, sizeof(size));
    longest = std::max(longest, sizes[peer]);
  });
  std::vector<std::string> all(rank.rank() == 0 ? sizes.size() : 0);
  for (size_t at = 0; at < longest; at += kWindow) {
    auto part = [&](size_t bytes) { return std::min(kWindow, bytes - std::min(at, bytes)); };
    exchange(mine.data() + std::min(at, size), part(size), [&](size_t peer, const char *theirs) {
      if (rank.rank() == 0)
        all[peer].append(theirs, part(sizes[peer]));
    });
  }
  rank.heap().free(window);
  return all;
}

Timeline merge(std::vector<RankRecord> records) {
  Timeline timeline;
  Names names;
  int64_t start = INT64_MAX;
  for (const RankRecord &record : records) {
    if (record.kernel != records[0].kernel)
      throw RuntimeError(fmt::format("the ranks recorded different kernels: rank 0 '{}', rank {} "
                                     "'{}'",
                                     records[0].kernel, &record - records.data(), record.kernel));
    for (const Lane &lane : record.lanes)
      start = std::min(start, lane.begin);
  }
  for (RankRecord &record : records) {
    auto renamed = [&](int32_t name) {
      return name < 0 ? name : names.of(record.names[size_t(name)]);
    };
    for (Lane &lane : record.lanes) {
      lane.begin -= start;
      lane.end -= start;
      if (lane.dropped)
        lane.knownUntil -= start;
      for (Slice &slice : lane.slices) {
        slice.begin -= start;
        slice.end -= start;
        slice.name = renamed(slice.name);
        slice.place = renamed(slice.place);
      }
      timeline.lanes.push_back(std::move(lane));
    }
  }
  timeline.kernel = records[0].kernel;
  timeline.ranks = int(records.size());
  timeline.cores = int(timeline.lanes.size() / records.size());
  timeline.names = std::move(names.texts);
  return timeline;
}

} // namespace ditron::profile
