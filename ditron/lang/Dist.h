// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Device level: ranks, symmetric memory, signals, roles. Effects keep program order; there is
// no token to remember. docs/memory-model.md says what each verb promises.
#pragma once
#include "ditron/lang/Tensor.h"
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>

namespace ditron {

/// An axis of the mesh of ranks, by name. Every mesh has node and local; others have the names that
/// Options::mesh gives them: Mesh("row"), where `--mesh row=2,col=2` says what it is. CompileError for
/// what is no name: a letter, then letters, digits or _, at most 15 of them.
class Mesh {
public:
  static const Mesh world, node, local;
  constexpr Mesh(const char *name) : Mesh(std::string_view(name)) {}
  Mesh(std::nullptr_t) = delete;
  constexpr Mesh(std::string_view name) {
    if (name.size() < name_.size())
      std::copy(name.begin(), name.end(), name_.begin());
  }
  constexpr std::string_view name() const { return name_.data(); }
  constexpr bool operator==(const Mesh &) const = default;

private:
  std::array<char, 16> name_{};
};
inline constexpr Mesh Mesh::world = "world", Mesh::node = "node", Mesh::local = "local";

/// This rank's number.
Index rank(Mesh axis = Mesh::world, Location where = Location::current());
/// How many ranks there are.
Index numRanks(Mesh axis = Mesh::world, Location where = Location::current());
/// This core's number within the running role, and how many cores run it.
Index coreId(Location where = Location::current());
Index numCores(Location where = Location::current());

/// The rank that is at `at` along an axis, and where this rank is along all others: a peer, as
/// in full.on(rankAt(Mesh::local, 0)).
Index rankAt(Mesh axis, Index at, Location where = Location::current());

/// for (auto peer : ranks()): this rank, the next one, ...: no two ranks start with the same peer.
/// Along an axis, the ranks that differ from this one along that axis only.
class ranks : public detail::Loop<ranks> { // NOLINT(readability-identifier-naming): as range
public:
  explicit ranks(Location where = Location::current()) : ranks(Mesh::world, where) {}
  explicit ranks(Mesh axis, Location where = Location::current());
  void open();
  Index item() const { return Index(item_); }

private:
  Mesh axis_;
  detail::Handle item_;
};

/// Which way round the ring of ranks.
enum class Ring { previous, next };

/// for (auto peer : peers()): the other ranks: the one before this one first, then the one before
/// that. No two ranks start with the same peer, and a rank that takes shards in the order
/// order::ownShardFirst is sent the one first that it needs first. With Ring::next the one after
/// this one comes first.
class peers : public detail::Loop<peers> { // NOLINT(readability-identifier-naming): as range
public:
  explicit peers(Ring way = Ring::previous, Location where = Location::current())
      : Loop(where), way_(way) {}
  void open();
  Index item() const { return Index(item_); }

private:
  Ring way_;
  detail::Handle item_;
};

//===-- Symmetric memory ----------------------------------------------------------------------===//

namespace detail {
ViewData symmetricBuffer(DType type, std::vector<Index> extents, const char *name, Location where);
Handle symmetricSignals(std::vector<Index> extents, const char *name, Location where);
/// A counter, of the signals of this rank (no peer) or of a peer.
struct SignalData {
  Handle signals;
  Handle peer = {};
  std::array<Index, 4> at{0, 0, 0, 0};
  int rank = 0;
};
void notifySignal(const SignalData &signal, bool set, IndexOperand value);
void waitSignal(const SignalData &signal, IndexOperand value);
/// A chunk of memory of this rank (no peer) or of a peer.
struct ChunkData {
  Handle view;
  Handle peer = {};
};
void putChunk(const ChunkData &source, const ChunkData &destination, Location where);
void getChunk(const ChunkData &source, const ChunkData &destination, Location where);
ChunkData chunkOf(const TileRefData &ref);
ChunkData chunkOf(const ViewData &view);
} // namespace detail

/// A row-major buffer that every rank has: symmetric<f16>({numRanks(), A.rows(), A.cols()}). Its
/// extents, 1 to 4 of them, may depend on arguments' extents, integer arguments and the number of ranks.
/// Undefined at the start of a launch. `name` is for messages; without one that is the line.
template <class T, size_t rank>
  requires(rank <= 4)
Symmetric<T, static_cast<int>(rank)> symmetric(const Index (&extents)[rank], const char *name = "",
                                               Location where = Location::current()) {
  return Symmetric<T, static_cast<int>(rank)>(
      detail::symmetricBuffer(kDType<T>, {extents, extents + rank}, name, where));
}
template <class T>
Symmetric<T, 2> symmetric(Index rows, Index columns, Location where = Location::current()) {
  return Symmetric<T, 2>(detail::symmetricBuffer(kDType<T>, {rows, columns}, "", where));
}

/// One counter of an array of signals; a peer's if `remote`.
template <bool remote> struct Signal : detail::SignalData {};

/// Counters, 64-bit, that only grow; 0 at the start of a launch.
template <int rank, bool remote> class SignalArray {
public:
  explicit SignalArray(detail::Handle signals, detail::Handle peer = {})
      : signals_(signals), peer_(peer) {}

  template <std::convertible_to<Index>... I>
    requires(sizeof...(I) == rank)
  Signal<remote> operator()(I... at) const {
    Signal<remote> signal;
    signal.signals = signals_;
    signal.peer = peer_;
    int d = 0;
    ((signal.at[d++] = Index(at)), ...);
    signal.rank = rank;
    return signal;
  }
  /// The peer's counters: they can be notified, not waited for.
  SignalArray<rank, true> on(Index peer, Location where = Location::current()) const
    requires(!remote)
  {
    return SignalArray<rank, true>(signals_, detail::handleOf(peer, where));
  }

private:
  detail::Handle signals_, peer_;
};

/// An array of signals that every rank has; extents as of symmetric().
inline SignalArray<1, false> signals(Index count, const char *name = "",
                                     Location where = Location::current()) {
  return SignalArray<1, false>(detail::symmetricSignals({count}, name, where));
}
template <size_t rank>
  requires(rank <= 4)
SignalArray<static_cast<int>(rank), false>
signals(const Index (&extents)[rank], const char *name = "", Location where = Location::current()) {
  return SignalArray<static_cast<int>(rank), false>(
      detail::symmetricSignals({extents, extents + rank}, name, where));
}

//===-- Verbs ---------------------------------------------------------------------------------===//

/// What put and get move: a tile of a view, cut at its edges, or a whole view.
class Chunk {
public:
  const detail::ChunkData &data() const { return data_; }

protected:
  explicit Chunk(const detail::ChunkData &data) : data_(data) {}

private:
  detail::ChunkData data_;
};

/// A chunk that is read: not of an Out.
class Source : public Chunk {
public:
  template <class T, Access access>
    requires(canRead(access) || access == Access::peer)
  Source(const TileRef<T, access> &tile) : Chunk(detail::chunkOf(tile.data())) {}
  template <class T, int rank, Access access>
    requires(canRead(access) || access == Access::peer)
  Source(const View<T, rank, access> &view) : Chunk(detail::chunkOf(view.data())) {}
};

/// A chunk that is written: not of an In.
class Destination : public Chunk {
public:
  template <class T, Access access>
    requires(canWrite(access) || access == Access::peer)
  Destination(const TileRef<T, access> &tile) : Chunk(detail::chunkOf(tile.data())) {}
  template <class T, int rank, Access access>
    requires(canWrite(access) || access == Access::peer)
  Destination(const View<T, rank, access> &view) : Chunk(detail::chunkOf(view.data())) {}
};

/// Writes a chunk into symmetric memory of a peer. Both have the same extents; where they differ,
/// the launch ends with an error. Asynchronous until quiet(), or until the notify that follows it.
inline void put(const Source &source, const Destination &destination,
                Location where = Location::current()) {
  detail::putChunk(source.data(), destination.data(), where);
}
template <std::same_as<Tile> Computed> // it has no memory: store it first, or send() it
void put(const Computed &tile, const Destination &destination) = delete;
/// Reads a chunk of symmetric memory of a peer, of the same extents; complete when it returns.
inline void get(const Source &source, const Destination &destination,
                Location where = Location::current()) {
  detail::getChunk(source.data(), destination.data(), where);
}
/// Adds to a counter. Release: who observes it sees every earlier write and put of this role
/// instance.
template <bool remote> void notify(const Signal<remote> &signal, detail::IndexOperand value = 1) {
  detail::notifySignal(signal, /*set=*/false, value);
}
/// Raises a counter to a value. Release. A signal is notified either by adding or by setting.
template <bool remote> void notifySet(const Signal<remote> &signal, detail::IndexOperand value) {
  detail::notifySignal(signal, /*set=*/true, value);
}
/// Waits until a counter of this rank is at least `value`. Acquire, and bounded.
inline void wait(const Signal<false> &signal, detail::IndexOperand value) {
  detail::waitSignal(signal, value);
}
/// Orders this core's earlier puts before its later ones, to each peer.
void fence(Location where = Location::current());
/// Waits until this core's puts are complete and visible.
void quiet(Location where = Location::current());
/// All cores of the running role on this rank meet.
void barrier(Location where = Location::current());
/// All cores of the running role on every rank meet.
void barrierAll(Location where = Location::current());

/// What `ditron check` finds about the reads, writes and verbs of the body is waived: listed under
/// the name, with the reason, and no finding. CompileError where name or reason is empty.
void waive(const char *name, const char *reason, const std::function<void()> &body,
           Location where = Location::current());

//===-- Roles ---------------------------------------------------------------------------------===//

/// What executes a role.
enum class Engine { core, copy };

/// Some cores of the running role, or the copy engines of the device.
class Role {
public:
  Role(Index first, Index count, Engine engine = Engine::core)
      : first_(first), count_(count), engine_(engine) {}
  /// These execute the body, the others pass by.
  void run(const char *name, const std::function<void()> &body,
           Location where = Location::current()) const;

private:
  Index first_, count_;
  Engine engine_;
};

/// The copy engines of the device, which move data beside the cores and take none of their time.
/// What they run stands at the top of the kernel, and begins when the launch does: puts, notifies
/// and waits, in loops and branches that depend on extents, integer arguments and ranks alone, not
/// on what lies in memory. A signal for which copy engines wait gets as many notifies in a launch
/// as they wait for. On a CPU a thread beside those of the cores does it.
inline Role copyEngines() { return {0, 1, Engine::copy}; }

namespace detail {
std::vector<Role> splitCores(const std::vector<int> &sizes, Location where);
}

/// Divides the cores of the running role: `size` cores and the rest. Each part has at least one
/// core; with fewer cores than parts, parts share a core and run one after another on it, in
/// program order.
inline std::array<Role, 2> splitCores(int size, Location where = Location::current()) {
  auto roles = detail::splitCores({size}, where);
  return {roles[0], roles[1]};
}
inline std::array<Role, 3> splitCores(int first, int second, Location where = Location::current()) {
  auto roles = detail::splitCores({first, second}, where);
  return {roles[0], roles[1], roles[2]};
}

} // namespace ditron
