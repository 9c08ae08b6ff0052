// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/warpspec/Searches.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/analysis/Projection.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;

namespace ditron::nvidia {

namespace {

constexpr StringLiteral kSearchAttr = "nvidia.search";
constexpr int64_t kSlots = 4; ///< that the producer is ahead, in iterations of the loop around

bool isSearch(scf::ForOp loop) {
  if (!loop.getNumResults() || !loop->getParentOfType<scf::ForOp>() || !Projection::isScalar(loop))
    return false;
  WalkResult result = loop.walk([](Operation *inner) {
    return gpu::isExit(inner) ? WalkResult::interrupt() : WalkResult::advance();
  });
  bool isOfNumbers =
      llvm::all_of(loop.getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
  return isOfNumbers && !result.wasInterrupted();
}

/// The marked loops of a role by their number.
llvm::DenseMap<int64_t, scf::ForOp> markedIn(Region &role) {
  llvm::DenseMap<int64_t, scf::ForOp> result;
  role.walk([&](scf::ForOp loop) {
    if (auto number = loop->getAttrOfType<IntegerAttr>(kSearchAttr)) {
      result[number.getInt()] = loop;
      loop->removeAttr(kSearchAttr);
    }
  });
  return result;
}

} // namespace

Searches::Searches(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (!isSearch(loop))
      return WalkResult::advance();
    loop->setAttr(kSearchAttr, Builder(function).getI64IntegerAttr(count_++));
    return WalkResult::skip();
  });
}

int64_t Searches::bytes() const {
  constexpr int64_t kPiece = 1024; // of shared memory
  return count_ * kPiece;
}

void Searches::connect(Region &producer, Region &consumer, ImplicitLocOpBuilder &b) const {
  llvm::DenseMap<int64_t, scf::ForOp> finds = markedIn(producer), asks = markedIn(consumer);
  for (int64_t n = 0; n < count_; ++n) {
    scf::ForOp found = finds.lookup(n), asked = asks.lookup(n);
    if (!found || !asked)
      continue;
    SmallVector<Value> sent, wanted;
    for (auto [here, there] : llvm::zip(found.getResults(), asked.getResults()))
      if (!there.use_empty()) {
        sent.push_back(here);
        wanted.push_back(there);
      }
    if (!wanted.empty()) {
      SmallVector<Type> types(ValueRange(wanted).getTypes());
      Value queue = b.create<QueueOp>(QueueType::get(b.getContext(), kSlots, types));
      OpBuilder(found->getBlock(), std::next(found->getIterator()))
          .create<EnqueueOp>(found.getLoc(), queue, sent);
      auto received = OpBuilder(asked).create<DequeueOp>(asked.getLoc(), types, queue);
      for (auto [before, after] : llvm::zip(wanted, received.getNumbers()))
        before.replaceAllUsesWith(after);
    }
    asked.erase();
  }
}

} // namespace ditron::nvidia
