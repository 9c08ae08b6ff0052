// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that are processes of one host. The region is a memory file without a name that rank 0
// makes and hands to the others over a unix socket, so nothing is left behind however a run ends
// (see docs/rationale/shared-memory.md).
//
// Rank 0 also hands every pair of ranks the two ends of a socket. It is how the kernel says that a
// process is gone: a thread of each rank watches its ends, and makes the end of a peer that has not
// left in good order the error of the run. Open files, such as those of a GPU's memory, go from rank
// to rank there too; the same thread takes them, and keeps them for whoever asks.
#include "ditron/runtime/Launcher.h"
#include "ditron/runtime/WaitReport.h"
#include "ditron/runtime/transport/MeetingMessages.h"
#include "ditron/runtime/transport/MeetingPlace.h"
#include "ditron/runtime/transport/Transport.h"
#include "ditron/support/Error.h"
#include "ditron/support/StartThread.h"
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace ditron::runtime {

namespace {

constexpr int kMaxRanks = 250; // files that fit one message
// No rank can take memory away from under the others.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct Joined {
  File memory;
  size_t heapBytes = 0;
  std::vector<File> peers; // by rank; none for the own
};

/// The open files that have come from the peers.
class Inbox {
public:
  explicit Inbox(size_t peers) : files_(peers) {}

  void put(size_t peer, uint64_t tag, File file) {
    std::lock_guard guard(lock_);
    files_[peer].emplace_back(tag, std::move(file));
    changed_.notify_all();
  }
  /// The one with this tag, as Transport::receiveFile. Those before it are of exchanges that failed.
  File take(size_t peer, uint64_t tag, Deadline deadline, const Control &control) {
    constexpr std::chrono::milliseconds kLook{20};
    std::unique_lock lock(lock_);
    auto &waiting = files_[peer];
    for (;;) {
      while (!waiting.empty()) {
        auto [found, file] = std::move(waiting.front());
        waiting.pop_front();
        if (found == tag)
          return std::move(file);
      }
      if (control.stopped() || std::chrono::steady_clock::now() > deadline)
        return {};
      changed_.wait_for(lock, kLook);
    }
  }

private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<std::deque<std::pair<uint64_t, File>>> files_; ///< by peer
};

/// Watches the sockets to the peers.
class Monitor {
public:
  Monitor(Control control, std::vector<File> peers)
      : control_(control), peers_(std::move(peers)), inbox_(peers_.size()),
        stop_(eventfd(0, EFD_CLOEXEC)) {
    if (!stop_)
      throw RuntimeError(fmt::format("an eventfd is refused: {}", std::strerror(errno)));
    thread_ = startThread("the thread that watches for ranks that die", [this] { watch(); });
  }
  ~Monitor() {
    uint64_t one = 1;
    while (write(stop_.number(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
  }

  const File &peer(int rank) const { return peers_[size_t(rank)]; }
  Inbox &inbox() { return inbox_; }

private:
  void watch() {
    std::vector<pollfd> entries{{stop_.number(), POLLIN, 0}};
    for (const File &peer : peers_)
      entries.push_back({peer.number(), POLLIN, 0}); // poll skips negative numbers
    for (;;) {
      if (poll(entries.data(), entries.size(), -1) < 0)
        continue;
      if (entries[0].revents)
        return;
      for (size_t i = 1; i < entries.size(); ++i)
        if (entries[i].revents && !receive(i - 1)) {
          entries[i].fd = -1;
          report(int(i) - 1, (entries[i].revents & POLLHUP) != 0);
        }
    }
  }

  /// A message of a peer; false where there is none to come.
  bool receive(size_t peer) {
    uint64_t tag = 0;
    std::vector<File> files;
    if (!receiveMessage(peers_[peer], &tag, sizeof(tag), std::chrono::steady_clock::now(),
                        &files) ||
        files.size() != 1)
      return false;
    inbox_.put(peer, tag, std::move(files[0]));
    return true;
  }

  void report(int peer, bool isGone) {
    if (!isGone)
      return control_.raiseFatal(fmt::format(
          "an open file of rank {} cannot be taken (ulimit -n bounds their number)", peer));
    RankSlot &slot = control_.slot(peer);
    if (slot.left.load(std::memory_order_acquire) == 0)
      control_.raiseFatal(fmt::format("rank {} (process {}) died", peer,
                                      slot.process.load(std::memory_order_relaxed)));
  }

  Control control_;
  std::vector<File> peers_;
  Inbox inbox_;
  File stop_;
  std::thread thread_;
};

class ProcessesTransport final : public Transport {
public:
  ProcessesTransport(const Membership &membership, const Options &options, Joined joined)
      : region_(Control::regionBytes(membership.size, options.cores, joined.heapBytes),
                joined.memory.number()) {
    control_ = Control(region_.data());
    try {
      monitor_ = std::make_unique<Monitor>(control_, std::move(joined.peers));
    } catch (const Error &error) { // the others are there already
      control_.raiseFatal(error.what());
      throw;
    }
  }
  std::string_view name() const override { return "processes"; }

  // A peer that is gone is an error of the run already.
  void sendFile(int peer, int file, uint64_t tag) override {
    sendMessage(monitor_->peer(peer), &tag, sizeof(tag), {file});
  }
  File receiveFile(int peer, uint64_t tag, Deadline deadline) override {
    return monitor_->inbox().take(size_t(peer), tag, deadline, control_);
  }

private:
  Region region_;
  std::unique_ptr<Monitor> monitor_;
};

/// A mesh that the ranks do not fit is refused once they have met, on all of them.
std::string describeMesh(const MeshRequest &request, int ranks) {
  try {
    return request.of(ranks).text();
  } catch (const UsageError &) {
    return request.text();
  }
}

Terms termsOf(const Membership &membership, const Options &options) {
  return {options.cores, options.backend, describeMesh(options.mesh, membership.size)};
}

/// Rank 0: collects the others and hands out the region.
class Hub {
public:
  Hub(const Membership &membership, const Options &options, Deadline deadline)
      : membership_(membership), options_(options), deadline_(deadline),
        roster_(membership, termsOf(membership, options)), connections_(size_t(membership.size)) {}

  Joined meet(MeetingPlace &place) {
    const File &listener = place.listen(deadline_);
    try {
      collect(listener);
      return handOut();
    } catch (const Error &error) {
      refuse(listener, error.what());
      throw;
    }
  }

private:
  void collect(const File &listener) {
    while (!roster_.absent().empty())
      if (!attend(listener, deadline_, [this](File guest) { hear(std::move(guest)); }))
        throw RuntimeError(fmt::format("rank 0 waited {} ms for {} to start",
                                       options_.connectTimeout.count(),
                                       describeRanks(roster_.absent())));
  }

  /// Lets in who comes, and has `hear` take the guests that have spoken, or are gone; false where there
  /// is none until the deadline. RuntimeError where a rank that was admitted is gone.
  bool attend(const File &listener, Deadline deadline, const std::function<void(File)> &hear) {
    std::vector<pollfd> entries{{listener.number(), POLLIN, 0}};
    for (const File &guest : guests_)
      entries.push_back({guest.number(), POLLIN, 0});
    size_t firstRank = entries.size();
    for (const File &connection : connections_)
      entries.push_back({connection.number(), 0, 0}); // poll skips negative numbers
    if (!waitReadable(entries, deadline))
      return false;
    for (size_t rank = 0; rank < connections_.size(); ++rank)
      if (entries[firstRank + rank].revents)
        throw RuntimeError(fmt::format("rank {} died while the run started", rank));
    if (entries[0].revents)
      admit(acceptFrom(listener, deadline));
    for (size_t guest = firstRank - 1; guest > 0; --guest)
      if (entries[guest].revents) {
        File speaker = std::move(guests_[guest - 1]);
        guests_.erase(guests_.begin() + ptrdiff_t(guest - 1));
        hear(std::move(speaker));
      }
    return true;
  }

  void admit(File guest) {
    if (guest && peerOf(guest).user == geteuid())
      guests_.push_back(std::move(guest));
  }

  /// Takes in a guest that has spoken, or drops it where that is no rank of this run.
  void hear(File guest) {
    std::string text = messageOf(guest);
    try {
      if (std::optional<int> rank = roster_.admit(text))
        connections_[size_t(*rank)] = std::move(guest);
    } catch (const Error &) {
      refused_.push_back(std::move(guest));
      throw;
    }
  }

  /// What a guest has said; empty where it is gone.
  std::string messageOf(const File &guest) const {
    std::string text(roster_.mostHelloBytes(), '\0');
    text.resize(receiveAtMost(guest, text.data(), text.size(), std::chrono::steady_clock::now())
                    .value_or(0));
    return text;
  }

  Joined handOut() {
    Joined own;
    own.heapBytes = heapBytesFor(options_, membership_.size);
    own.memory = makeMemory(own.heapBytes);
    std::vector<std::vector<File>> ends = makeMesh();
    std::string answer = Answer{true, own.heapBytes, ""}.bytes();
    for (int rank = 1; rank < membership_.size; ++rank) {
      std::vector<int> files{own.memory.number()};
      for (const File &end : ends[size_t(rank)])
        if (end)
          files.push_back(end.number());
      if (!sendMessage(connections_[size_t(rank)], answer.data(), answer.size(), files))
        throw RuntimeError(fmt::format("rank {} died while the run started", rank));
    }
    own.peers = std::move(ends[0]);
    return own;
  }

  File makeMemory(size_t heapBytes) const {
    File memory(memfd_create("ditron", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    size_t bytes = Control::regionBytes(membership_.size, options_.cores, heapBytes);
    if (!memory || ftruncate(memory.number(), off_t(bytes)) != 0 ||
        fcntl(memory.number(), F_ADD_SEALS, kSeals) != 0)
      throw RuntimeError(fmt::format("{} bytes of shared memory are refused: {} (ulimit -f bounds "
                                     "them, DITRON_HEAP_BYTES sets those of a rank; ulimit -n "
                                     "bounds open files)",
                                     bytes, std::strerror(errno)));
    Region region(bytes, memory.number());
    Control control(region.data());
    control.initialise(membership_.size, options_.cores, heapBytes);
    for (int rank = 0; rank < membership_.size; ++rank)
      control.slot(rank).process.store(rank == 0 ? getpid()
                                                 : peerOf(connections_[size_t(rank)]).process,
                                       std::memory_order_relaxed);
    return memory;
  }

  /// A socket between every two ranks: ends[a][b] is a's end to b.
  std::vector<std::vector<File>> makeMesh() const {
    auto size = size_t(membership_.size);
    std::vector<std::vector<File>> ends(size);
    for (auto &row : ends)
      row.resize(size);
    for (size_t a = 0; a < size; ++a)
      for (size_t b = a + 1; b < size; ++b)
        std::tie(ends[a][b], ends[b][a]) = socketPair();
    return ends;
  }

  /// Tells all ranks that there is no run: those that are here, and for a while those that come.
  void refuse(const File &listener, const char *message) {
    std::string answer = Answer{false, 0, message}.bytes();
    auto tell = [&](const File &guest) {
      if (guest)
        sendMessage(guest, answer.data(), answer.size());
    };
    for (const std::vector<File> *present : {&connections_, &refused_})
      std::for_each(present->begin(), present->end(), tell);
    connections_.clear(); // they may end now
    try {
      refuseLate(listener, tell);
    } catch (const Error &) { // whoever comes finds nobody; the message says why there is no run
    }
    std::for_each(guests_.begin(), guests_.end(), tell);
  }

  /// The ranks that come within a second, and those whose messages have not been read: a socket that is
  /// closed with one loses the answer.
  void refuseLate(const File &listener, const std::function<void(const File &)> &tell) {
    constexpr std::chrono::milliseconds kLateness{1000};
    std::vector<int> missing = roster_.absent();
    auto hear = [&](const File &guest) {
      if (std::optional<int> rank = roster_.speaker(messageOf(guest))) {
        tell(guest);
        std::erase(missing, *rank);
      }
    };
    Deadline end = std::min(std::chrono::steady_clock::now() + kLateness, deadline_);
    while (!missing.empty() && attend(listener, end, hear)) {
    }
  }

  const Membership &membership_;
  const Options &options_;
  Deadline deadline_;
  Roster roster_;
  std::vector<File> guests_;      ///< they have come, and said nothing
  std::vector<File> refused_;     ///< they cannot take part
  std::vector<File> connections_; ///< by rank
};

/// RuntimeError unless the file is of so many bytes for good.
void requireSealed(const File &memory, size_t bytes) {
  struct stat status{};
  bool isSized = fstat(memory.number(), &status) == 0 && size_t(status.st_size) == bytes;
  if (!isSized || (fcntl(memory.number(), F_GET_SEALS) & kSeals) != kSeals)
    throw RuntimeError(fmt::format(
        "rank 0 hands out memory of {} bytes, expected {} that are sealed", status.st_size, bytes));
}

/// A rank other than 0: goes to rank 0 and takes what it hands out.
Joined join(const Membership &membership, const Options &options, const MeetingPlace &place,
            Deadline deadline) {
  File connection = place.connect(deadline);
  if (!connection)
    throw RuntimeError(fmt::format("rank {} waited {} ms for rank 0 to start on this host",
                                   membership.rank, options.connectTimeout.count()));
  std::string hello = helloOf(membership, termsOf(membership, options));
  std::vector<File> files;
  sendMessage(connection, hello.data(), hello.size()); // fails where the answer is there already
  std::string text(Answer::kMostBytes, '\0');
  // Rank 0 keeps the same bound; the second more lets its report arrive.
  text.resize(receiveAtMost(connection, text.data(), text.size(),
                            deadline + std::chrono::seconds(1), &files)
                  .value_or(0));
  std::optional<Answer> answer = Answer::parse(text);
  if (!answer)
    throw RuntimeError(fmt::format("rank {} lost rank 0 while the run started", membership.rank));
  if (!answer->isAccepted)
    throw RuntimeError(answer->refusal);
  if (files.size() != size_t(membership.size))
    throw InternalError(fmt::format("{} files for {} ranks", files.size(), membership.size));
  Joined joined;
  joined.heapBytes = answer->heapBytes;
  joined.memory = std::move(files[0]);
  requireSealed(joined.memory,
                Control::regionBytes(membership.size, options.cores, joined.heapBytes));
  joined.peers.resize(size_t(membership.size));
  for (int peer = 0, next = 1; peer < membership.size; ++peer)
    if (peer != membership.rank)
      joined.peers[size_t(peer)] = std::move(files[size_t(next++)]);
  return joined;
}

} // namespace

std::shared_ptr<Transport> joinProcesses(const Membership &membership, const Options &options) {
  if (membership.size > kMaxRanks)
    throw RuntimeError(fmt::format("{} ranks are more than transport 'processes' can take: {}",
                                   membership.size, kMaxRanks));
  checkOptions(options);
  MeetingPlace place(membership.job);
  Deadline deadline = std::chrono::steady_clock::now() + options.connectTimeout;
  Joined joined = membership.rank == 0 ? Hub(membership, options, deadline).meet(place)
                                       : join(membership, options, place, deadline);
  if (membership.rank == 0)
    tellLauncherOfMeeting();
  return std::make_shared<ProcessesTransport>(membership, options, std::move(joined));
}

} // namespace ditron::runtime
