// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lower-outline-copy-roles: what copy engines execute leaves the kernel, and goes with it as the
// steps of abi/CopyProgram.h, which each launch follows on the host.
//
//   dist.role "gather" cores %c0 for %c1 on copy {
//     scf.for %i = %c1 to %ranks step %c1 {
//       %peer = ...                            // (rank + ranks - i) mod ranks
//       dist.put %A, %slot on %peer            // %slot: part of symmetric memory %full
//       dist.notify %arrived[%rank] on %peer add %c1
//     }
//   }
// becomes
//   dist.copy_program = [{kind = "loop", values = ["1", "n", "1"], body = 2},
//                        {kind = "put", arguments = [0, 3], values = ["r n v0 sub add n rem", ...]},
//                        {kind = "notify add", arguments = [4], values = [..., "r", "1"]}]
//
// and the symmetric memory that they touch is marked `fixed`. Numbers are texts (ExtentText.h).
// test/lower/outline-copy-roles.mlir shows it.
#include "ditron/core/Place.h"
#include "ditron/device/DistOps.h"
#include "ditron/lower/DistLowering.h"
#include "ditron/lower/ExtentText.h"
#include "ditron/lower/Passes.h"
#include "ditron/lower/Views.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::lower {

#define GEN_PASS_DEF_OUTLINECOPYROLES
#include "ditron/lower/Passes.h.inc"

namespace {

/// A view as texts: in which argument it lies, where it begins, its extents and strides, in
/// elements.
struct ViewText {
  unsigned argument;
  std::string first;
  SmallVector<std::string> extents, strides;
};

std::string joined(const Twine &x, const Twine &y, const Twine &word) {
  return (x + " " + y + " " + word).str();
}

class ProgramWriter {
public:
  explicit ProgramWriter(func::FuncOp kernel) : kernel_(kernel), b_(kernel.getContext()) {}

  /// Appends the steps of a block.
  LogicalResult write(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(write(&op)))
        return failure();
    return success();
  }

  ArrayAttr steps() { return b_.getArrayAttr(steps_); }
  const llvm::SmallDenseSet<unsigned> &touched() const { return touched_; }

private:
  using Texts = SmallVector<std::string>;

