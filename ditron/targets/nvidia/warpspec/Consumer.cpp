// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/warpspec/Consumer.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::nvidia {

namespace {

//===-- Receiving and multiplying -------------------------------------------------------------===//

/// Transpositions of a tile that has come: they follow it, and are as wide as it is.
void followTransposed(Value tile) {
  for (Operation *user : llvm::make_early_inc_range(tile.getUsers())) {
    auto transpose = dyn_cast<core::TransposeOp>(user);
    if (!transpose)
      continue;
    transpose->moveAfter(tile.getDefiningOp());
    RankedTensorType type = tileOf(tile);
    SmallVector<int> dims(transpose.getPermutation());
    SmallVector<int64_t> shape{type.getDimSize(dims[0]), type.getDimSize(dims[1])};
    Layout layout = *core::transpose(core::layoutOf(type), shapeOf(type), dims);
    transpose.getResult().setType(
        core::withLayout(RankedTensorType::get(shape, type.getElementType()), layout));
    followTransposed(transpose.getResult());
  }
}

/// A product that is promoted to fp32 has an accumulator of its own, and is added when it is done.
void multiply(core::DotOp dot, int64_t warps) {
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  RankedTensorType type = tileOf(dot.getResult());
  bool isPromoted = warpgroupProduct(tileOf(dot.getRhs()).getElementType(), dot.getPrecision()).run;
  Value acc = dot.getAcc();
  if (isPromoted)
    acc = b.create<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(type)));
  Value lhs = dot.getLhs();
  if (RankedTensorType tile = tileOf(lhs); !isShared(tile)) {
    Shape shape{tile.getDimSize(0), tile.getDimSize(1) / 2};
    auto words = core::withLayout(RankedTensorType::get(shape, b.getI32Type()),
                                  warpgroupOperand(shape, warps));
    lhs = b.create<PackOp>(words, lhs);
  }
  Value product = b.create<WgmmaOp>(type, lhs, dot.getRhs(), acc);
  if (isPromoted)
    product = b.create<arith::AddFOp>(dot.getAcc(), product);
  dot.getResult().replaceAllUsesWith(product);
  dot.erase();
}

//===-- Waiting for products ------------------------------------------------------------------===//

/// The receive that an operand in shared memory comes from; null of one in registers.
ReceiveOp origin(Value operand) {
  while (Operation *op = operand.getDefiningOp()) {
    if (auto receive = dyn_cast<ReceiveOp>(op))
      return receive;
    if (!isa<core::TransposeOp, ClipOp>(op))
      break;
    operand = op->getOperand(0);
  }
  return nullptr;
}

/// All products that read what was received.
SmallVector<WgmmaOp> readersOf(Operation *op) {
  SmallVector<WgmmaOp> result;
  for (Operation *user : op->getUsers())
    if (auto product = dyn_cast<WgmmaOp>(user))
      result.push_back(product);
    else
      result.append(readersOf(user));
  return result;
}

/// Whether a product goes into the same product of the next iteration and nowhere else.
bool accumulates(WgmmaOp product) {
  auto sum = dyn_cast<BlockArgument>(product.getAcc());
  if (!sum || sum.getOwner() != product->getBlock() || sum.getArgNumber() == 0 ||
      !sum.hasOneUse() || !product.getResult().hasOneUse())
    return false;
  OpOperand &use = *product.getResult().use_begin();
  return isa<scf::YieldOp>(use.getOwner()) && use.getOwner()->getBlock() == sum.getOwner() &&
         use.getOperandNumber() == sum.getArgNumber() - 1;
}

/// Whether a product takes long enough that the next one is to be begun before it is done. Narrow
/// ones wait for memory; and the assembler would have them one after the other with a warning.
bool isWide(WgmmaOp product) {
  constexpr int64_t kNarrow = 32;
  return tileOf(product.getAcc()).getDimSize(1) > kNarrow;
}

/// Whether one product of each iteration may be under way until the next: all of a loop do nothing
/// but add to their accumulators what was received for them.
bool isSum(scf::ForOp loop) {
  auto products = loop.getBody()->getOps<WgmmaOp>();
  return !products.empty() && llvm::all_of(products, [](WgmmaOp product) {
    return accumulates(product) && isWide(product) &&
           llvm::all_of(ValueRange{product.getLhs(), product.getRhs()}, [&](Value operand) {
             ReceiveOp receive = origin(operand);
             return receive && receive->getBlock() == product->getBlock() &&
                    receive.getPipe().getType().getSlots() > 1;
           });
  });
}

