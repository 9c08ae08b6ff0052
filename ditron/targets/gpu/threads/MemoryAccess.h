// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses of a distributed tile to global memory, as wide as layout, strides and addresses allow.
#pragma once
#include "ditron/targets/gpu/threads/GlobalTile.h"

namespace ditron::gpu {

class MemoryAccess {
public:
  using Value = mlir::Value;
  using Place = Instructions::Place;
  /// `isStrong`: other CTAs access the memory at the same time.
  MemoryAccess(ThreadBuilder &t, GlobalTile &memory, const Distribution &tile,
               Place place = Place::here, bool isStrong = false)
      : t_(t), memory_(memory), tile_(tile), place_(place), isStrong_(isStrong),
        run_(memory.hasUnitStride ? tile.run(16 / memory.bytes) : 1) {}

  /// All registers, as storage elements.
  Value load(const llvm::APInt &padding);
  void store(Value vector, Value isOwner);
  mlir::VectorType resultType();

private:
  mlir::VectorType wordsType();
  mlir::Type stored();
  mlir::Type carrier(int64_t run);
  Value loadRuns(int64_t run, const llvm::APInt &padding);
  void storeRuns(Value vector, int64_t run, Value isOwner);

  ThreadBuilder &t_;
  GlobalTile &memory_;
  const Distribution &tile_;
  Place place_;
  bool isStrong_;
  int64_t run_;
};

/// The padding of a load as the bits of a storage element.
llvm::APInt paddingBits(std::optional<mlir::TypedAttr> padding, mlir::Type element);

} // namespace ditron::gpu