  LogicalResult write(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](scf::ForOp loop) { return writeLoop(loop); })
        .Case([&](scf::IfOp branch) { return writeBranch(branch); })
        .Case([&](core::ChunkOp chunk) {
          b_.setInsertionPoint(chunk);
          chunk.replaceAllUsesWith(partOf(b_, chunk));
          return success();
        })
        .Case([&](device::PutOp put) {
          return writePut(put.getSource(), put.getDestination(), put.getPeer());
        })
        .Case([&](device::PutNotifyOp put) {
          return success(
              succeeded(writePut(put.getSource(), put.getDestination(), put.getPeer())) &&
              succeeded(writeNotify(put)));
        })
        .Case([&](device::NotifyOp notify) { return writeNotify(notify); })
        .Case([&](device::WaitOp wait) { return writeWait(wait); })
        .Case([&](core::RequireOp require) { return writeRequire(require); })
        .Default([](Operation *) { return success(); }); // values are written where they are used
  }

  //===-- Numbers and views -------------------------------------------------------------------===//

  FailureOr<std::string> text(OpFoldResult value) {
    ExtentText text(&names_);
    if (succeeded(text.addFolded(value)))
      return text.text();
    return text.culprit()->emitError()
           << "what copy engines do depends on " << text.culprit()->getName()
           << ", which launches cannot evaluate; expected arithmetic of extents, integer "
              "arguments and ranks";
  }

  LogicalResult texts(ArrayRef<OpFoldResult> values, Texts &result) {
    for (OpFoldResult value : values) {
      FailureOr<std::string> one = text(value);
      if (failed(one))
        return failure();
      result.push_back(*one);
    }
    return success();
  }

  FailureOr<ViewText> viewOf(Value view) {
    if (auto argument = dyn_cast<BlockArgument>(view))
      if (isa<func::FuncOp>(argument.getOwner()->getParentOp()))
        return wholeOf(argument);
    Operation *op = view.getDefiningOp();
    if (!op || !isa<memref::SubViewOp, memref::ExpandShapeOp, memref::TransposeOp,
                    memref::MemorySpaceCastOp>(op))
      return kernel_.emitError() << "copy engines move a chunk of a view that launches cannot "
                                    "follow; expected parts of arguments and symmetric memory";
    FailureOr<ViewText> source = viewOf(op->getOperand(0));
    if (failed(source) ||
        failed(llvm::TypeSwitch<Operation *, LogicalResult>(op)
                   .Case([&](memref::SubViewOp op) { return cut(op, *source); })
                   .Case([&](memref::ExpandShapeOp op) { return split(op, *source); })
                   .Case([&](memref::TransposeOp op) {
                     permute(op, *source);
                     return success();
                   })
                   .Default([](Operation *) { return success(); })))
      return failure();
    return source;
  }

  static ViewText wholeOf(BlockArgument argument) {
    ViewText view{argument.getArgNumber(), "0", {}, {}};
    std::string name = "a" + std::to_string(view.argument) + ".";
    for (int64_t d = 0; d < cast<MemRefType>(argument.getType()).getRank(); ++d) {
      view.extents.push_back(name + std::to_string(d));
      view.strides.push_back(name + "s" + std::to_string(d));
    }
    return view;
  }

  LogicalResult cut(memref::SubViewOp op, ViewText &view) {
    Texts offsets, sizes, strides;
    if (failed(texts(op.getMixedOffsets(), offsets)) || failed(texts(op.getMixedSizes(), sizes)) ||
        failed(texts(op.getMixedStrides(), strides)))
      return failure();
    llvm::SmallBitVector dropped = op.getDroppedDims();
    ViewText part{view.argument, view.first, {}, {}};
    for (unsigned d = 0; d < dropped.size(); ++d) {
      if (offsets[d] != "0")
        part.first = joined(part.first, joined(offsets[d], view.strides[d], "mul"), "add");
      if (dropped[d])
        continue;
      part.extents.push_back(sizes[d]);
      part.strides.push_back(strides[d] == "1" ? view.strides[d]
                                               : joined(view.strides[d], strides[d], "mul"));
    }
    view = std::move(part);
    return success();
  }

  LogicalResult split(memref::ExpandShapeOp op, ViewText &view) {
    Texts extents;
    if (failed(texts(getMixedValues(op.getStaticOutputShape(), op.getOutputShape(), b_), extents)))
      return failure();
    Texts strides(extents.size());
    for (auto [source, group] : llvm::enumerate(op.getReassociationIndices())) {
      std::string stride = view.strides[source];
      for (int64_t dim : llvm::reverse(group)) {
        strides[static_cast<size_t>(dim)] = stride;
        stride = joined(stride, extents[static_cast<size_t>(dim)], "mul");
      }
    }
    view.extents = std::move(extents), view.strides = std::move(strides);
    return success();
  }

  static void permute(memref::TransposeOp op, ViewText &view) {
    ViewText result{view.argument, view.first, {}, {}};
    for (unsigned dim = 0; dim < op.getPermutation().getNumResults(); ++dim) {
      unsigned from = op.getPermutation().getDimPosition(dim);
      result.extents.push_back(view.extents[from]);
      result.strides.push_back(view.strides[from]);
    }
    view = std::move(result);
  }

  /// The number of a counter in its array.
  FailureOr<std::string> counter(ValueRange indices, unsigned argument) {
    std::string number = "0";
    for (auto [d, index] : llvm::enumerate(indices)) {
      FailureOr<std::string> at = text(index);
      if (failed(at))
        return failure();
      std::string extent = "a" + std::to_string(argument) + "." + std::to_string(d);
      number = d == 0 ? *at : joined(joined(number, extent, "mul"), *at, "add");
    }
    return number;
  }

  unsigned argumentOf(Value signals) {
    auto memory = signals.getDefiningOp<UnrealizedConversionCastOp>().getOperand(0);
    unsigned number = cast<BlockArgument>(memory).getArgNumber();
    touched_.insert(number);
    return number;
  }

  //===-- Steps -------------------------------------------------------------------------------===//

  void add(StringRef kind, ArrayRef<int64_t> arguments, ArrayRef<std::string> values,
           int64_t body = 0, int64_t otherwise = 0, StringRef message = "") {
    steps_.push_back(stepOf(kind, arguments, values, body, otherwise, message));
  }

  DictionaryAttr stepOf(StringRef kind, ArrayRef<int64_t> arguments, ArrayRef<std::string> values,
                        int64_t body, int64_t otherwise, StringRef message) {
    SmallVector<Attribute> texts;
    for (const std::string &value : values)
      texts.push_back(b_.getStringAttr(value));
    return b_.getDictionaryAttr({b_.getNamedAttr("kind", b_.getStringAttr(kind)),
                                 b_.getNamedAttr("arguments", b_.getDenseI64ArrayAttr(arguments)),
                                 b_.getNamedAttr("values", b_.getArrayAttr(texts)),
                                 b_.getNamedAttr("body", b_.getI64IntegerAttr(body)),
                                 b_.getNamedAttr("otherwise", b_.getI64IntegerAttr(otherwise)),
                                 b_.getNamedAttr("message", b_.getStringAttr(message))});
  }

  LogicalResult writeLoop(scf::ForOp loop) {
    Texts values;
    if (failed(texts({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}, values)))
      return failure();
    names_[loop.getInductionVar()] = "v" + std::to_string(depth_++);
    size_t place = steps_.size();
    add("loop", {}, values);
    LogicalResult result = write(*loop.getBody());
    --depth_;
    steps_[place] =
        stepOf("loop", {}, values, static_cast<int64_t>(steps_.size() - place - 1), 0, "");
    return result;
  }

  LogicalResult writeBranch(scf::IfOp branch) {
    Texts values;
    if (failed(texts({OpFoldResult(branch.getCondition())}, values)))
      return failure();
    size_t place = steps_.size();
    add("branch", {}, values);
    if (failed(write(*branch.thenBlock())))
      return failure();
    auto body = static_cast<int64_t>(steps_.size() - place - 1);
    if (branch.elseBlock() && failed(write(*branch.elseBlock())))
      return failure();
    auto all = static_cast<int64_t>(steps_.size() - place - 1);
    steps_[place] = stepOf("branch", {}, values, body, all - body, "");
    return success();
  }

  LogicalResult writePut(Value source, Value destination, Value peer) {
    FailureOr<std::string> to = text(peer);
    FailureOr<ViewText> from = viewOf(source), target = viewOf(destination);
    if (failed(to) || failed(from) || failed(target))
      return failure();
    Texts values{*to, from->first, target->first};
    llvm::append_range(values, from->extents);
    llvm::append_range(values, from->strides);
    llvm::append_range(values, target->strides);
    touched_.insert(from->argument);
    touched_.insert(target->argument);
    add("put", {from->argument, target->argument}, values);
    return success();
  }

  template <class Op> LogicalResult writeNotify(Op op) {
    unsigned signals = argumentOf(op.getSignals());
    FailureOr<std::string> peer = op.getPeer() ? text(op.getPeer()) : std::string("r");
    FailureOr<std::string> cell = counter(op.getIndices(), signals), value = text(op.getValue());
    if (failed(peer) || failed(cell) || failed(value))
      return failure();
    bool adds = op.getMode() == device::NotifyMode::add;
    add(adds ? "notify add" : "notify set", {signals}, {*peer, *cell, *value});
    return success();
  }

  LogicalResult writeWait(device::WaitOp wait) {
    unsigned signals = argumentOf(wait.getSignals());
    FailureOr<std::string> cell = counter(wait.getIndices(), signals),
                           value = text(wait.getValue());
    if (failed(cell) || failed(value))
      return failure();
    add("wait", {signals}, {*cell, *value});
    return success();
  }

  LogicalResult writeRequire(core::RequireOp require) {
    SmallVector<OpFoldResult> needed{OpFoldResult(require.getCondition())};
    for (Value value : require.getValues())
      needed.push_back(value);
    Texts values;
    if (failed(texts(needed, values)))
      return failure();
    std::string place = core::placeOf(require->getLoc()).text();
    std::string message = (place.empty() ? "" : place + ": ") + require.getMessage().str();
    add("require", {}, values, 0, 0, message);
    return success();
  }

  func::FuncOp kernel_;
  OpBuilder b_;
  SmallVector<Attribute> steps_;
  ExtentText::Names names_;
  unsigned depth_ = 0; ///< of loops
  llvm::SmallDenseSet<unsigned> touched_;
};

