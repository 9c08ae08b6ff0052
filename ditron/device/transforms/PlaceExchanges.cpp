// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlaceExchanges: rows of an argument go to the ranks that they are for, by counts, before the kernel
// computes with them.
//
//     func @experts(%A {dist.placement = #dist.placement<exchanged dim 0 counts "counts">}, %W,
//                   %counts, %C)                             A[T,K], W[G,N,K], counts[G], C[T,N]
//  ->
//     func @experts(%A, %W, %counts, %C)                     A[T,K], W[G,N,K], counts[R*G], C[R*T,N]
//       %all = dist.symmetric "counts.of"(%ranks, R*G)
//       %rows = dist.symmetric "A.exchanged"(R*T, %k)
//       dist.role "exchange" cores %c0 for %c1 {
//         for each peer: dist.put %counts, %all[%rank] on %peer; dist.notify %counted[%rank]
//         for each peer, for each group %g of it, once the counts of all ranks are there:
//           dist.put rows of %A, %rows[where they come] on %peer
//         dist.notify %ready[%rank] on %peer
//       }
//       dist.role "compute" cores %c1 for %rest {
//         for each rank %s: dist.wait %ready[%s]
//         the kernel, with %rows for %A, and for counts[g] the sum of %all[%s, G * rank + g]
//       }
//
// Rows of A are sorted by group, those of rank 0 first, then those of rank 1. On the rank that has a
// group, its rows stand behind one another, in the order of the ranks that they come from: all
// ranks know all counts, so each knows where its rows go. test/device/place-exchanges.mlir shows it,
// place-exchanges-invalid.mlir what is refused.
//
#include "ditron/device/AccessSpace.h"
#include "ditron/device/Provenance.h"
#include "ditron/device/transforms/Passes.h"
#include "ditron/device/transforms/PlacedKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ditron::device {
#define GEN_PASS_DEF_PLACEEXCHANGES
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;
namespace core = ditron::core;

namespace {

constexpr int64_t kChunkRows = 16, kChunkColumns = 4096;

/// What is exchanged: rows of some arguments by the counts of one.
struct Exchange {
  SmallVector<PlacedArgument> rows;
  BlockArgument counts;
  std::string name; ///< of the counts

  PlacementAttr placement() const { return rows.front().placement; }
  StringRef axis() const { return placement().getAxis(); }
};

/// Writes the verbs.
class ExchangeWriter {
public:
  ExchangeWriter(func::FuncOp kernel, Exchange &exchange)
      : kernel_(kernel), exchange_(exchange), top_(kernel.getLoc(), kernel.getContext()),
        math_(top_) {}

  void write() {
    Block &body = kernel_.getBody().front();
    Operation *first = &body.front();
    SmallVector<Operation *> original;
    for (Operation *op = first; op != body.getTerminator(); op = op->getNextNode())
      original.push_back(op);
    top_.setInsertionPoint(first);
    allocate();
    RolePair roles = makeRoles(top_, "exchange", "compute", exchange_.placement().getCores());
    Block &compute = roles.compute.getBody().front();
    for (Operation *op : original)
      op->moveBefore(&compute, compute.end());
    send(roles.move);
    receive(roles);
  }

private:
  using Builder = ImplicitLocOpBuilder;

  void allocate() {
    ranks_ = math_.numRanks(exchange_.axis());
    rank_ = math_.rank(exchange_.axis());
    Value slots = math_.dim(exchange_.counts, 0);
    groups_ = math_.divide(slots, ranks_);
    Value rest = math_.remainder(slots, ranks_);
    Value isEven = top_.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, math_.constant(0));
    top_.create<core::RequireOp>(isEven,
                                 top_.getStringAttr("'" + exchange_.name +
                                                    "' has {} counts, expected as many for "
                                                    "each of {} ranks"),
                                 ValueRange{slots, ranks_});
    all_ = symmetric(exchange_.name + ".of", exchange_.counts, {ranks_, slots});
    counted_ = counters(exchange_.name + ".counted");
    ready_ = counters(exchange_.name + ".ready");
    for (PlacedArgument &argument : exchange_.rows) {
      SmallVector<Value> extents{math_.multiply(ranks_, math_.dim(argument.value, 0)),
                                 math_.dim(argument.value, 1)};
      received_.push_back(symmetric(argument.name + ".exchanged", argument.value, extents));
    }
  }

