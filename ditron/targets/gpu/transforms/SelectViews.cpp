// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-select-views: a view that is chosen among arguments is read from a table in memory.
//
//   func.func @k(%a: memref<?xf32, ...>, %b: memref<?xf32, ...>, %n: index) {
//     %x = tile.select_view %n of (%b, %a) : memref<?xf32, ...>
// becomes
//   func.func @k(%n: index, %table: !llvm.ptr) attributes {simt.view_table = [1, 0],
//                                                          simt.tabled = [0, 1]} {
//     %x = simt.view_at %table[%n * 3] : !llvm.ptr -> memref<?xf32, ...>
//
// A launch writes the words of the arguments in simt.view_table into the table, in that order: those
// of one choice lie one behind the other. Arguments that are only chosen among are none of the
// function any more, so that neither its code nor its parameters grow with their number. A view of
// the table has the alignment that all of its choices have. Two views that may be one argument share
// a number, tile.in_place: memory has several names then. test/targets/gpu/select-views.mlir shows it.
#include "ditron/core/KnownShape.h"
#include "ditron/core/Memories.h"
#include "ditron/lower/Passes.h"
#include "ditron/lower/Views.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_SELECTVIEWS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

class Selector {
public:
  explicit Selector(func::FuncOp function) : function_(function), b_(function.getContext()) {}

  LogicalResult run() {
    SmallVector<core::SelectViewOp> ops;
    function_.walk([&](core::SelectViewOp op) { ops.push_back(op); });
    if (ops.empty())
      return success();
    addTable();
    numberThoseThatMeet(ops);
    for (core::SelectViewOp op : ops)
      if (failed(lower(op)))
        return failure();
    eraseFreed();
    function_->setAttr(kViewTableAttr, b_.getDenseI64ArrayAttr(rows_));
    return success();
  }

private:
  /// Behind the arguments of the program, in front of symmetric memory.
  void addTable() {
    auto symmetric = function_->getAttrOfType<ArrayAttr>(lower::kSymmetricAttr);
    unsigned number =
        function_.getNumArguments() - static_cast<unsigned>(symmetric ? symmetric.size() : 0);
    function_.insertArgument(number, LLVM::LLVMPointerType::get(b_.getContext()),
                             b_.getDictionaryAttr({}), function_.getLoc());
    table_ = function_.getArgument(number);
  }

  /// Views of a task that may be one argument have a number in common, as work in place may have it.
  void numberThoseThatMeet(ArrayRef<core::SelectViewOp> ops) {
    ArrayRef<core::SelectViewOp> others = ops;
    for (core::SelectViewOp op : ops) {
      others = others.drop_front();
      for (core::SelectViewOp other : others)
        if (other->getBlock() == op->getBlock() && core::mayMeet(op.getView(), other.getView()))
          join(op.getView(), other.getView());
      for (Value view : op.getViews())
        if (isUsedBeside(view, op))
          join(op.getView(), view);
    }
    for (const auto &[whole, number] : numbers_)
      setNumber(whole, number);
  }

  void join(Value one, Value other) {
    auto numberOf = [&](Value whole) {
      auto found = numbers_.find(whole);
      return found == numbers_.end() ? -1 : found->second;
    };
    int64_t number = numberOf(one), replaced = numberOf(other);
    if (number < 0) // others are numbers of arguments
      number = replaced < 0 ? function_.getNumArguments() + numbers_.size() : replaced;
    if (replaced >= 0)
      for (auto &[whole, its] : numbers_)
        if (its == replaced)
          its = number;
    numbers_[one] = number;
    numbers_[other] = number;
  }