Value compare(ImplicitLocOpBuilder &b, Value greater, Value than) {
  return b.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, greater, than);
}

/// Each iteration waits for the products of the one before when its own are under way.
void waitInLoop(scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop.getBody()->getTerminator());
  auto products = llvm::to_vector(loop.getBody()->getOps<WgmmaOp>());
  auto receives = llvm::to_vector(loop.getBody()->getOps<ReceiveOp>());
  b.create<WgmmaWaitOp>(TypeRange(), static_cast<int64_t>(products.size()), ValueRange());
  Value isLater = compare(b, loop.getInductionVar(), loop.getLowerBound());
  for (ReceiveOp receive : receives)
    b.create<ReleaseOp>(receive.getPipe(), isLater);
  b.setInsertionPointAfter(loop);
  SmallVector<Value> results;
  for (auto [result, yielded] : llvm::zip(loop.getResults(), loop.getYieldedValues()))
    if (isTile(result) && yielded.getDefiningOp<WgmmaOp>())
      results.push_back(result);
  auto wait = b.create<WgmmaWaitOp>(ValueRange(results).getTypes(), 0, results);
  for (auto [before, after] : llvm::zip(results, wait.getReady()))
    before.replaceAllUsesExcept(after, wait);
  Value isAny = compare(b, loop.getUpperBound(), loop.getLowerBound());
  for (ReceiveOp receive : receives)
    b.create<ReleaseOp>(receive.getPipe(), isAny);
}

/// Places the waits of a block: follows the products that are under way, in the order in which they
/// began.
class WaitPlacer {
public:
  explicit WaitPlacer(Block &block) : block_(block) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block_)) {
      waitBefore(op);
      if (auto product = dyn_cast<WgmmaOp>(op))
        pending_.push_back(product);
    }
  }

private:
  void waitBefore(Operation &op) {
    size_t count = op.hasTrait<OpTrait::IsTerminator>() || hasProducts(op) ? pending_.size() : 0;
    for (size_t n = count; n < pending_.size(); ++n)
      if (reads(op, pending_[n].getResult()))
        count = n + 1;
    if (count == 0)
      return;
    ImplicitLocOpBuilder b(op.getLoc(), &op);
    SmallVector<Value> results;
    for (WgmmaOp product : ArrayRef(pending_).take_front(count))
      results.push_back(product.getResult());
    auto wait = b.create<WgmmaWaitOp>(ValueRange(results).getTypes(),
                                      static_cast<int64_t>(pending_.size() - count), results);
    for (auto [before, after] : llvm::zip(results, wait.getReady()))
      before.replaceAllUsesExcept(after, wait);
    SmallVector<WgmmaOp> done(ArrayRef(pending_).take_front(count));
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(count));
    release(b, done);
  }

  static bool hasProducts(Operation &op) {
    return op.getNumRegions() &&
           op.walk([](WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }
  static bool reads(Operation &op, Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return op.isAncestor(user); });
  }

  /// The slots that only these products, and earlier ones of the block, read.
  void release(ImplicitLocOpBuilder &b, ArrayRef<WgmmaOp> done) {
    for (WgmmaOp product : done)
      for (Value operand : {product.getLhs(), product.getRhs()}) {
        ReceiveOp receive = origin(operand);
        if (!receive || receive->getBlock() != &block_ || released_.contains(receive) ||
            llvm::any_of(readersOf(receive), [&](WgmmaOp reader) {
              return reader->getBlock() != &block_ || llvm::is_contained(pending_, reader) ||
                     b.getInsertionPoint()->isBeforeInBlock(reader);
            }))
          continue;
        released_.insert(receive);
        b.create<ReleaseOp>(receive.getPipe(), b.create<arith::ConstantIntOp>(1, 1));
      }
  }

  Block &block_;
  SmallVector<WgmmaOp> pending_;
  llvm::DenseSet<Operation *> released_;
};

/// Releases a slot that products of loops within its block read.
void releaseBehind(ReceiveOp receive) {
  Operation *last = receive;
  bool isInner = true;
  for (WgmmaOp reader : readersOf(receive)) {
    Operation *top = receive->getBlock()->findAncestorOpInBlock(*reader);
    isInner &= top == reader;
    if (last->isBeforeInBlock(top))
      last = top;
  }
  if (isInner)
    return;
  while (isa<WgmmaWaitOp>(last->getNextNode()))
    last = last->getNextNode();
  ImplicitLocOpBuilder b(receive.getLoc(), last->getNextNode());
  b.create<ReleaseOp>(receive.getPipe(), b.create<arith::ConstantIntOp>(1, 1));
}

} // namespace

