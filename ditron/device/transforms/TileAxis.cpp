// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/TileAxis.h"
#include "ditron/core/TileOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <functional>
#include <numeric>
#include <tuple>

using namespace mlir;

namespace ditron::device {
namespace {

constexpr int64_t kAny = -1; ///< the axis, behind a reshape that splits, joins or adds it

ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }

int64_t elements(ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
}

/// The dimension of the source of a reshape that lies where dimension `axis` of its result does.
int64_t axisBefore(core::ReshapeOp op, int64_t axis) {
  ArrayRef<int64_t> from = shapeOf(op.getSource()), to = shapeOf(op.getResult());
  for (auto [dim, extent] : llvm::enumerate(from))
    if (extent == to[static_cast<size_t>(axis)] &&
        elements(from.take_front(dim)) == elements(to.take_front(static_cast<size_t>(axis))))
      return static_cast<int64_t>(dim);
  return kAny;
}

/// What there is on the way from a value to the tile that is stored.
struct Way {
  Operation *combiner = nullptr; ///< of elements that may be those of the dimension
  Operation *turn = nullptr;     ///< a transpose
};

class Search {
public:
  explicit Search(IsCut isCut) : isCut_(isCut) {}

  Operation *from(Value tile, int64_t axis, Way way) {
    Operation *op = tile.getDefiningOp();
    if (!op || !isa<RankedTensorType>(tile.getType()) ||
        !seen_.insert({tile.getAsOpaquePointer(), axis, way.combiner, way.turn}).second)
      return nullptr;
    return llvm::TypeSwitch<Operation *, Operation *>(op)
        .Case<core::ReduceOp, core::ReduceIndexOp, core::ScanOp>([&](auto op) {
          bool isAlong = axis == kAny || static_cast<int64_t>(op.getAxis()) == axis;
          return from(op.getSource(), axis, isAlong ? Way{op, way.turn} : way);
        })
        .Case([&](core::TransposeOp op) {
          int64_t before = axis == kAny ? kAny : op.getPermutation()[static_cast<size_t>(axis)];
          return from(op.getSource(), before, {way.combiner, op});
        })
        .Case([&](core::ReshapeOp op) {
          if (axis == kAny ||
              shapeOf(tile)[static_cast<size_t>(axis)] == 1) // one for all elements along it
            return from(op.getSource(), kAny, way);
          int64_t before = axisBefore(op, axis);
          return from(op.getSource(), before, before == kAny ? Way{op, way.turn} : way);
        })
        .Case([&](core::IotaOp op) {
          return static_cast<int64_t>(op.getAxis()) == axis ? op.getOperation() : nullptr;
        })
        .Case<core::LoadOp, core::GatherOp>([&](Operation *op) { return atLoad(op, axis, way); })
        .Default([&](Operation *op) {
          bool isWhole = op->getNumRegions() > 0 || isa<core::DotOp>(op);
          return isWhole ? atWhole(tile, axis, way) : fromOperands(op, axis, way);
        });
  }

private:
  Operation *fromOperands(Operation *op, int64_t axis, Way way) {
    for (Value operand : op->getOperands())
      if (Operation *found = from(operand, axis, way))
        return found;
    return nullptr;
  }

  Operation *atLoad(Operation *load, int64_t axis, Way way) {
    if (isCut_(load, axis))
      return way.combiner;
    return isCut_(load, kAny) ? way.turn : nullptr;
  }

  /// What a product or loop makes has the dimension along one axis.
  Operation *atWhole(Value tile, int64_t axis, Way way) {
    if (axis == kAny)
      return way.combiner;
    auto [known, isNew] = axes_.try_emplace(tile, std::pair(axis, way.turn));
    auto [before, turn] = known->second;
    if (way.combiner || before == axis)
      return way.combiner;
    return way.turn ? way.turn : turn;
  }

  IsCut isCut_;
  llvm::DenseMap<Value, std::pair<int64_t, Operation *>> axes_; ///< of products and loops
  llvm::DenseSet<std::tuple<void *, int64_t, Operation *, Operation *>> seen_;
};

} // namespace

Operation *combinerAlong(Value tile, int64_t axis, IsCut isCut) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  bool isSeveral = type && axis >= 0 && type.getDimSize(static_cast<unsigned>(axis)) > 1;
  return isSeveral ? Search(isCut).from(tile, axis, {}) : nullptr;
}

int64_t tileAxisOf(int64_t dim, Value view, Value tile) {
  return dim - cast<MemRefType>(view.getType()).getRank() +
         cast<RankedTensorType>(tile.getType()).getRank();
}

} // namespace ditron::device
