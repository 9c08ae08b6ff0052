// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/access/Prefetches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ditron::cpu {

/// What `value` is in the next iteration of a loop, computed here; null if that is not known.
static Value inNextIteration(Value value, scf::ForOp loop, OpBuilder &b, IRMapping &known) {
  if (Value found = known.lookupOrNull(value))
    return found;
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() || !isMemoryEffectFree(op))
    return {};
  if (!isSpeculatable(op) && !loop.isDefinedOutsideOfLoop(op->getOperands().back()))
    return {}; // a divisor that might be 0 there
  for (Value operand : op->getOperands()) {
    Value next = inNextIteration(operand, loop, b, known);
    if (!next)
      return {};
    known.map(operand, next);
  }
  b.clone(*op, known);
  return known.lookup(value);
}

void Prefetches::findNext(core::LoadOp load, Access &access) {
  auto loop = load->getParentOfType<scf::ForOp>();
  if (!loop || !access.unitStride || access.shape.back() < v_.wholeLanes())
    return;
  IRMapping known;
  known.map(loop.getInductionVar(), v_.add(loop.getInductionVar(), loop.getStep()));
  SmallVector<Value> next;
  size_t lead = load.getCoords().size() - access.shape.size();
  for (auto [d, coord] : llvm::enumerate(load.getCoords())) {
    Value there = inNextIteration(coord, loop, v_.b, known);
    if (!there)
      return;
    next.push_back(d < lead ? there : v_.mul(there, v_.index(access.shape[d - lead])));
  }
  bool isElsewhere = llvm::any_of(load.getCoords(),
                                  [&](Value coord) { return !loop.isDefinedOutsideOfLoop(coord); });
  if (isElsewhere)
    access.next = next;
}

/// The element to prefetch while the one at `at` of a tile is computed: the four quarters of a
/// large tile in turn. A prefetcher of the CPU follows one page; so four of them are followed at a
/// time.
At Prefetches::placeOf(const Access &access, const At &at) {
  constexpr int64_t kStreams = 4, kPageBytes = 4096;
  int64_t lanes = v_.wholeLanes(), row = access.shape.back() / lanes; // vectors
  int64_t rows = at.size() > 1 ? access.shape[at.size() - 2] : 1, quarter = rows * row / kStreams;
  int64_t bytes = rows * access.shape.back() * core::elementBytes(storageType(access.element));
  if (bytes < kStreams * kPageBytes || access.shape.back() % lanes || rows * row % kStreams)
    return at;
  auto divided = [&](Value x, int64_t by) {
    return v_.create<arith::DivUIOp>(x, v_.index(by)).getResult();
  };
  auto rest = [&](Value x, int64_t by) {
    return v_.create<arith::RemUIOp>(x, v_.index(by)).getResult();
  };
  At place(at);
  Value vector = divided(at.back(), lanes);
  if (rows > 1)
    vector = v_.add(v_.mul(at[at.size() - 2], v_.index(row)), vector);
  vector = v_.add(v_.mul(rest(vector, kStreams), v_.index(quarter)), divided(vector, kStreams));
  place.back() = v_.mul(rows > 1 ? rest(vector, row) : vector, v_.index(lanes));
  if (rows > 1)
    place[at.size() - 2] = divided(vector, row);
  return place;
}

void Prefetches::emit(ArrayRef<const Access *> tiles, const At &at) {
  for (const Access *tile : tiles) {
    At element(tile->next.begin(), tile->next.end());
    size_t lead = element.size() - at.size();
    for (auto [d, offset] : llvm::enumerate(placeOf(*tile, at)))
      element[lead + d] = v_.add(element[lead + d], offset);
    v_.create<LLVM::Prefetch>(pointerTo(v_, *tile, element), /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }
}

void Prefetches::leave(ArrayRef<const Access *> reads) {
  for (const Access *read : reads)
    if (!read->next.empty() && seen_.insert(read).second)
      left_.push_back(read);
}

Accesses Prefetches::take(ArrayRef<int64_t> shape) {
  Accesses taken;
  llvm::erase_if(left_, [&](const Access *read) {
    bool matches = ArrayRef(read->shape) == shape;
    if (matches)
      taken.push_back(read);
    return matches;
  });
  return taken;
}

} // namespace ditron::cpu
