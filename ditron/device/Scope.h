// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far the order of a notify, wait or fence reaches.
//
// A notify and the wait that observes it order memory between two cores only if the scope of both
// spans them: `core` is one core, `device` the cores of a rank, `system` the ranks of a node,
// `network` all ranks. A kernel does not write scopes. The compiler picks the narrowest one that is
// always enough, from where the signal lives:
//
//   notify   of a peer's signal: network; of this rank's own: device, since only this rank waits
//   wait     network if a peer may notify the signal: a verb names one; else device
//   fence    network: the peers of the puts before it may be anywhere
//
// The textual IR may state another scope, which `ditron check` then holds to the path.
#pragma once
#include "ditron/device/DistOps.h"
#include <optional>
#include <string>

namespace ditron::device {

/// What an op says of the order that it makes.
struct OrderForm {
  Scope scope = Scope::network; ///< the one stated, or the one that the compiler picks
  bool isStated = false;        ///< the scope
  bool isRelaxed = false;       ///< a notify or wait that orders nothing
  bool isExact = false;         ///< a wait for the value itself
  bool takes = false;           ///< a wait that subtracts what it sees
};
OrderForm formOf(mlir::Operation *op);

/// The scope of a dist.notify, dist.put_notify, dist.wait or dist.fence: the one stated, or the one
/// that the compiler picks. `network` for any other op.
Scope scopeOf(mlir::Operation *op);

/// What in `op` the language has no word for and backends do not run: "dist.notify 'subtract'".
/// These forms are for programs that `ditron check` looks at.
std::optional<std::string> formOutsideLanguage(mlir::Operation *op);

} // namespace ditron::device
