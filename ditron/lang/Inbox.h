// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inboxes: tiles handed from core to core, of this rank or another one, each with the sign that
// it is there. For small messages: a tile takes one trip over the link, where put, notify and wait
// take two.
#pragma once
#include "ditron/lang/Dist.h"

namespace ditron {

namespace detail {
Handle symmetricInbox(DType type, std::vector<Index> extents, std::vector<int64_t> tile,
                      const char *name, Location where);
/// A slot of an inbox of this rank (no peer) or of a peer.
struct SlotData {
  Handle inbox;
  Handle peer = {};
  std::array<Index, 4> at{0, 0, 0, 0};
  int rank = 0;
};
void sendTile(Operand tile, const SlotData &slot);
Tile receiveTile(const SlotData &slot, Location where);
} // namespace detail

/// A slot of an inbox; a peer's if `remote`.
template <bool remote> struct Slot : detail::SlotData {};

/// Slots for one tile each, empty at the start of a launch.
template <int rank, bool remote> class InboxArray {
public:
  explicit InboxArray(detail::Handle inbox, detail::Handle peer = {})
      : inbox_(inbox), peer_(peer) {}

  template <std::convertible_to<Index>... I>
    requires(sizeof...(I) == rank)
  Slot<remote> operator()(I... at) const {
    Slot<remote> slot;
    slot.inbox = inbox_;
    slot.peer = peer_;
    int d = 0;
    ((slot.at[d++] = Index(at)), ...);
    slot.rank = rank;
    return slot;
  }
  /// The peer's slots, to send to. The peer may be this rank.
  InboxArray<rank, true> on(Index peer, Location where = Location::current()) const
    requires(!remote)
  {
    return InboxArray<rank, true>(inbox_, detail::handleOf(peer, where));
  }

private:
  detail::Handle inbox_, peer_;
};

/// An inbox that every rank has: inbox<f16>({numRanks(), rows}, {8, 128}) has a slot for a tile of
/// 8 x 128 at each of numRanks() x rows places. Extents as of symmetric(), 1 to 4 of them; tiles of 1
/// or 2 dimensions. `name` is for messages. CompileError where an extent of the tile is below 1, or T
/// is i1.
template <class T, size_t rank, size_t tileRank>
  requires(rank <= 4 && tileRank <= 2)
InboxArray<static_cast<int>(rank), false> inbox(const Index (&extents)[rank],
                                                const int (&tile)[tileRank], const char *name = "",
                                                Location where = Location::current()) {
  return InboxArray<static_cast<int>(rank), false>(detail::symmetricInbox(
      kDType<T>, {extents, extents + rank}, {tile, tile + tileRank}, name, where));
}

/// Fills a slot of a peer's inbox with a tile of its shape and type; a number fills all of it. A slot
/// takes one tile in a launch. Release, as notify is. CompileError where the tile is of another type,
/// or does not broadcast to the slot's shape.
inline void send(detail::Operand tile, const Slot<true> &slot) { detail::sendTile(tile, slot); }
/// Waits until a slot of this rank is filled: its tile. Acquire, and bounded, as wait is.
inline Tile receive(const Slot<false> &slot, Location where = Location::current()) {
  return detail::receiveTile(slot, where);
}

} // namespace ditron
