// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/TileAccess.h"
#include "ditron/device/AccessSpace.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::device {
namespace {

/// Where an access is along one dimension of its view: from `at` on, `size` elements.
struct Span {
  Affine at;
  AffineExpr size;
};

/// The accesses of one op.
class Reader {
public:
  Reader(Symbols &symbols, SmallVectorImpl<Access> &accesses, Operation *op)
      : space_(symbols, op), accesses_(accesses), op_(op) {}

  void add() {
    llvm::TypeSwitch<Operation *>(op_)
        .Case([&](core::LoadOp op) { tile(op.getView(), op.getCoords(), op.getTile(), kRead); })
        .Case([&](core::StoreOp op) { tile(op.getView(), op.getCoords(), op.getTile(), kWrite); })
        .Case([&](core::AtomicAddOp op) {
          tile(op.getView(), op.getCoords(), op.getTile(), kRead | kWrite);
        })
        .Case([&](core::GatherOp op) { rows(op.getView(), op.getCoord(), op.getTile(), kRead); })
        .Case([&](core::ScatterOp op) { rows(op.getView(), op.getCoord(), op.getTile(), kWrite); })
        .Case([&](memref::LoadOp op) { elements(op.getMemRef(), op.getIndices(), kRead); })
        .Case([&](memref::StoreOp op) { elements(op.getMemRef(), op.getIndices(), kWrite); })
        .Default([&](Operation *op) {
          for (const core::Observation &seen : core::observationsOf(op))
            if (seen.isMemory())
              chunk(seen);
        });
  }

private:
  enum Effect : unsigned { kRead = 1, kWrite = 2 };

  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, op_->getContext()); }

  /// The tile at `coords`, which count elements in the leading dimensions.
  void tile(Value view, ValueRange coords, Value tile, unsigned effect) {
    shape(view, coords, cast<RankedTensorType>(tile.getType()).getShape(), effect);
  }

  void elements(Value view, ValueRange indices, unsigned effect) {
    shape(view, indices, {}, effect);
  }

  void shape(Value view, ValueRange coords, ArrayRef<int64_t> shape, unsigned effect) {
    SmallVector<Span> spans;
    size_t lead = coords.size() - shape.size();
    for (auto [d, coord] : llvm::enumerate(coords))
      spans.push_back(spanOf(coord, d < lead ? 1 : shape[d - lead]));
    access(space_.windowOf(view), spans, effect);
  }

  void rows(Value view, Value column, Value tile, unsigned effect) {
    int64_t width = cast<RankedTensorType>(tile.getType()).getDimSize(1);
    Affine chosen("is chosen by a tile of indices", op_->getLoc());
    access(space_.windowOf(view), {{chosen, constant(1)}, spanOf(column, width)}, effect);
  }

  /// What a verb moves: a tile of a view, or all of it.
  void chunk(const core::Observation &seen) {
    unsigned effect = (seen.reads() ? kRead : 0) | (seen.writes() ? kWrite : 0);
    if (auto part = seen.object.getDefiningOp<core::ChunkOp>()) {
      shape(part.getView(), part.getCoords(), part.getShape(), effect);
    } else {
      ViewWindow window = space_.windowOf(seen.object);
      SmallVector<Span> spans;
      for (unsigned number : window.dims)
        spans.push_back({constant(0), window.slots[number].extent.expr});
      access(window, spans, effect);
    }
    accesses_.back().peer = seen.peer ? seen.peer->get() : Value();
  }

  Span spanOf(Value coord, int64_t size) {
    Affine at = space_.express(coord);
    return {at ? Affine(at.expr * size) : at, constant(size)};
  }

  void access(const ViewWindow &window, ArrayRef<Span> spans, unsigned effect) {
    Access access{.op = op_,
                  .reads = (effect & kRead) != 0,
                  .writes = (effect & kWrite) != 0,
                  .buffer = window.buffer,
                  .tiles = space_.tiles(),
                  .loops = llvm::to_vector(space_.loops()),
                  .isConditional = op_->getParentOfType<scf::IfOp>() != nullptr};
    for (auto [number, slot] : llvm::enumerate(window.slots)) {
      const auto *dim = llvm::find(window.dims, number);
      Span span = dim != window.dims.end() ? spans[dim - window.dims.begin()]
                                           : Span{slot.at.value_or(constant(0)), constant(1)};
      access.coordinates.push_back(coordinateOf(slot, span));
    }
    accesses_.push_back(std::move(access));
  }

  Coordinate coordinateOf(const ViewSlot &slot, const Span &span) {
    Coordinate result{.dim = slot.dim,
                      .size = span.size,
                      .begin = slot.begin.expr,
                      .extent = slot.extent.expr,
                      .all = slot.all.expr};
    if (!slot.begin || !span.at) {
      const Affine &unknown = slot.begin ? span.at : slot.begin;
      result.reason = unknown.reason;
      result.where = unknown.where;
      return result;
    }
    result.first = slot.begin.expr + span.at.expr;
    classify(result, span.at.expr);
    return result;
  }

  /// The number of a loop that an expression depends on.
  std::optional<unsigned> loopOf(AffineExpr expr) {
    std::optional<unsigned> loop;
    expr.walk([&](AffineExpr part) {
      if (auto variable = dyn_cast<AffineDimExpr>(part))
        if (variable.getPosition() >= space_.firstLoop())
          loop = variable.getPosition() - space_.firstLoop();
    });
    return loop;
  }

  /// Says what kind of coordinate it is that lies `at` elements behind the begin of its window.
  void classify(Coordinate &coordinate, AffineExpr at) {
    std::optional<unsigned> loop = loopOf(coordinate.first);
    if (!loop) {
      coordinate.kind = Coordinate::Kind::point;
      return;
    }
    scf::ForOp walk = space_.loops()[*loop];
    if (!coversWindow(walk, *loop, coordinate, at)) {
      coordinate.reason = "follows a loop that does not walk over the whole window";
      coordinate.where = walk.getLoc();
      return;
    }
    coordinate.kind = Coordinate::Kind::sweep;
    coordinate.loop = walk;
    coordinate.carry = carryOf(walk);
  }

  /// Whether `loop` visits the window from its begin to its end, `size` elements each time.
  bool coversWindow(scf::ForOp loop, unsigned number, const Coordinate &coordinate, AffineExpr at) {
    std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound()),
                           step = getConstantIntValue(loop.getStep());
    auto size = dyn_cast_or_null<AffineConstantExpr>(coordinate.size);
    if (first != 0 || !step || *step < 1 || !size || size.getValue() % *step ||
        !coordinate.extent || loopOf(coordinate.begin))
      return false;
    int64_t scale = size.getValue() / *step;
    AffineExpr variable = getAffineDimExpr(space_.firstLoop() + number, op_->getContext());
    Affine end = space_.express(loop.getUpperBound());
    return at == variable * scale && end && end.expr == coordinate.extent.ceilDiv(scale);
  }

  AccessSpace space_;
  SmallVectorImpl<Access> &accesses_;
  Operation *op_;
};

} // namespace

unsigned Access::numVariables() const {
  return (tiles ? TilesOp(tiles).getExtents().size() : 0) + loops.size();
}

bool Access::isKnown() const {
  return llvm::none_of(coordinates, [](const Coordinate &coordinate) {
    return coordinate.kind == Coordinate::Kind::unknown;
  });
}

TileAccess::TileAccess(func::FuncOp kernel) {
  Symbols symbols(symbols_);
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { Reader(symbols, accesses_, op).add(); });
}

} // namespace ditron::device