  Value symmetric(const std::string &name, Value like, ArrayRef<Value> extents) {
    Type element = cast<MemRefType>(like.getType()).getElementType();
    auto type = viewType(static_cast<int64_t>(extents.size()), element, SpaceKind::symmetric);
    return top_.create<SymmetricOp>(type, top_.getStringAttr(name), extents);
  }

  Value counters(const std::string &name) {
    return top_.create<SignalsOp>(SignalsType::get(top_.getContext(), 1), top_.getStringAttr(name),
                                  ranks_);
  }

  //===-- What is sent ------------------------------------------------------------------------===//

  void send(RoleOp role) {
    Builder b(kernel_.getLoc(), kernel_.getContext());
    b.setInsertionPointToEnd(&role.getBody().front());
    sendCounts(b);
    requireRows(b);
    awaitCounts(b);
    {
      OpBuilder::InsertionGuard guard(b);
      Value place = forEachPeer(b, exchange_.axis(), /*withSelf=*/true, Ring::next);
      sendRows(b, place, IndexMath(b).rankAt(exchange_.axis(), place));
    }
    // One notify tells of what all cores have put: ranks may have different numbers of them.
    b.create<BarrierOp>(BarrierScope::cores);
    onFirstCore(b);
    Value place = forEachPeer(b, exchange_.axis(), /*withSelf=*/true, Ring::next);
    Value peer = IndexMath(b).rankAt(exchange_.axis(), place);
    b.create<NotifyOp>(ready_, rank_, peer, NotifyMode::add, IndexMath(b).constant(1));
  }

  /// if (this is the first core); the builder is in the body.
  static void onFirstCore(Builder &b) {
    Value core = b.create<CoreOp>(b.getIndexType());
    Value isFirst =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, core, IndexMath(b).constant(0));
    auto branch = b.create<scf::IfOp>(isFirst, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }

  /// The first core sends the counts.
  void sendCounts(Builder &b) {
    OpBuilder::InsertionGuard guard(b);
    onFirstCore(b);
    Value place = forEachPeer(b, exchange_.axis(), /*withSelf=*/true, Ring::next);
    Value peer = IndexMath(b).rankAt(exchange_.axis(), place);
    b.create<PutOp>(exchange_.counts, row(b, all_, rank_), peer);
    b.create<NotifyOp>(counted_, rank_, peer, NotifyMode::add, IndexMath(b).constant(1));
  }