  /// Whether a task that chooses an argument accesses that one by its name, too.
  static bool isUsedBeside(Value argument, core::SelectViewOp op) {
    return llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return !isa<core::SelectViewOp, memref::DimOp>(user) &&
             op->getBlock()->findAncestorOpInBlock(*user);
    });
  }

  void setNumber(Value whole, int64_t number) {
    IntegerAttr attribute = b_.getI64IntegerAttr(number);
    if (auto argument = dyn_cast<BlockArgument>(whole))
      function_.setArgAttr(argument.getArgNumber(), core::kInPlaceAttr, attribute);
    else
      whole.getDefiningOp()->setAttr(core::kInPlaceAttr, attribute);
  }

  LogicalResult lower(core::SelectViewOp op) {
    auto type = cast<MemRefType>(op.getView().getType());
    int64_t words = 1 + 2 * type.getRank(), first = words_;
    for (Value view : op.getViews()) {
      auto argument = dyn_cast<BlockArgument>(view);
      if (!argument || argument.getOwner() != &function_.front())
        return op.emitOpError("selects among views that are no arguments of the kernel");
      rows_.push_back(argument.getArgNumber());
      words_ += words;
      chosen_.insert(argument);
    }
    b_.setInsertionPoint(op);
    auto index = [&](int64_t n) { return b_.create<arith::ConstantIndexOp>(op.getLoc(), n); };
    Value word = b_.createOrFold<arith::MulIOp>(op.getLoc(), op.getNumber(), index(words));
    word = b_.createOrFold<arith::AddIOp>(op.getLoc(), word, index(first));
    auto view = b_.create<ViewAtOp>(op.getLoc(), type, table_, word);
    promise(op, view);
    op.replaceAllUsesWith(view.getView());
    op.erase();
    return success();
  }

  /// What holds of all choices holds of the chosen one.
  void promise(core::SelectViewOp op, ViewAtOp view) {
    if (lower::hasUnitStride(op.getView()))
      view->setAttr(core::kUnitStrideAttr, b_.getUnitAttr());
    int64_t least = INT64_MAX;
    for (Value one : op.getViews()) {
      auto bytes = function_.getArgAttrOfType<IntegerAttr>(cast<BlockArgument>(one).getArgNumber(),
                                                           core::kAlignmentAttr);
      least = std::min(least, bytes ? bytes.getInt() : 0);
    }
    if (least > 0)
      view->setAttr(core::kAlignmentAttr, b_.getI64IntegerAttr(least));
    if (std::optional<SmallVector<int64_t>> extents = commonExtents(op))
      view->setAttr(core::kKnownExtentsAttr, b_.getDenseI64ArrayAttr(*extents));
    for (StringRef name :
         {core::kReadOnlyAttr, core::kLastingAttr, core::kPriorAttr, core::kDenseAttr})
      if (llvm::all_of(op.getViews(), [&](Value one) {
            return function_.getArgAttr(cast<BlockArgument>(one).getArgNumber(), name);
          }))
        view->setAttr(name, b_.getUnitAttr());
    if (Attribute number = op->getAttr(core::kInPlaceAttr))
      view->setAttr(core::kInPlaceAttr, number);
    // Of what is read all or none are; what is written may be.
    if (llvm::any_of(op.getViews(), [&](Value one) {
          return function_.getArgAttr(cast<BlockArgument>(one).getArgNumber(),
                                      core::kSelfSignalingAttr);
        }))
      view->setAttr(core::kSelfSignalingAttr, b_.getUnitAttr());
  }

  /// The extents that all choices have.
  std::optional<SmallVector<int64_t>> commonExtents(core::SelectViewOp op) {
    std::optional<SmallVector<int64_t>> common;
    for (Value one : op.getViews()) {
      auto known = function_.getArgAttrOfType<DenseI64ArrayAttr>(
          cast<BlockArgument>(one).getArgNumber(), core::kKnownExtentsAttr);
      if (!known)
        return std::nullopt;
      if (!common)
        common.emplace(known.asArrayRef());
      for (auto [extent, other] : llvm::zip_equal(*common, known.asArrayRef()))
        if (extent != other)
          extent = core::kUnknownExtent;
    }
    return common;
  }

  void eraseFreed() {
    IRRewriter rewriter(b_.getContext());
    (void)runRegionDCE(rewriter, function_->getRegions()); // extents that nobody asks for
    BitVector erased(function_.getNumArguments());
    SmallVector<int64_t> numbers;
    for (BlockArgument argument : function_.getArguments())
      if (chosen_.contains(argument) && argument.use_empty()) {
        erased.set(argument.getArgNumber());
        numbers.push_back(argument.getArgNumber());
      }
    function_.eraseArguments(erased);
    function_->setAttr(kTabledAttr, b_.getDenseI64ArrayAttr(numbers));
  }

  func::FuncOp function_;
  OpBuilder b_;
  Value table_;
  SmallVector<int64_t> rows_; ///< arguments
  int64_t words_ = 0;         ///< of the table so far
  llvm::DenseSet<BlockArgument> chosen_;
  llvm::MapVector<Value, int64_t> numbers_; ///< of work in place
};

class SelectViews : public impl::SelectViewsBase<SelectViews> {
  void runOnOperation() override {
    if (!getOperation().isExternal() && failed(Selector(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace ditron::gpu
