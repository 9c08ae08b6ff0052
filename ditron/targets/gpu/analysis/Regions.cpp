// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::gpu {

SmallVector<func::FuncOp> regionsOf(func::FuncOp kernel) {
  SmallVector<func::FuncOp> regions;
  auto module = kernel->getParentOfType<ModuleOp>();
  kernel.walk([&](Operation *op) {
    StringRef name;
    if (auto entry = dyn_cast<EnterOp>(op))
      name = entry.getRegion();
    else if (auto call = dyn_cast<func::CallOp>(op))
      name = call.getCallee();
    auto callee = module && !name.empty() ? module.lookupSymbol<func::FuncOp>(name) : nullptr;
    if (callee && isRegion(callee))
      regions.push_back(callee);
  });
  return regions;
}

func::FuncOp kernelOf(ModuleOp module) {
  auto kernels = llvm::to_vector(llvm::make_filter_range(
      module.getOps<func::FuncOp>(), [](func::FuncOp one) { return !isRegion(one); }));
  if (kernels.size() == 1)
    return kernels[0];
  module.emitError() << "has " << kernels.size() << " functions, expected the kernel alone";
  return nullptr;
}

int64_t ownWarpsOf(func::FuncOp function) {
  auto number = [&](StringRef name) {
    auto value = function->getAttrOfType<IntegerAttr>(name);
    return value ? value.getInt() : 0;
  };
  return number(kWarpsAttr) + number(kProducerWarpsAttr);
}

int64_t ctaWarpsOf(func::FuncOp function) {
  auto warps = function->getAttrOfType<IntegerAttr>(kCtaWarpsAttr);
  return warps ? warps.getInt() : ownWarpsOf(function);
}

int64_t alternativeOf(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto number = op->getAttrOfType<IntegerAttr>(device::kAlternativeAttr))
      return number.getInt();
  return -1;
}

bool isExit(Operation *op) {
  auto branch = dyn_cast<scf::IfOp>(op);
  return branch && branch->getNumResults() == 0 && !branch.elseBlock() &&
         !branch.thenBlock()->getOps<LLVM::InlineAsmOp>().empty();
}

} // namespace ditron::gpu