  /// Counts are 0 or more, together no more than there are rows.
  void requireRows(Builder &b) {
    IndexMath math(b);
    Value zero = math.constant(0), slots = math.dim(exchange_.counts, 0);
    Value total = sumOver(b, zero, slots, [&](Builder &b, Value slot) {
      Value count = load(b, exchange_.counts, slot);
      Value isCount =
          b.create<arith::CmpIOp>(arith::CmpIPredicate::sge, count, IndexMath(b).constant(0));
      b.create<core::RequireOp>(
          isCount,
          b.getStringAttr("'" + exchange_.name + "' has {} at place {}, expected 0 or more"),
          ValueRange{count, slot});
      return count;
    });
    for (PlacedArgument &argument : exchange_.rows) {
      Value rows = math.dim(argument.value, 0);
      Value fits = b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, total, rows);
      b.create<core::RequireOp>(fits,
                                b.getStringAttr("'" + exchange_.name + "' counts {} rows, but '" +
                                                argument.name + "' has {}"),
                                ValueRange{total, rows});
    }
  }

  void awaitCounts(Builder &b) {
    OpBuilder::InsertionGuard guard(b);
    IndexMath math(b);
    auto loop = b.create<scf::ForOp>(math.constant(0), ranks_, math.constant(1));
    b.setInsertionPointToStart(loop.getBody());
    b.create<WaitOp>(counted_, loop.getInductionVar(), IndexMath(b).constant(1));
  }

  /// Rows of all groups of the rank at `place`: they begin behind those of earlier places here, and
  /// there behind those of earlier groups, and of earlier ranks in the group.
  void sendRows(Builder &b, Value place, Value peer) {
    OpBuilder::InsertionGuard guard(b);
    IndexMath math(b);
    Value zero = math.constant(0), firstSlot = math.multiply(place, groups_);
    Value from = sumOver(b, zero, firstSlot,
                         [&](Builder &b, Value slot) { return load(b, exchange_.counts, slot); });
    auto groups = b.create<scf::ForOp>(zero, groups_, math.constant(1), ValueRange{from, zero});
    b.setInsertionPointToStart(groups.getBody());
    IndexMath inside(b);
    Value slot = inside.add(firstSlot, groups.getInductionVar());
    Value count = load(b, exchange_.counts, slot);
    Value begin = groups.getRegionIterArg(0), there = groups.getRegionIterArg(1);
    auto ofRank = [&](Builder &b, Value rank) { return load(b, row(b, all_, rank), slot); };
    Value to = inside.add(there, sumOver(b, zero, rank_, ofRank));
    for (auto [argument, received] : llvm::zip_equal(exchange_.rows, received_))
      putRows(b, {argument.value, begin}, {received, to}, count, peer);
    Value next = inside.add(there, sumOver(b, zero, ranks_, ofRank));
    b.create<scf::YieldOp>(ValueRange{inside.add(begin, count), next});
  }

  struct Rows {
    Value view, first;
  };

  /// The chunks of `count` rows, dealt to the cores.
  void putRows(Builder &b, const Rows &from, const Rows &to, Value count, Value peer) {
    OpBuilder::InsertionGuard guard(b);
    IndexMath math(b);
    Value source = rowsOf(b, from, count), target = rowsOf(b, to, count);
    SmallVector<Value> grid{math.ceilDiv(count, math.constant(kChunkRows)),
                            math.ceilDiv(math.dim(from.view, 1), math.constant(kChunkColumns))};
    auto tiles =
        b.create<TilesOp>(grid, Value(), b.getI64IntegerAttr(1),
                          OrderAttr::get(b.getContext(), "row-major", 1, ShardedAxis::rows));
    Block &body = tiles.getBody().emplaceBlock();
    body.addArguments({b.getIndexType(), b.getIndexType()}, {b.getLoc(), b.getLoc()});
    b.setInsertionPointToStart(&body);
    auto chunk = [&](Value view) -> Value {
      auto type = cast<MemRefType>(view.getType());
      return b.create<core::ChunkOp>(viewType(2, type.getElementType(), spaceOf(type)), view,
                                     body.getArguments(),
                                     ArrayRef<int64_t>{kChunkRows, kChunkColumns});
    };
    Value rows = chunk(source);
    b.create<PutOp>(rows, chunk(target), peer);
  }

  static Value rowsOf(Builder &b, const Rows &rows, Value count) {
    auto type = cast<MemRefType>(rows.view.getType());
    SmallVector<OpFoldResult> offsets{rows.first, b.getIndexAttr(0)},
        sizes{count, IndexMath(b).dim(rows.view, 1)}, strides{b.getIndexAttr(1), b.getIndexAttr(1)};
    return b.create<memref::SubViewOp>(viewType(2, type.getElementType(), spaceOf(type)), rows.view,
                                       offsets, sizes, strides);
  }

  //===-- What is received --------------------------------------------------------------------===//

  /// The kernel begins when all rows are there.
  void receive(const RolePair &roles) {
    Block &compute = RoleOp(roles.compute).getBody().front();
    Builder b(kernel_.getLoc(), kernel_.getContext());
    b.setInsertionPointToStart(&compute);
    IndexMath math(b);
    awaitCounts(b);
    auto loop = b.create<scf::ForOp>(math.constant(0), ranks_, math.constant(1));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      b.create<WaitOp>(ready_, loop.getInductionVar(), IndexMath(b).constant(1));
    }
    for (auto [argument, received] : llvm::zip_equal(exchange_.rows, received_)) {
      auto plain = cast<MemRefType>(argument.value.getType());
      Value view = b.create<memref::MemorySpaceCastOp>(plain, received);
      argument.value.replaceUsesWithIf(view,
                                       [&](OpOperand &use) { return isOfKernel(use, roles); });
    }
    for (OpOperand &use : llvm::make_early_inc_range(exchange_.counts.getUses()))
      if (isOfKernel(use, roles))
        replaceCount(use.getOwner());
  }

  static bool isOfKernel(OpOperand &use, const RolePair &roles) {
    return RoleOp(roles.compute)->isProperAncestor(use.getOwner());
  }

  /// A count, or the number of them, of the groups of this rank.
  void replaceCount(Operation *op) {
    Builder b(op->getLoc(), op);
    if (isa<memref::DimOp>(op)) {
      op->getResult(0).replaceAllUsesWith(groups_);
    } else {
      auto read = cast<memref::LoadOp>(op);
      IndexMath math(b);
      Value slot = math.add(math.multiply(rank_, groups_), read.getIndices()[0]);
      Value total = sumOver(b, math.constant(0), ranks_, [&](Builder &b, Value rank) {
        return load(b, row(b, all_, rank), slot);
      });
      read.replaceAllUsesWith(b.create<arith::IndexCastOp>(read.getType(), total).getResult());
    }
    op->erase();
  }

  //===-- Numbers -----------------------------------------------------------------------------===//

  /// The sum of what `term` gives for first, ..., end - 1.
  static Value sumOver(Builder &b, Value first, Value end,
                       llvm::function_ref<Value(Builder &, Value)> term) {
    OpBuilder::InsertionGuard guard(b);
    IndexMath math(b);
    auto loop = b.create<scf::ForOp>(first, end, math.constant(1), ValueRange{math.constant(0)});
    b.setInsertionPointToStart(loop.getBody());
    Value more = term(b, loop.getInductionVar());
    b.create<scf::YieldOp>(ValueRange{IndexMath(b).add(loop.getRegionIterArg(0), more)});
    return loop.getResult(0);
  }

  static Value load(Builder &b, Value view, Value at) {
    Value count = b.create<memref::LoadOp>(view, at);
    return b.create<arith::IndexCastOp>(b.getIndexType(), count);
  }

  /// Row `number` of a matrix of counts.
  static Value row(Builder &b, Value view, Value number) {
    auto type = cast<MemRefType>(view.getType());
    SmallVector<OpFoldResult> offsets{number, b.getIndexAttr(0)},
        sizes{b.getIndexAttr(1), IndexMath(b).dim(view, 1)},
        strides{b.getIndexAttr(1), b.getIndexAttr(1)};
    return b.create<memref::SubViewOp>(viewType(1, type.getElementType(), spaceOf(type)), view,
                                       offsets, sizes, strides);
  }

  func::FuncOp kernel_;
  Exchange &exchange_;
  Builder top_;
  IndexMath math_;
  Value rank_, ranks_, groups_, all_, counted_, ready_;
  SmallVector<Value> received_;
};

