// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/Stores.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::cpu {

void Stores::lower(core::StoreOp op) {
  auto tile = tileOf(op.getTile());
  Access access = accessOf(v_, op.getView(), op.getCoords(), tile.getShape());
  Accesses tiles = reads_.of(op.getTile(), buffers_);
  prefetches_.leave(tiles); // this is the only walk over what has not been read yet
  Accesses prefetches = prefetches_.take(tile.getShape());
  auto walk = [&](Coverage coverage, auto put) {
    v_.forEachVector(tile.getShape(), [&](const At &at, int64_t lanes) {
      prefetches_.emit(prefetches, at);
      Value vector = emitter_.emit(op.getTile(), at, lanes, coverage);
      put(vector, elementAt(v_, access, at));
    });
  };
  auto throughCaches = [&](Coverage coverage) {
    walk(coverage,
         [&](Value vector, const At &element) { write(v_, vector, access, element, coverage); });
  };
  tiles.push_back(&access);
  whereWhole(v_, tiles, tile.getShape(), [&](Coverage coverage) {
    Value streams = coverage == Coverage::whole ? canStream(v_, access, tile) : Value();
    if (!streams)
      return throughCaches(coverage);
    auto pastCaches = [&] {
      walk(coverage, [&](Value vector, const At &element) { stream(v_, vector, access, element); });
    };
    v_.ifElse(streams, pastCaches, [&] { throughCaches(coverage); });
  });
}

void Stores::lower(core::ScatterOp op) {
  auto tile = tileOf(op.getTile());
  SmallVector<Value> coords{v_.index(0), op.getCoord()};
  Access access = accessOf(v_, op.getView(), coords, tile.getShape());
  v_.forEachVector(tile.getShape(), [&](const At &at, int64_t lanes) {
    Value row = v_.create<arith::IndexCastOp>(v_.b.getIndexType(),
                                              emitter_.scalarAt(op.getRows(), {at[0]}));
    At element = elementAt(v_, access, at);
    element[0] = row;
    write(v_, emitter_.emit(op.getTile(), at, lanes), access, element, Coverage::masked);
  });
}

void Stores::lower(core::AtomicAddOp op) {
  auto tile = tileOf(op.getTile());
  Access access = accessOf(v_, op.getView(), op.getCoords(), tile.getShape());
  Value old = buffers_.allocate(tile);
  buffers_.bind(op.getOld(), old);
  auto kind = isa<FloatType>(tile.getElementType()) ? arith::AtomicRMWKind::addf
                                                    : arith::AtomicRMWKind::addi;
  v_.forEachElement(tile.getShape(), [&](const At &at) {
    At element = elementAt(v_, access, at);
    Value inside = boundsOf(v_, access, element, 1).first;
    auto branch = v_.create<scf::IfOp>(tile.getElementType(), inside, true);
    {
      OpBuilder::InsertionGuard guard(v_.b);
      v_.b.setInsertionPointToStart(branch.thenBlock());
      Value added = emitter_.scalarAt(op.getTile(), at);
      Value before =
          v_.create<memref::AtomicRMWOp>(kind, added, access.memory, linear(v_, access, element));
      v_.create<scf::YieldOp>(before);
      v_.b.setInsertionPointToStart(branch.elseBlock());
      Value zero = v_.create<arith::ConstantOp>(v_.b.getZeroAttr(tile.getElementType()));
      v_.create<scf::YieldOp>(zero);
    }
    v_.storeBuffer(v_.repeat(branch.getResult(0), 1), old, at);
  });
}

} // namespace ditron::cpu
