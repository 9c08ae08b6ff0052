// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verbs where all memory is mapped: the caller's own loads and stores.
#include "ditron/runtime/transport/Transport.h"
#include "ditron/support/Error.h"

namespace ditron::runtime {

std::byte *Transport::mapped(int rank, std::byte *own, int peer) const {
  return own + (ptrdiff_t(peer) - rank) * ptrdiff_t(control_.heapBytes());
}

void Transport::put(const Caller &caller, int peer, std::byte *to, const std::byte *from,
                    const ChunkShape &chunk) {
  copyStrided(mapped(caller.rank, to, peer), from, chunk);
}

void Transport::get(const Caller &caller, int peer, std::byte *to, const std::byte *from,
                    const ChunkShape &chunk) {
  copyStrided(to, mapped(caller.rank, const_cast<std::byte *>(from), peer), chunk);
}

std::optional<SignalChange> Transport::notify(const Caller &caller, int peer, SignalCell *cell,
                                              const SignalUpdate &update) {
  std::byte *theirs = mapped(caller.rank, reinterpret_cast<std::byte *>(cell), peer);
  return changeSignal(*reinterpret_cast<SignalCell *>(theirs), update);
}

void Transport::sendFile(int, int, uint64_t) {
  throw InternalError("ranks of one process hand one another open files");
}
File Transport::receiveFile(int, uint64_t, Deadline) {
  throw InternalError("ranks of one process hand one another open files");
}

} // namespace ditron::runtime