//===-- What can be exchanged -----------------------------------------------------------------===//

struct PlaceExchanges : ditron::device::impl::PlaceExchangesBase<PlaceExchanges> {
  void runOnOperation() override {
    if (failed(place()))
      signalPassFailure();
  }

private:
  LogicalResult place() {
    func::FuncOp kernel = getOperation();
    auto placed = placedArguments(kernel, {PlacementKind::exchanged});
    if (failed(placed) || placed->empty())
      return LogicalResult(placed);
    auto exchange = exchangeOf(kernel, *placed);
    if (failed(exchange))
      return failure();
    ExchangeWriter(kernel, *exchange).write();
    finish(kernel, *exchange);
    return success();
  }

  static FailureOr<Exchange> exchangeOf(func::FuncOp kernel, ArrayRef<PlacedArgument> placed) {
    Exchange exchange{SmallVector<PlacedArgument>(placed), {}, {}};
    exchange.name = placed.front().placement.getCounts().str();
    if (failed(checkKernel(kernel, exchange)))
      return failure();
    for (BlockArgument argument : kernel.getArguments())
      if (kernel.getArgAttr(argument.getArgNumber(), core::kNameAttr) ==
          StringAttr::get(kernel.getContext(), exchange.name))
        exchange.counts = argument;
    if (failed(checkCounts(kernel, exchange)))
      return failure();
    return exchange;
  }

