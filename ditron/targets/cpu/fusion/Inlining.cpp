// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/fusion/Inlining.h"
#include "ditron/core/Memories.h"
#include "ditron/device/DistOps.h"
#include "ditron/lower/Views.h"
#include "ditron/targets/cpu/emission/RowProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace ditron::cpu {

/// Ops that cost nothing to emit again.
static bool isCheap(Operation *op) {
  return isa<arith::ConstantOp, tensor::SplatOp, core::IotaOp>(op);
}

bool isWhole(Operation *op) {
  return isa<core::DotOp, core::ReduceOp, core::ReduceIndexOp, core::ScanOp, core::AtomicAddOp>(op);
}

bool movesElements(Operation *op) {
  auto reshape = dyn_cast<core::ReshapeOp>(op);
  if (!reshape || joinsRows(reshape))
    return false;
  auto proper = [](Value tile) {
    SmallVector<int64_t> dims;
    for (int64_t extent : cast<RankedTensorType>(tile.getType()).getShape())
      if (extent != 1)
        dims.push_back(extent);
    return dims;
  };
  return proper(reshape.getSource()) != proper(reshape.getResult());
}

/// Ops that read their source at another place than they are asked for.
static bool readsElsewhere(Operation *user) {
  return isa<core::TransposeOp, core::BroadcastOp, core::ReshapeOp, core::GatherOp>(user);
}

/// The op that alone takes the result, if there is one: once, or elementwise in several operands,
/// which are then one expression.
static Operation *onlyUser(Operation *op) {
  if (op->use_empty())
    return nullptr;
  Operation *user = *op->user_begin();
  bool isAlone = llvm::all_of(op->getUsers(), [&](Operation *other) { return other == user; });
  return op->hasOneUse() || (isAlone && user->hasTrait<OpTrait::Elementwise>()) ? user : nullptr;
}

/// A tile that costs no more to read from its source, which is smaller, than from memory of its
/// own.
static bool isRepetition(Operation *op) {
  auto reshape = dyn_cast<core::ReshapeOp>(op);
  return isa<core::BroadcastOp>(op) ||
         (reshape && joinsRows(reshape) && reshape.getSource().getDefiningOp<core::BroadcastOp>());
}

/// Whether an op only adds or removes dimensions of extent 1.
static bool isPlainReshape(Operation *op) {
  auto reshape = dyn_cast<core::ReshapeOp>(op);
  return reshape && !joinsRows(reshape) && !movesElements(reshape);
}

/// The op that alone takes the result, behind reshapes that move nothing.
static Operation *userBehindReshapes(Operation *op) {
  Operation *user = onlyUser(op);
  while (user && isPlainReshape(user) && onlyUser(user) &&
         onlyUser(user)->getBlock() == op->getBlock())
    user = onlyUser(user);
  return user;
}

