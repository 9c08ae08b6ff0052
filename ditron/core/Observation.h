// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "mlir/IR/Operation.h"

namespace ditron::core {

/// One thing that an op does to what cores share: see ObservableOpInterface.td.
struct Observation {
  enum class Effect {
    read,   ///< of memory
    write,  ///< of memory
    update, ///< reads and writes memory, element by element
    notify, ///< changes a signal: release
    wait,   ///< for a signal: acquire
    order   ///< of what the core does before and after it, to others
  };
  Effect effect;
  mlir::Value object = {};         ///< the view or the signals; null where things are ordered
  mlir::ValueRange indices = {};   ///< of the signal
  mlir::OpOperand *peer = nullptr; ///< the rank whose instance of the object it is; null: the own

  bool reads() const { return effect == Effect::read || effect == Effect::update; }
  bool writes() const { return effect == Effect::write || effect == Effect::update; }
  bool isMemory() const { return reads() || writes(); }
  bool isSignal() const { return effect == Effect::notify || effect == Effect::wait; }
};

/// The observations of an op; none of an op that has nothing to do with other cores.
llvm::SmallVector<Observation, 3> observationsOf(mlir::Operation *op);

} // namespace ditron::core