Value rowsLeft(OpBuilder &b, Location loc, Value view, ValueRange coords, int64_t height) {
  size_t row = coords.size() - 2;
  Value size = b.create<memref::DimOp>(loc, view, static_cast<int64_t>(row));
  Value start =
      b.create<arith::MulIOp>(loc, coords[row], b.create<arith::ConstantIndexOp>(loc, height));
  return b.create<arith::SubIOp>(loc, size, start);
}

void receiveAndMultiply(const PipeLoads &loads, Value pipe, int64_t warps) {
  core::LoadOp last = loads.last();
  core::DotOp first = loads.dots.front();
  Operation *before = loads.isInner() ? first.getOperation() : last.getOperation();
  ImplicitLocOpBuilder b(last.getLoc(), before);
  SmallVector<Type> types(cast<PipeType>(pipe.getType()).getTiles());
  auto received = b.create<ReceiveOp>(types, pipe).getTiles();
  for (auto [one, tile] : llvm::zip(loads.tiles, received)) {
    core::LoadOp load = one.load;
    Value whole = tile;
    if (one.isClipped)
      whole = b.create<ClipOp>(tile.getType(), tile,
                               rowsLeft(b, load.getLoc(), load.getView(), load.getCoords(),
                                        tileOf(load.getTile()).getDimSize(0)));
    load.getTile().replaceAllUsesWith(whole);
    load.erase();
    followTransposed(whole);
  }
  for (core::DotOp dot : loads.dots)
    if (!isa_and_present<core::LoadOp>(untransposed(dot.getLhs()).getDefiningOp()) &&
        !isa_and_present<core::LoadOp>(untransposed(dot.getRhs()).getDefiningOp()))
      multiply(dot, warps);
}

void waitForProducts(Region &region) {
  SmallVector<scf::ForOp> sums;
  SmallVector<Block *> blocks;
  region.walk([&](WgmmaOp product) {
    Block *block = product->getBlock();
    if (llvm::is_contained(blocks, block))
      return;
    blocks.push_back(block);
    if (auto loop = dyn_cast<scf::ForOp>(block->getParentOp()); loop && isSum(loop))
      sums.push_back(loop);
  });
  for (Block *block : blocks)
    if (!llvm::is_contained(sums, dyn_cast<scf::ForOp>(block->getParentOp())))
      WaitPlacer(*block).run();
  for (scf::ForOp loop : sums)
    waitInLoop(loop);
  region.walk([](ReceiveOp receive) { releaseBehind(receive); });
}

/// The op that adds a finished product to its fp32 accumulator (see multiply); null if there is
/// none.
static arith::AddFOp promotionOf(WgmmaWaitOp wait) {
  if (wait.getValues().size() != 1 || !wait->getResult(0).hasOneUse())
    return nullptr;
  auto product = wait.getValues()[0].getDefiningOp<WgmmaOp>();
  if (!product)
    return nullptr;
  Type element = tileOf(product.getRhs()).getElementType();
  bool isPromoted = warpgroupProduct(element, core::Precision::fastAccum).run > 0;
  return isPromoted ? dyn_cast<arith::AddFOp>(*wait->getResult(0).user_begin()) : nullptr;
}

void promoteInParts(Region &region, const Chip &share, int64_t warps) {
  SmallVector<std::pair<WgmmaWaitOp, arith::AddFOp>> found;
  region.walk([&](WgmmaWaitOp wait) {
    if (arith::AddFOp add = promotionOf(wait))
      found.emplace_back(wait, add);
  });
  for (auto [wait, add] : found) {
    auto product = wait.getValues()[0].getDefiningOp<WgmmaOp>();
    RankedTensorType type = tileOf(product.getResult());
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    int64_t width = promotedColumns(share, warps, rows, columns);
    bool isOne = width >= columns && rows == kProductRows * warps / kWarpgroup;
    if (isOne || width == 0)
      continue;
    OpBuilder b(wait);
    Value sum = b.create<WgmmaPromoteOp>(add.getLoc(), type, product.getLhs(), product.getRhs(),
                                         add.getLhs(), width);
    add.getResult().replaceAllUsesWith(sum);
    add.erase();
    wait.erase();
    product.erase();
  }
}

} // namespace ditron::nvidia
