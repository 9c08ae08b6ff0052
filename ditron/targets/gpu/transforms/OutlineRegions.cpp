// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-outline-regions: phases of a kernel become regions, each with a plan of its own: its roles,
// its warps, its shared memory.
//
//   func.func @k(%X: memref<...>, ...) {
//     scf.for ... { products of X }          // tiles that TMA may load
//     simt.meet ...
//     scf.for ... { products of what the first phase wrote }
//   }
// becomes
//   func.func @k(%X: memref<...>, ...) {
//     simt.enter @k_region0(%X, ...)
//     simt.meet ...
//     simt.enter @k_region1(%X, ...)
//   }
//   func.func private @k_region0(%X: memref<...>, ...) attributes {simt.region} { scf.for ... }
//   func.func private @k_region1(%X: memref<...>, ...) attributes {simt.region} { scf.for ... }
//
// A region is a function, so the passes that follow plan it without knowing of the others.
// simt-join-regions gives all of them one CTA. A region begins with the kernel's arguments, and
// computes its views from them anew; numbers that a loop or a branch has found come as arguments
// behind those.
//
// A kernel is taken apart where the target has no roles for all of it, and has some for a phase:
// phases are the loops and branches of its body that have tiles. No tile goes from one to another.
// test/targets/nvidia/regions.mlir shows it.
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_OUTLINEREGIONS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

bool touchesTiles(Operation *op) {
  return llvm::any_of(op->getOperands(), [](Value v) { return isTile(v); }) ||
         llvm::any_of(op->getResults(), [](Value v) { return isTile(v); });
}

bool hasTiles(Operation &op) {
  return op
      .walk([](Operation *inner) {
        return touchesTiles(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a value outside of regions can be computed in each of them anew.
bool isRepeatable(Operation *op) { return isMemoryEffectFree(op) && op->getNumRegions() == 0; }

/// The phases of a kernel; none where they cannot be told apart.
SmallVector<Operation *> phasesOf(func::FuncOp kernel) {
  SmallVector<Operation *> phases;
  for (Operation &op : kernel.front()) {
    if (!hasTiles(op) || isRepeatable(&op))
      continue;
    if (op.getNumRegions() == 0 || op.getNumResults() > 0)
      return {};
    phases.push_back(&op);
  }
  return phases;
}

/// Makes a function of a phase, which the kernel enters in its place.
class Outliner {
public:
  Outliner(func::FuncOp kernel, Operation *phase, int64_t number)
      : kernel_(kernel), phase_(phase), number_(number), b_(kernel.getContext()) {}

  void run() {
    collect();
    func::FuncOp region = declare();
    fill(region);
    b_.setInsertionPoint(phase_);
    SmallVector<Value> operands(kernel_.getArguments());
    llvm::append_range(operands, passed_);
    b_.create<EnterOp>(phase_->getLoc(), region.getName(), operands);
    phase_->erase();
  }

private:
  /// What the phase takes from outside: ops to repeat, in order, and values to pass.
  void collect() {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(phase_->getRegions(), captured);
    captured.insert(phase_->operand_begin(), phase_->operand_end());
    for (Value value : captured)
      need(value);
  }

  void need(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !isRepeatable(op)) {
      if (!isa<BlockArgument>(value) || cast<BlockArgument>(value).getOwner() != &kernel_.front())
        passed_.insert(value);
      return;
    }
    if (repeated_.contains(op))
      return;
    for (Value operand : op->getOperands())
      need(operand);
    repeated_.insert(op);
  }

  func::FuncOp declare() {
    SmallVector<Type> types(kernel_.getArgumentTypes());
    for (Value value : passed_)
      types.push_back(value.getType());
    b_.setInsertionPointAfter(kernel_);
    auto region = b_.create<func::FuncOp>(phase_->getLoc(),
                                          (kernel_.getName() + "_region" + Twine(number_)).str(),
                                          b_.getFunctionType(types, {}));
    region.setPrivate();
    region->setAttr(kRegionAttr, b_.getUnitAttr());
    for (unsigned n = 0; n < kernel_.getNumArguments(); ++n)
      region.setArgAttrs(n, function_interface_impl::getArgAttrDict(kernel_, n));
    return region;
  }

  void fill(func::FuncOp region) {
    OpBuilder b = OpBuilder::atBlockBegin(region.addEntryBlock());
    IRMapping mapping;
    unsigned known = kernel_.getNumArguments();
    mapping.map(kernel_.getArguments(), region.getArguments().take_front(known));
    mapping.map(passed_.getArrayRef(), region.getArguments().drop_front(known));
    for (Operation *op : repeated_)
      b.clone(*op, mapping);
    b.clone(*phase_, mapping);
    b.create<func::ReturnOp>(phase_->getLoc());
  }

  func::FuncOp kernel_;
  Operation *phase_;
  int64_t number_;
  OpBuilder b_;
  llvm::SetVector<Operation *> repeated_;
  llvm::SetVector<Value> passed_;
};

void outline(func::FuncOp kernel) {
  for (auto [number, phase] : llvm::enumerate(phasesOf(kernel)))
    Outliner(kernel, phase, static_cast<int64_t>(number)).run();
}

class OutlineRegions : public impl::OutlineRegionsBase<OutlineRegions> {
public:
  using OutlineRegionsBase::OutlineRegionsBase;

private:
  void runOnOperation() override {
    const GpuTarget *target = targetNamed(targetName, getOperation());
    if (!target)
      return signalPassFailure();
    CompileRequest request{.schedule = {.warps = int(warps), .ctasPerSm = int(ctasPerSm)},
                           .tensorMaps = tensorMaps};
    for (func::FuncOp kernel : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (int64_t warpsOfCta = warpsWhereItPays(kernel, *target, request)) {
        outline(kernel);
        for (func::FuncOp region : regionsOf(kernel))
          region->setAttr(kMostWarpsAttr, Builder(kernel).getI64IntegerAttr(warpsOfCta));
      }
  }

  /// The warps of a CTA whose regions have roles; 0 where the kernel is to stay as it is.
  static int64_t warpsWhereItPays(func::FuncOp kernel, const GpuTarget &target,
                                  const CompileRequest &request) {
    if (kernel.isExternal() || kernel->hasAttr(kClusterAttr) || phasesOf(kernel).size() < 2 ||
        target.products(kernel, request)->producerWarps() > 0)
      return 0;
    OwningOpRef<ModuleOp> trial(ModuleOp::create(kernel.getLoc()));
    auto copy = cast<func::FuncOp>(kernel->clone());
    trial->push_back(copy);
    outline(copy);
    int64_t most = 0;
    for (func::FuncOp region : regionsOf(copy)) {
      std::unique_ptr<Products> products = target.products(region, request);
      if (products->producerWarps() > 0)
        most = std::max(most, products->warps() + products->producerWarps());
    }
    return most;
  }
};

} // namespace
} // namespace ditron::gpu
