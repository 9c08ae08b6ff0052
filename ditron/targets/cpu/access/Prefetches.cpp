// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/access/Prefetches.h"
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ditron::cpu {

namespace {

/// What values are in the next iteration of a loop, computed here.
class NextIteration {
public:
  NextIteration(scf::ForOp loop, VectorBuilder &v) : loop_(loop), v_(v), mayRead_(!waits(loop)) {
    known_.map(loop.getInductionVar(), v.add(loop.getInductionVar(), loop.getStep()));
  }

  /// That iteration reaches a loop inside for the first time. False if it is not known where that
  /// begins.
  bool enter(scf::ForOp inner) {
    Value first = of(inner.getLowerBound());
    if (first)
      known_.map(inner.getInductionVar(), first);
    return first != nullptr;
  }

  /// Null if that is not known.
  Value of(Value value) {
    if (Value found = known_.lookupOrNull(value))
      return found;
    if (loop_.isDefinedOutsideOfLoop(value))
      return value;
    Operation *op = value.getDefiningOp();
    bool isRead = mayRead_ && isa_and_nonnull<memref::LoadOp>(op);
    if (!op || op->getNumRegions() || (!isRead && !isMemoryEffectFree(op)))
      return {};
    bool isSame = true;
    for (Value operand : op->getOperands()) {
      Value next = of(operand);
      if (!next)
        return {};
      isSame &= next == operand;
      known_.map(operand, next);
    }
    if (isSame && !isRead)
      return value;
    if (!isRead && !isSpeculatable(op) &&
        known_.lookup(op->getOperands().back()) != op->getOperands().back())
      return {}; // a divisor that might be 0 there
    if (isRead)
      known_.map(value, readInside(cast<memref::LoadOp>(op)));
    else
      v_.b.clone(*op, known_);
    return known_.lookup(value);
  }

private:
  /// Whether a loop may wait for what others write.
  static bool waits(scf::ForOp loop) {
    auto isWait = [](Operation *op) {
      bool isVerb = isa<device::DistDialect>(op->getDialect()) && !isMemoryEffectFree(op) &&
                    !isa<device::NotifyOp>(op);
      return isVerb ? WalkResult::interrupt() : WalkResult::advance();
    };
    return loop.getBody()->walk(isWait).wasInterrupted();
  }

  /// A number that the loop reads from memory, which this iteration has done too. What checks the
  /// place is yet to come: where it is outside, another number is read.
  Value readInside(memref::LoadOp load) {
    SmallVector<Value> place;
    Value memory = known_.lookupOrDefault(load.getMemRef());
    for (auto [d, index] : llvm::enumerate(load.getIndices())) {
      Value size = v_.create<memref::DimOp>(memory, v_.index(static_cast<int64_t>(d)));
      Value last = v_.create<arith::SubIOp>(size, v_.index(1));
      Value inside = v_.create<arith::MinSIOp>(known_.lookupOrDefault(index), last);
      Value first = v_.index(0);
      place.push_back(v_.create<arith::MaxSIOp>(inside, first));
    }
    return v_.create<memref::LoadOp>(memory, place);
  }

  scf::ForOp loop_;
  VectorBuilder &v_;
  bool mayRead_;
  IRMapping known_;
};

} // namespace

/// Where the tile of a load starts in another iteration, and the offset of its view there at the end;
/// nothing if that is not known.
static SmallVector<Value> placeIn(NextIteration &iteration, core::LoadOp load, const Access &access,
                                  VectorBuilder &v) {
  SmallVector<Value> place;
  size_t lead = load.getCoords().size() - access.shape.size();
  for (auto [d, coord] : llvm::enumerate(load.getCoords())) {
    Value there = iteration.of(coord);
    if (!there)
      return {};
    place.push_back(d < lead ? there : v.mul(there, v.index(access.shape[d - lead])));
  }
  Value offset = iteration.of(access.offset);
  if (!offset)
    return {};
  place.push_back(offset);
  return place;
}

/// The same in the next iteration of a loop, or, behind its last one, where the next iteration of the
/// loop around it begins with it.
static SmallVector<Value> placeBehind(scf::ForOp loop, core::LoadOp load, const Access &access,
                                      VectorBuilder &v) {
  auto outer = loop->getParentOfType<scf::ForOp>();
  auto inNext = [&] {
    NextIteration iteration(loop, v);
    return placeIn(iteration, load, access, v);
  };
  if (!outer)
    return inNext();
  SmallVector<Type> types(load.getCoords().size() + 1, v.b.getIndexType());
  Value next = v.add(loop.getInductionVar(), loop.getStep());
  Value isLast = v.create<arith::CmpIOp>(arith::CmpIPredicate::sge, next, loop.getUpperBound());
  auto branch = v.create<scf::IfOp>(types, isLast, /*withElseRegion=*/true);
  auto fill = [&](Block *block, const std::function<SmallVector<Value>()> &place) {
    OpBuilder::InsertionGuard guard(v.b);
    v.b.setInsertionPointToStart(block);
    SmallVector<Value> there = place();
    if (!there.empty())
      v.create<scf::YieldOp>(there);
    return !there.empty();
  };
  auto inOuter = [&]() -> SmallVector<Value> {
    NextIteration iteration(outer, v);
    return iteration.enter(loop) ? placeIn(iteration, load, access, v) : SmallVector<Value>();
  };
  if (fill(branch.thenBlock(), inOuter) && fill(branch.elseBlock(), inNext))
    return branch.getResults();
  branch.erase();
  return inNext();
}

void Prefetches::findNext(core::LoadOp load, Access &access) {
  auto loop = load->getParentOfType<scf::ForOp>();
  if (!loop || !access.unitStride || access.shape.back() < v_.wholeLanes())
    return;
  auto isChanged = [&](Value value) { return !loop.isDefinedOutsideOfLoop(value); };
  if (!isChanged(load.getView()) && llvm::none_of(load.getCoords(), isChanged))
    return;
  SmallVector<Value> place = placeBehind(loop, load, access, v_);
  if (place.empty())
    return;
  access.nextOffset = place.pop_back_val();
  access.next = place;
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
    Access next = nextOf(*tile);
    prefetch(v_, next, elementAt(v_, next, placeOf(*tile, at)));
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
