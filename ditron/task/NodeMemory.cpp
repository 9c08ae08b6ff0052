// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/NodeMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::task {

NodeMemory::NodeMemory(func::FuncOp type, std::string name) : type_(type), name_(std::move(name)) {
  for (Operation &op : type.front())
    if (isa<device::SymmetricOp, device::SignalsOp, device::InboxOp>(op))
      requests_.push_back(&op);
}

bool NodeMemory::isOfInboxes() const {
  bool meets = func::FuncOp(type_)
                   .walk([](device::BarrierOp) { return WalkResult::interrupt(); })
                   .wasInterrupted();
  return !meets && llvm::all_of(requests_, llvm::IsaPred<device::InboxOp>);
}

/// A value of the type's kernel, computed of what a node passes.
static mlir::Value computed(ImplicitLocOpBuilder &b, mlir::Value value, IRMapping &mapping) {
  if (mapping.contains(value))
    return mapping.lookup(value);
  Operation *op = value.getDefiningOp();
  // An extent of symmetric memory is what it was declared with.
  if (auto dim = dyn_cast<memref::DimOp>(op))
    if (auto buffer = dim.getSource().getDefiningOp<device::SymmetricOp>()) {
      auto number = static_cast<size_t>(*dim.getConstantIndex());
      mapping.map(value, computed(b, buffer.getExtents()[number], mapping));
      return mapping.lookup(value);
    }
  for (mlir::Value operand : op->getOperands())
    computed(b, operand, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

mlir::Value NodeMemory::largest(ImplicitLocOpBuilder &b, mlir::Value extent,
                                ArrayRef<SmallVector<mlir::Value>> nodes) const {
  mlir::Value result;
  for (const SmallVector<mlir::Value> &node : nodes) {
    IRMapping mapping;
    for (auto [argument, given] : llvm::zip(func::FuncOp(type_).getArguments(), node))
      if (given)
        mapping.map(argument, given);
    mlir::Value mine = computed(b, extent, mapping);
    result = result ? b.createOrFold<arith::MaxSIOp>(result, mine) : mine;
  }
  return result;
}

void NodeMemory::declare(ImplicitLocOpBuilder &b, ArrayRef<SmallVector<mlir::Value>> nodes) {
  for (Operation *request : requests_) {
    SmallVector<mlir::Value> extents{
        b.create<arith::ConstantIndexOp>(static_cast<int64_t>(nodes.size()))};
    for (mlir::Value extent : request->getOperands())
      extents.push_back(largest(b, extent, nodes));
    StringAttr name =
        b.getStringAttr(name_ + "." + request->getAttrOfType<StringAttr>("name").getValue());
    auto rank = static_cast<int64_t>(extents.size());
    if (isa<device::SignalsOp>(request)) {
      all_[request] = b.create<device::SignalsOp>(
          device::SignalsType::get(b.getContext(), static_cast<unsigned>(rank)), name, extents);
      continue;
    }
    if (auto box = dyn_cast<device::InboxOp>(request)) {
      auto tile = cast<device::InboxType>(box.getInbox().getType()).getTile();
      all_[request] = b.create<device::InboxOp>(device::InboxType::get(b.getContext(), rank, tile),
                                                name, extents);
      continue;
    }
    auto type = cast<MemRefType>(request->getResult(0).getType());
    all_[request] = b.create<device::SymmetricOp>(
        device::viewType(rank, type.getElementType(), device::SpaceKind::symmetric), name, extents);
  }
}

bool NodeMemory::enter(ImplicitLocOpBuilder &b, Operation &op, mlir::Value node,
                       IRMapping &mapping) const {
  auto found = all_.find(&op);
  if (found == all_.end())
    return false;
  mlir::Value part = found->second;
  if (auto type = dyn_cast<MemRefType>(op.getResult(0).getType())) {
    SmallVector<OpFoldResult> offsets{node}, sizes{b.getIndexAttr(1)},
        strides(static_cast<size_t>(type.getRank()) + 1, b.getIndexAttr(1));
    for (mlir::Value extent : op.getOperands()) {
      offsets.push_back(b.getIndexAttr(0));
      sizes.push_back(mapping.lookupOrDefault(extent));
    }
    part = b.create<memref::SubViewOp>(type, part, offsets, sizes, strides);
  }
  mapping.map(op.getResult(0), part);
  return true;
}

void NodeMemory::address(Operation *body, mlir::Value node) const {
  auto isShared = [&](mlir::Value memory) {
    return llvm::any_of(all_, [&](const auto &entry) { return entry.second == memory; });
  };
  auto prepend = [&](auto verb, mlir::Value memory) {
    if (!isShared(memory))
      return;
    SmallVector<mlir::Value> indices{node};
    llvm::append_range(indices, verb.getIndices());
    verb.getIndicesMutable().assign(indices);
  };
  body->walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<device::WaitOp, device::NotifyOp, device::PutNotifyOp>(
            [&](auto verb) { prepend(verb, verb.getSignals()); })
        .Case<device::SendOp, device::ReceiveOp>([&](auto verb) { prepend(verb, verb.getInbox()); })
        .Default([](Operation *) {});
  });
}

} // namespace ditron::task
