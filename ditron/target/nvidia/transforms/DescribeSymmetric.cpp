// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-describe-symmetric: the plan of a kernel's symmetric memory, which lower-hoist-symmetric
// wrote as a function, becomes text that a launch evaluates:
//
//   func.func @k_plan(%A: memref<?x?xf16, ...>, %extents: memref<?xi64>) attributes {dist.plan} {
//     %m = memref.dim %A, %c0 : ...
//     %t = arith.ceildivsi %m, %c128 : index
//     memref.store (%t as i64), %extents[%c0]
// becomes an attribute of the kernel:
//   nvidia.symmetric = [{name = "full", kind = "buffer", bytes = 2, extents = ["a0.0 c128
//   ceildiv"]}]
//
// An extent is in postfix: a0.1 is extent 1 of argument 0, s2 the integer argument 2, c5 a number,
// n the number of ranks, and the other words are operations on what stands before them. A kernel
// whose plan needs more than that is refused at the op. test/target/nvidia/symmetric.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/lower/Passes.h"
#include "ditron/target/nvidia/transforms/Passes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_DESCRIBESYMMETRIC
#include "ditron/target/nvidia/transforms/Passes.h.inc"

namespace {

/// The word of an operation in a plan; empty if it has none.
StringRef wordOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::AddIOp) { return "add"; })
      .Case([](arith::SubIOp) { return "sub"; })
      .Case([](arith::MulIOp) { return "mul"; })
      .Case<arith::DivSIOp, arith::DivUIOp>([](auto) { return "div"; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "rem"; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return "ceildiv"; })
      .Case([](arith::FloorDivSIOp) { return "floordiv"; })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return "min"; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return "max"; })
      .Case([](arith::SelectOp) { return "select"; })
      .Case([](arith::CmpIOp compare) {
        switch (compare.getPredicate()) {
        case arith::CmpIPredicate::eq:
          return "eq";
        case arith::CmpIPredicate::ne:
          return "ne";
        case arith::CmpIPredicate::slt:
        case arith::CmpIPredicate::ult:
          return "lt";
        case arith::CmpIPredicate::sle:
        case arith::CmpIPredicate::ule:
          return "le";
        case arith::CmpIPredicate::sgt:
        case arith::CmpIPredicate::ugt:
          return "gt";
        default:
          return "ge";
        }
      })
      .Default([](Operation *) { return ""; });
}

/// Writes values of a plan in postfix.
class PlanText {
public:
  LogicalResult add(Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return word("c" + std::to_string(constant.getSExtValue()));
    if (auto argument = dyn_cast<BlockArgument>(value))
      return word("s" + std::to_string(argument.getArgNumber()));
    Operation *op = value.getDefiningOp();
    if (isa<device::NumRanksOp>(op))
      return word("n");
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op))
      return add(op->getOperand(0));
    if (auto dim = dyn_cast<memref::DimOp>(op))
      if (auto n = dim.getConstantIndex())
        return addExtent(dim.getSource(), *n, op);
    StringRef name = wordOf(op);
    if (name.empty())
      return op->emitError() << "the extents of symmetric memory are computed by " << op->getName()
                             << ", which launches on GPUs cannot evaluate; expected arithmetic of "
                                "extents of arguments, integer arguments and the number of ranks";
    for (Value operand : op->getOperands())
      if (failed(add(operand)))
        return failure();
    return word(name);
  }

  const std::string &text() const { return text_; }

private:
  LogicalResult word(const Twine &next) {
    text_ += (text_.empty() ? "" : " ") + next.str();
    return success();
  }

  LogicalResult addFolded(OpFoldResult value) {
    if (auto constant = dyn_cast<Attribute>(value))
      return word("c" + std::to_string(cast<IntegerAttr>(constant).getInt()));
    return add(cast<Value>(value));
  }

  /// Extent n of a view: an argument, or what was cut of one.
  LogicalResult addExtent(Value view, int64_t n, Operation *user) {
    if (auto argument = dyn_cast<BlockArgument>(view))
      return word("a" + std::to_string(argument.getArgNumber()) + "." + std::to_string(n));
    if (auto split = view.getDefiningOp<memref::ExpandShapeOp>()) {
      Builder b(split.getContext());
      return addFolded(getMixedValues(split.getStaticOutputShape(), split.getOutputShape(),
                                      b)[static_cast<size_t>(n)]);
    }
    if (auto part = view.getDefiningOp<memref::SubViewOp>()) {
      llvm::SmallBitVector dropped = part.getDroppedDims();
      for (unsigned d = 0; d < dropped.size(); ++d)
        if (!dropped[d] && n-- == 0)
          return addFolded(part.getMixedSizes()[d]);
    }
    return user->emitError() << "the extents of symmetric memory are those of a view that launches "
                                "on GPUs cannot evaluate";
  }

  std::string text_;
};

class DescribeSymmetric : public impl::DescribeSymmetricBase<DescribeSymmetric> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> plans;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(lower::kPlanAttr))
        plans.push_back(function);
    for (func::FuncOp plan : plans) {
      StringRef name = plan.getName();
      name.consume_back("_plan");
      auto kernel = getOperation().lookupSymbol<func::FuncOp>(name);
      if (failed(describe(plan, kernel)))
        return signalPassFailure();
      plan.erase();
    }
  }

  LogicalResult describe(func::FuncOp plan, func::FuncOp kernel) {
    Builder b(&getContext());
    SmallVector<Attribute> extents; // of all requests
    for (auto store : plan.getOps<memref::StoreOp>()) {
      PlanText text;
      if (failed(text.add(store.getValueToStore())))
        return failure();
      extents.push_back(b.getStringAttr(text.text()));
    }
    ArrayRef<Attribute> rest = extents;
    SmallVector<Attribute> described;
    auto requests = kernel->getAttrOfType<ArrayAttr>(lower::kRequestsAttr);
    for (auto request : requests.getAsRange<DictionaryAttr>()) {
      auto rank = static_cast<size_t>(request.getAs<IntegerAttr>("rank").getInt());
      NamedAttrList entries(request);
      entries.erase("rank");
      entries.set("extents", b.getArrayAttr(rest.take_front(rank)));
      described.push_back(entries.getDictionary(&getContext()));
      rest = rest.drop_front(rank);
    }
    kernel->setAttr(kSymmetricAttr, b.getArrayAttr(described));
    return success();
  }
};

} // namespace
} // namespace ditron::nvidia