/// Marks the symmetric memory that has one place in all launches.
void markFixed(func::FuncOp kernel, const llvm::SmallDenseSet<unsigned> &arguments) {
  Builder b(kernel.getContext());
  auto symmetric = kernel->getAttrOfType<ArrayAttr>(kSymmetricAttr);
  auto first = kernel.getNumArguments() - static_cast<unsigned>(symmetric.size());
  SmallVector<Attribute> marked;
  for (auto [n, attribute] : llvm::enumerate(symmetric)) {
    NamedAttrList one(cast<DictionaryAttr>(attribute));
    one.set("fixed", b.getBoolAttr(arguments.contains(first + static_cast<unsigned>(n))));
    marked.push_back(one.getDictionary(b.getContext()));
  }
  kernel->setAttr(kSymmetricAttr, b.getArrayAttr(marked));
}

class OutlineCopyRoles : public impl::OutlineCopyRolesBase<OutlineCopyRoles> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    SmallVector<device::RoleOp> roles = device::copyRoles(kernel);
    if (roles.empty())
      return;
    if (!kernel->hasAttr(kSymmetricAttr)) {
      kernel.emitError() << "has roles of copy engines and symmetric memory that is no argument; "
                            "expected what --lower-hoist-symmetric makes of it";
      return signalPassFailure();
    }
    if (failed(requireSignalMemory(kernel)))
      return signalPassFailure();
    ProgramWriter writer(kernel);
    for (device::RoleOp role : roles)
      if (failed(writer.write(role.getBody().front())))
        return signalPassFailure();
    kernel->setAttr(kCopyEnginesAttr, UnitAttr::get(&getContext()));
    kernel->setAttr(kCopyProgramAttr, writer.steps());
    markFixed(kernel, writer.touched());
    for (device::RoleOp role : roles)
      role.erase();
  }
};

} // namespace
} // namespace ditron::lower
