// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's own passes instrument what they know: scalars, vectors of up to 16 bytes, atomics, memcpy.
// The thread sanitizer's passes over wider vectors and masked ones in silence, and the address
// sanitizer's makes a branch a lane of a mask. Those, which are most of a kernel, get here one call
// each with the bytes that are accessed:
//
//   %v = masked.load(%p, %mask)
// becomes
//   if (any of %mask) __tsan_read_range(%p, 4 * lanes of %mask)
//   %v = masked.load(%p, %mask), !nosanitize
#include "ditron/targets/cpu/Sanitize.h"
#include "ditron/support/Sanitizer.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/CodeGen/AtomicExpand.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace ditron::cpu {

namespace {

constexpr bool kThread = kSanitizer == Sanitizer::thread;

/// Additions of floats become loops of atomic exchanges here and not in the code generator, so that
/// the sanitizer's pass sees them. LLVM starts such a loop with a plain load.
class ExpandAtomics : public llvm::PassInfoMixin<ExpandAtomics> {
public:
  explicit ExpandAtomics(llvm::TargetMachine *machine) : expand_(machine) {}

  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    llvm::SmallPtrSet<llvm::Instruction *, 32> before;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      before.insert(&instruction);
    llvm::PreservedAnalyses preserved = expand_.run(function, analyses);
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
          load && !load->isAtomic() && !before.contains(load))
        load->setAtomic(llvm::AtomicOrdering::Monotonic);
    return preserved;
  }
  static bool isRequired() { return true; }

private:
  llvm::AtomicExpandPass expand_;
};

class VectorAccesses : public llvm::PassInfoMixin<VectorAccesses> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
    llvm::SmallVector<llvm::Instruction *> accesses;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isWide(instruction) || isMasked(instruction))
        accesses.push_back(&instruction);
    for (llvm::Instruction *access : accesses) {
      check(access);
      access->setNoSanitizeMetadata();
    }
    return accesses.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  static uint64_t bytesOf(llvm::Instruction &access, llvm::Type *type) {
    return access.getModule()->getDataLayout().getTypeStoreSize(type);
  }

  /// A load or store of a size that LLVM's passes have no function for.
  static bool isWide(llvm::Instruction &access) {
    if (!llvm::isa<llvm::LoadInst, llvm::StoreInst>(access))
      return false;
    uint64_t bytes = bytesOf(access, llvm::getLoadStoreType(&access));
    return bytes > 16 || !llvm::isPowerOf2_64(bytes);
  }

  static bool isMasked(llvm::Instruction &access) {
    auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&access);
    if (!intrinsic)
      return false;
    switch (intrinsic->getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_gather:
    case llvm::Intrinsic::masked_scatter:
      return true;
    default:
      return false;
    }
  }

  void check(llvm::Instruction *access) {
    llvm::IRBuilder<> b(access);
    auto *masked = llvm::dyn_cast<llvm::IntrinsicInst>(access);
    if (!masked) {
      uint64_t bytes = bytesOf(*access, llvm::getLoadStoreType(access));
      return report(access, llvm::getLoadStorePointerOperand(access), b.getInt64(bytes));
    }
    bool isWrite = masked->getType()->isVoidTy();
    llvm::Value *address = masked->getArgOperand(isWrite ? 1 : 0);
    llvm::Value *mask = masked->getArgOperand(isWrite ? 3 : 2);
    llvm::Type *type = isWrite ? masked->getArgOperand(0)->getType() : masked->getType();
    auto *vector = llvm::cast<llvm::FixedVectorType>(type);
    llvm::Value *element = b.getInt64(bytesOf(*access, vector->getElementType()));
    unsigned lanes = vector->getNumElements();
    if (!address->getType()->isVectorTy()) {
      // The lanes that a tile masks off are its last ones.
      llvm::Value *bits = b.CreateBitCast(mask, b.getIntNTy(lanes));
      llvm::Value *count =
          b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, b.CreateZExt(bits, b.getInt64Ty()));
      return reportIf(b.CreateIsNotNull(bits), access, address, b.CreateMul(count, element));
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
      b.SetInsertPoint(access);
      llvm::Value *isOn = b.CreateExtractElement(mask, lane);
      reportIf(isOn, access, b.CreateExtractElement(address, lane), element);
    }
  }

  void reportIf(llvm::Value *condition, llvm::Instruction *access, llvm::Value *address,
                llvm::Value *bytes) {
    report(llvm::SplitBlockAndInsertIfThen(condition, access, /*Unreachable=*/false), address,
           bytes, access->mayWriteToMemory());
  }
  void report(llvm::Instruction *access, llvm::Value *address, llvm::Value *bytes) {
    report(access, address, bytes, llvm::isa<llvm::StoreInst>(access));
  }
  void report(llvm::Instruction *before, llvm::Value *address, llvm::Value *bytes, bool isWrite) {
    const char *name = kThread ? (isWrite ? "__tsan_write_range" : "__tsan_read_range")
                               : (isWrite ? "__asan_storeN" : "__asan_loadN");
    llvm::IRBuilder<> b(before);
    auto callee =
        before->getModule()->getOrInsertFunction(name, b.getVoidTy(), b.getPtrTy(), b.getInt64Ty());
    b.CreateCall(callee, {address, bytes});
  }
};

} // namespace

std::string sanitizerIdentity() {
  if (kSanitizer == Sanitizer::none)
    return "";
  return kThread ? " under the thread sanitizer" : " under the address sanitizer";
}

void markForSanitizer(llvm::Module &module) {
  if (kSanitizer == Sanitizer::none)
    return;
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(kThread ? llvm::Attribute::SanitizeThread
                               : llvm::Attribute::SanitizeAddress);
    function.addFnAttr("frame-pointer", "all"); // for the stacks of reports
  }
  // Red zones around globals would be set up by a constructor, which the loader does not run; the
  // globals of a kernel are constant texts that only the runtime reads.
  for (llvm::GlobalVariable &global : module.globals())
    global.setNoSanitizeMetadata();
}

void addSanitizerPasses(llvm::ModulePassManager &passes, llvm::TargetMachine *machine) {
  if (kSanitizer == Sanitizer::none)
    return;
  llvm::FunctionPassManager functions;
  functions.addPass(ExpandAtomics(machine));
  functions.addPass(VectorAccesses());
  if (kThread)
    functions.addPass(llvm::ThreadSanitizerPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  if (kThread)
    return;
  llvm::AddressSanitizerOptions options;
  options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
  passes.addPass(llvm::AddressSanitizerPass(options, /*UseGlobalGC=*/false,
                                            /*UseOdrIndicator=*/false, llvm::AsanDtorKind::None,
                                            llvm::AsanCtorKind::None));
}

} // namespace ditron::cpu
