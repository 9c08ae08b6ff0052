// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meaning of every operation, by its kind:
//
//   ControlSemantics.cpp      func, scf: blocks
//   ElementwiseSemantics.cpp  arith, math: elements of tiles, scalars and indices
//   MemorySemantics.cpp       memref, tensor: views and elements
//   TileSemantics.cpp         tile
//   DistSemantics.cpp         dist
//
// A meaning reads the operands from the core, and sets the results. The core has already gone on to
// the next operation.
#pragma once
#include "ditron/reference/CoreMachine.h"

namespace ditron::reference {

using Meaning = std::function<void(CoreMachine &, mlir::Operation *)>;

/// The table of meanings.
class Semantics {
public:
  /// Says what `Op` does: fn(core, op).
  template <class Op, class Fn> void add(Fn fn) {
    meanings_[mlir::TypeID::get<Op>()] = [fn](CoreMachine &core, mlir::Operation *op) {
      fn(core, mlir::cast<Op>(op));
    };
  }
  /// For ops that compute one result from their operands: fn(core, op) is its value.
  template <class Op, class Fn> void addPure(Fn fn) {
    add<Op>([fn](CoreMachine &core, Op op) { core.set(op->getResult(0), fn(core, op)); });
  }
  /// Null for an op that has none.
  const Meaning *find(mlir::Operation &op) const {
    auto found = meanings_.find(op.getName().getTypeID());
    return found == meanings_.end() ? nullptr : &found->second;
  }

private:
  llvm::DenseMap<mlir::TypeID, Meaning> meanings_;
};

void addControl(Semantics &semantics);
void addElementwise(Semantics &semantics);
void addMemory(Semantics &semantics);
void addTile(Semantics &semantics);
void addDist(Semantics &semantics);

/// What `op` does; CompileError for an op that the interpreter does not know.
const Meaning &meaningOf(mlir::Operation &op);

/// The value of a constant: a number or the elements of a tile.
Value constantOf(mlir::Attribute attribute);

} // namespace ditron::reference