  static LogicalResult checkKernel(func::FuncOp kernel, const Exchange &exchange) {
    const PlacedArgument &first = exchange.rows.front();
    if (hasVerbs(kernel))
      return kernel.emitError() << "'" << first.name << "' is exchanged, but the kernel has verbs "
                                << "of its own: expected a kernel of one device";
    for (BlockArgument argument : kernel.getArguments())
      if (PlacementAttr other = placementOf(kernel, argument.getArgNumber());
          other && other.getKind() != PlacementKind::exchanged)
        return kernel.emitError() << "'" << first.name << "' is exchanged and "
                                  << describe(argument)
                                  << " is placed in another way: expected one of them";
    for (const PlacedArgument &rows : exchange.rows) {
      if (!kernel.getArgAttr(rows.value.getArgNumber(), core::kReadOnlyAttr))
        return kernel.emitError() << "'" << rows.name << "' is exchanged, but the kernel writes "
                                  << "it: expected an input";
      if (cast<MemRefType>(rows.value.getType()).getRank() != 2 || rows.placement.getDim() != 0)
        return kernel.emitError() << "'" << rows.name
                                  << "' is exchanged, expected the rows of a matrix";
      if (rows.placement.getCounts() != exchange.name || rows.extent != first.extent ||
          rows.placement.getAxis() != exchange.axis())
        return kernel.emitError() << "'" << first.name << "' and '" << rows.name
                                  << "' are exchanged in two ways: expected the same counts, rows "
                                     "and axis";
    }
    return success();
  }

  static LogicalResult checkCounts(func::FuncOp kernel, const Exchange &exchange) {
    StringRef rows = exchange.rows.front().name;
    auto type = exchange.counts ? dyn_cast<MemRefType>(exchange.counts.getType()) : MemRefType();
    bool isCounts = type && type.getRank() == 1 && type.getElementType().isInteger(32) &&
                    kernel.getArgAttr(exchange.counts.getArgNumber(), core::kReadOnlyAttr);
    StringAttr extent = isCounts ? extentName(exchange.counts, 0) : StringAttr();
    if (!extent || !llvm::all_of(extent.getValue(), llvm::isAlpha))
      return kernel.emitError() << "'" << rows << "' is exchanged by '" << exchange.name
                                << "': expected an input of i32 with one named dimension";
    for (Operation *user : exchange.counts.getUsers())
      if (!isa<memref::LoadOp, memref::DimOp>(user))
        return user->emitError() << "'" << rows << "' is exchanged by '" << exchange.name
                                 << "', which is read here other than element by element";
    return success();
  }

  /// The signature of what is launched.
  static void finish(func::FuncOp kernel, const Exchange &exchange) {
    StringAttr rows = exchange.rows.front().extent;
    for (BlockArgument argument : kernel.getArguments()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      bool isExchanged =
          llvm::any_of(exchange.rows, [&](auto &own) { return own.value == argument; });
      for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank && !isExchanged; ++dim)
        if (argument == exchange.counts || extentName(argument, dim) == rows)
          setWhole(kernel, argument, dim, exchange.axis());
    }
    for (const PlacedArgument &argument : exchange.rows)
      kernel.removeArgAttr(argument.value.getArgNumber(), kPlacementAttr);
  }
};

} // namespace
