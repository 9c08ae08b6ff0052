// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A way to reach a peer. On one host all of them give the same picture, a region in which the heaps
// of the ranks lie one behind the other, so that the peer's copy of a symmetric address is one
// addition away:
//
//   | control block | heap of rank 0 | heap of rank 1 | ... | heap of rank R-1 |
//
// What differs is where the region comes from, and who notices that a rank died.
#pragma once
#include "ditron/runtime/Bootstrap.h"
#include "ditron/runtime/ControlBlock.h"
#include "ditron/runtime/Options.h"
#include <memory>
#include <string_view>

namespace ditron::runtime {

class Transport {
public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
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