/// The op that gives an operand, behind reshapes that move nothing.
static Operation *sourceBehindReshapes(Operation *op) {
  while (op && isPlainReshape(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// Whether an op transposes rows for a dot that multiplies by rows, and so reads them in order.
static bool isReadByRows(Operation *op, int64_t lanes) {
  auto transpose = dyn_cast<core::TransposeOp>(op);
  auto dot = transpose ? dyn_cast_or_null<core::DotOp>(onlyUser(op)) : core::DotOp();
  return dot && dot.getRhs() == transpose.getResult() && rowsOfRight(dot, lanes);
}

/// Whether a store replaces the very elements that a load reads.
static bool isInPlace(core::LoadOp load, core::StoreOp store) {
  return core::areAlike(load.getView(), store.getView()) && load.getCoords() == store.getCoords() &&
         load.getTile().getType() == store.getTile().getType();
}

/// Whether a reduction is along the rows of its tile.
static bool reducesRows(core::ReduceOp reduce) {
  return static_cast<int64_t>(reduce.getAxis()) ==
         cast<RankedTensorType>(reduce.getSource().getType()).getRank() - 1;
}

/// Whether nothing between a load and a later op of its block could change memory.
static bool isUnchanged(Operation *load, Operation *end) {
  for (Operation *op = load->getNextNode(); op && op != end; op = op->getNextNode())
    if (!isMemoryEffectFree(op) && !isa<core::LoadOp, core::GatherOp, core::RequireOp,
                                        device::CoreOp, device::NumCoresOp, memref::LoadOp>(op))
      return false;
  return true;
}

/// Whether something between a load and the op that consumes its value in the end could change the
/// memory it reads, so that it has to be read where it stands.
bool Inlining::isReadEarly(Operation *load) const {
  Operation *consumer = load;
  bool isElementwise = isa<core::LoadOp>(load);
  while (consumer->getNumResults() == 1 && isTile(consumer->getResult(0)) && !isWhole(consumer) &&
         onlyUser(consumer)) {
    Operation *next = onlyUser(consumer);
    if (next->getBlock() != load->getBlock())
      return true;
    isElementwise = isElementwise && !readsElsewhere(next);
    consumer = next;
  }
  if (!isUnchanged(load, consumer))
    return true;
  if (auto store = dyn_cast<core::StoreOp>(consumer)) {
    bool isSafe = isElementwise && isInPlace(cast<core::LoadOp>(load), store);
    return !isSafe && core::mayMeet(load->getOperand(0), store.getView());
  }
  return isa<core::ScatterOp, core::AtomicAddOp>(consumer);
}

/// The last op of the block that reads an expression when it is emitted; null where one reads it
/// other than element by element, in order.
Operation *Inlining::lastReader(Operation *op) const {
  Operation *last = nullptr;
  for (Operation *user : op->getUsers()) {
    auto reduce = dyn_cast<core::ReduceOp>(user);
    bool isByRows = isReadByRows(user, v_.wholeLanes());
    bool isInOrder = reduce ? reducesRows(reduce)
                            : isByRows || isa<core::StoreOp, core::CastOp>(user) ||
                                  user->hasTrait<OpTrait::Elementwise>();
    if (user->getBlock() != op->getBlock() || !isInOrder)
      return nullptr;
    bool isEmittedLater = user->getNumResults() == 1 && !reduce && !isByRows && staysInline(user);
    Operation *reader = isEmittedLater ? lastReader(user) : isByRows ? onlyUser(user) : user;
    if (!reader)
      return nullptr;
    if (!last || last->isBeforeInBlock(reader))
      last = reader;
  }
  return last;
}

/// Whether what a load, or a cast of one between integers, gives to several users is read from the
/// view for each of them: elements need no costly conversion, and nothing changes them in between.
bool Inlining::canReadAgain(Operation *op) const {
  auto load = dyn_cast<core::LoadOp>(op);
  if (auto cast = dyn_cast<core::CastOp>(op);
      cast && isa<IntegerType>(getElementTypeOrSelf(cast.getResult())))
    load = cast.getSource().getDefiningOp<core::LoadOp>();
  if (!load || (load != op && !load->hasOneUse()))
    return false;
  auto tile = cast<RankedTensorType>(load.getTile().getType());
  Type element = tile.getElementType();
  bool isAsStored = storageType(element) == computeType(element) || element.isInteger(8);
  if (!isAsStored || !lower::hasUnitStride(load.getView()) ||
      tile.getShape().back() < v_.wholeLanes())
    return false;
  Operation *last = lastReader(op);
  auto store = dyn_cast_or_null<core::StoreOp>(last);
  if (store && core::mayMeet(load.getView(), store.getView()) && !isInPlace(load, store))
    return false;
  return last && isUnchanged(load, last);
}

/// Arithmetic that costs no more to repeat than to read back from memory: of one tile in memory
/// with what repeats or is constant.
bool Inlining::canRepeat(Operation *op) const {
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::AddIOp, arith::SubIOp,
           arith::MulIOp>(op))
    return false;
  Type element = getElementTypeOrSelf(op->getResult(0));
  if (element != computeType(element)) // rounds
    return false;
  int64_t tiles = 0;
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (buffers_.has(operand))
      ++tiles;
    else if (!source || (!isCheap(source) && !isRepetition(source)))
      return false;
  }
  return tiles <= 1;
}

bool Inlining::staysInline(Operation *op) const {
  if (isCheap(op))
    return true;
  if (isWhole(op) || movesElements(op))
    return false;
  if (isPlainReshape(op) && buffers_.has(op->getOperand(0)) &&
      llvm::all_of(op->getUsers(), isRepetition))
    return true;
  Operation *user = onlyUser(op);
  if (!user)
    return isRepetition(op) || canRepeat(op) || canReadAgain(op);
  if (user->getBlock() != op->getBlock())
    return false;
  if (isRepetition(userBehindReshapes(op)) && !isRepetition(op)) { // computed again and again
    Operation *load = sourceBehindReshapes(op);
    return isa_and_nonnull<core::LoadOp>(load) && user->hasOneUse() && !isReadEarly(load);
  }
  bool isMultipliedByRows = isReadByRows(user, v_.wholeLanes());
  if ((isa<core::TransposeOp, core::GatherOp, core::ScatterOp>(user) && !isMultipliedByRows) ||
      movesElements(user))
    return false;
  if (isa<core::LoadOp, core::GatherOp>(op))
    return !isReadEarly(op);
  return true;
}

bool Inlining::updatesInPlace(Value tile, Value carried) const {
  if (!carried.hasOneUse())
    return false;
  OpOperand *use = &*carried.use_begin();
  while (true) {
    Operation *user = use->getOwner();
    if (auto dot = dyn_cast<core::DotOp>(user))
      return dot.getAcc() == use->get() && dot.getResult() == tile;
    if (isWhole(user) || readsElsewhere(user) || user->getNumRegions() ||
        user->getNumResults() != 1 || !isTile(user->getResult(0)))
      return false;
    Value result = user->getResult(0);
    if (result == tile)
      return true;
    if (!staysInline(user) || !onlyUser(user))
      return false;
    use = &*result.use_begin();
  }
}

core::ReduceOp Inlining::reductionOnTheWay(Value tile) const {
  Operation *op = tile.getDefiningOp();
  if (isWhole(op))
    return {};
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
    auto reduce = dyn_cast<core::ReduceOp>(next);
    if (reduce && reduce.getSource() == tile && reducesRows(reduce) &&
        !buffers_.destination(reduce.getResult()))
      return reduce;
  }
  return {};
}

} // namespace ditron::cpu
