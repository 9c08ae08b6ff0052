// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A way to reach a peer: put, get and notify, which are one-sided, and what says that they are
// complete. Within one host they are loads and stores. The transports there give one picture, a
// region in which the heaps of the ranks lie one behind the other, so that the peer's copy of a
// symmetric address is one addition away:
//
//   | control block | heap of rank 0 | heap of rank 1 | ... | heap of rank R-1 |
//
// What differs is where the region comes from, and who notices that a rank died. A transport that
// does not map the peers' memory carries out the verbs itself: it overrides them, and `mapped`.
#pragma once
#include "ditron/runtime/Bootstrap.h"
#include "ditron/runtime/ControlBlock.h"
#include "ditron/runtime/Copy.h"
#include "ditron/runtime/Options.h"
#include "ditron/runtime/SignalUpdate.h"
#include "ditron/runtime/transport/Socket.h"
#include <memory>
#include <optional>
#include <string_view>

namespace ditron::runtime {

/// The core that calls a verb.
struct Caller {
  int rank = 0, core = 0;
};

/// Addresses of symmetric memory are the caller's own; the verb means the peer's instance.
class Transport {
public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;

  /// Where `rank` can load and store the peer's instance of `own`; null where it is not mapped. The
  /// own rank's always is.
  virtual std::byte *mapped(int rank, std::byte *own, int peer) const;
  /// Begins to write a chunk into the memory of a peer. The source may be read until the caller is
  /// quiet.
  virtual void put(const Caller &caller, int peer, std::byte *to, const std::byte *from,
                   const ChunkShape &chunk);
  /// Begins to read a chunk of a peer's memory; it is there when the caller is quiet.
  virtual void get(const Caller &caller, int peer, std::byte *to, const std::byte *from,
                   const ChunkShape &chunk);
  /// Begins to change a counter of a peer, behind all that the caller has begun at that peer:
  /// whoever sees the new value sees that too. What it found, where that is known at once.
  virtual std::optional<SignalChange> notify(const Caller &caller, int peer, SignalCell *cell,
                                             const SignalUpdate &update);
  /// Whether all that the caller has begun is complete at the peers.
  virtual bool isQuiet(const Caller &caller) const { return true; }
  /// The caller's kernel was left by an error: what it has begun, and is not complete, touches no
  /// memory from here on.
  virtual void abandon(const Caller &caller) {}

  /// Hands an open file to a peer that is another process. `tag` says what it is for.
  virtual void sendFile(int peer, int file, uint64_t tag);
  /// The file that a peer handed over with this tag; none at the deadline, or where the run has an
  /// error by then.
  virtual File receiveFile(int peer, uint64_t tag, Deadline deadline);

  const Control &control() const { return control_; }
  /// Says that `rank` ends in good order: its end is no death from here on.
  virtual void leave(int rank) { control_.slot(rank).left.store(1, std::memory_order_release); }

protected:
  Control control_;
};

/// A mapped region, unmapped at the end.
class Region {
public:
  /// Anonymous memory of this process (`file` < 0) or a shared mapping of `file`. RuntimeError
  /// where the address space is refused.
  Region(size_t bytes, int file);
  ~Region();
  Region(const Region &) = delete;
  Region &operator=(const Region &) = delete;
  std::byte *data() const { return data_; }

private:
  std::byte *data_;
  size_t bytes_;
};

/// The heap size of the options, or an equal share of the machine's memory; whole pages.
size_t heapBytesFor(const Options &options, int ranks);

/// `options.ranks` ranks that are threads of this process.
std::shared_ptr<Transport> makeThreads(const Options &options);

/// This process as one rank of several on this host. Returns once all have come; RuntimeError
/// naming the ranks that did not, or what they disagree about.
std::shared_ptr<Transport> joinProcesses(const Membership &membership, const Options &options);

} // namespace ditron::runtime
