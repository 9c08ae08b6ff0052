// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/emit/LatePasses.h"
#include "ditron/lower/ToLLVM.h"
#include "ditron/targets/nvidia/emit/Assembly.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/KnownBits.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"

namespace ditron::nvidia {

static bool hasProducts(const llvm::Function &function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction &instruction) {
    return isAssembly(instruction, "mma");
  });
}

static bool isFreeLoad(const llvm::Instruction &instruction) {
  return isAssembly(instruction, "ld.global") && !assemblyOf(instruction)->hasSideEffects();
}

//===-- Vectors -------------------------------------------------------------------------------===//

static bool isNarrowSum(const llvm::Instruction &instruction) {
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
  unsigned operation = instruction.getOpcode();
  return type && type->getElementType()->isIntegerTy() && type->getScalarSizeInBits() <= 16 &&
         (operation == llvm::Instruction::Add || operation == llvm::Instruction::Sub);
}

static llvm::Value *elementByElement(llvm::BinaryOperator &sum) {
  llvm::IRBuilder<> b(&sum);
  llvm::Value *all = llvm::PoisonValue::get(sum.getType());
  unsigned count = llvm::cast<llvm::FixedVectorType>(sum.getType())->getNumElements();
  for (unsigned n = 0; n < count; ++n) {
    auto element = [&](unsigned operand) {
      return b.CreateExtractElement(sum.getOperand(operand), n);
    };
    llvm::Value *one = b.CreateBinOp(sum.getOpcode(), element(0), element(1));
    all = b.CreateInsertElement(all, one, n);
  }
  return all;
}

llvm::PreservedAnalyses TakeNarrowSumsApart::run(llvm::Function &function,
                                                 llvm::FunctionAnalysisManager &) {
  bool isChanged = false;
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
    if (isNarrowSum(instruction)) {
      auto &sum = llvm::cast<llvm::BinaryOperator>(instruction);
      sum.replaceAllUsesWith(elementByElement(sum));
      sum.eraseFromParent();
      isChanged = true;
    }
  return isChanged ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

llvm::PreservedAnalyses TakeVectorsApart::run(llvm::Function &function,
                                              llvm::FunctionAnalysisManager &analyses) {
  if (hasProducts(function) || llvm::none_of(llvm::instructions(function), isFreeLoad))
    return llvm::PreservedAnalyses::all();
  lower::dropFences(function); // vectors are not taken apart there
  return llvm::ScalarizerPass().run(function, analyses);
}

//===-- Masks ---------------------------------------------------------------------------------===//

static void shareMask(llvm::ICmpInst &compare, const llvm::DataLayout &layout) {
  using namespace llvm::PatternMatch;
  llvm::Value *base = nullptr, *extent = compare.getOperand(1);
  const llvm::APInt *added = nullptr;
  llvm::Value *sum = compare.getOperand(0);
  bool isSum = match(sum, m_NUWAdd(m_Value(base), m_APInt(added))) ||
               match(sum, m_DisjointOr(m_Value(base), m_APInt(added)));
  if (!isSum || compare.getPredicate() != llvm::CmpInst::ICMP_ULT || added->isNegative())
    return;
  llvm::KnownBits ofBase = computeKnownBits(base, layout);
  llvm::KnownBits ofExtent = computeKnownBits(extent, layout);
  if (!ofBase.isNonNegative() || !ofExtent.isNonNegative())
    return;
  unsigned shared = std::min(ofBase.countMinTrailingZeros(), ofExtent.countMinTrailingZeros());
  llvm::APInt first = *added;
  first.clearLowBits(std::min(shared, first.getBitWidth()));
  llvm::IRBuilder<> b(&compare);
  compare.setOperand(0, b.CreateNSWSub(extent, base));
  compare.setOperand(1, b.getInt(first));
  compare.setPredicate(llvm::CmpInst::ICMP_SGT);
}

llvm::PreservedAnalyses ShareMasks::run(llvm::Function &function,
                                        llvm::FunctionAnalysisManager &analyses) {
  if (hasProducts(function))
    return llvm::PreservedAnalyses::all();
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction))
      shareMask(*compare, function.getDataLayout());
  analyses.invalidate(function, llvm::PreservedAnalyses::none());
  llvm::EarlyCSEPass().run(function, analyses);
  analyses.invalidate(function, llvm::PreservedAnalyses::none());
  return llvm::ADCEPass().run(function, analyses);
}

//===-- Order ---------------------------------------------------------------------------------===//

/// Whether an instruction may be anywhere between what it uses and what uses it.
static bool mayMove(const llvm::Instruction &instruction) {
  return isFreeLoad(instruction) ||
         !(instruction.mayHaveSideEffects() || instruction.mayReadFromMemory() ||
           llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) || instruction.isTerminator());
}

/// The first user in the instruction's block; the block's end if there is none in it.
static llvm::Instruction *firstUser(llvm::Instruction &instruction) {
  llvm::Instruction *first = instruction.getParent()->getTerminator();
  for (llvm::User *user : instruction.users()) {
    auto *other = llvm::cast<llvm::Instruction>(user);
    if (other->getParent() == instruction.getParent() && !llvm::isa<llvm::PHINode>(other) &&
        other->comesBefore(first))
      first = other;
  }
  return first;
}

/// Puts each of these right in front of its first use, the last one first.
static void sink(llvm::ArrayRef<llvm::Instruction *> instructions) {
  for (llvm::Instruction *instruction : llvm::reverse(instructions))
    if (mayMove(*instruction))
      instruction->moveBefore(firstUser(*instruction));
}

/// What an instruction needs of those from an earlier one on, itself the last; nothing, where one
/// of them may not move.
static llvm::SmallVector<llvm::Instruction *> neededFrom(llvm::Instruction &instruction,
                                                         const llvm::Instruction &place) {
  if (instruction.comesBefore(&place))
    return {};
  llvm::SetVector<llvm::Instruction *> needed;
  needed.insert(&instruction);
  for (size_t n = 0; n < needed.size(); ++n) {
    if (!mayMove(*needed[n]))
      return {};
    for (llvm::Value *operand : needed[n]->operands())
      if (auto *one = llvm::dyn_cast<llvm::Instruction>(operand);
          one && one->getParent() == place.getParent() && !one->comesBefore(&place))
        needed.insert(one);
  }
  llvm::SmallVector<llvm::Instruction *> all = needed.takeVector();
  llvm::sort(all, [](auto *a, auto *b) { return a->comesBefore(b); });
  return all;
}

/// Puts an instruction, with what it needs, in front of an earlier one: of the one behind that, if
/// it is needed itself.
static void hoist(llvm::Instruction &instruction, llvm::Instruction *&place) {
  for (llvm::Instruction *needed : neededFrom(instruction, *place))
    if (needed == place)
      place = place->getNextNode();
    else
      needed->moveBefore(place);
}

/// Words that a load gives.
static int64_t wordsOf(const llvm::Instruction &load) {
  auto *words = llvm::dyn_cast<llvm::StructType>(load.getType());
  return words ? words->getNumElements() : 1;
}

/// Brings free loads forward, as many as have at most `most` words under way together.
static void readAhead(llvm::Instruction *first, int64_t most) {
  struct Load {
    llvm::Instruction *load;
    llvm::Instruction *effect; ///< the first one behind it, before which its words are used
  };
  llvm::SmallVector<Load> loads;
  llvm::SmallVector<llvm::Instruction *> waiting;
  for (auto &instruction : llvm::make_range(first->getIterator(), first->getParent()->end())) {
    if (isFreeLoad(instruction)) {
      waiting.push_back(&instruction);
    } else if (!mayMove(instruction)) {
      for (llvm::Instruction *load : waiting)
        loads.push_back({load, &instruction});
      waiting.clear();
    }
  }
  int64_t words = 0;
  llvm::Instruction *place = first;
  for (size_t n = 0, oldest = 0; n < loads.size(); ++n) {
    words += wordsOf(*loads[n].load);
    for (; words > most && oldest < n; ++oldest) {
      words -= wordsOf(*loads[oldest].load);
      place = loads[oldest].effect->getNextNode();
      if (!place) // behind the block's end is no place
        return;
    }
    hoist(*loads[n].load, place);
  }
}

/// Orders what comes behind the last effect in front of the block's first free load.
static void order(llvm::BasicBlock &block) {
  constexpr int64_t kWords = 16; // ahead
  auto load = llvm::find_if(block, isFreeLoad);
  if (load == block.end())
    return;
  auto first = load;
  while (first != block.begin() && mayMove(*std::prev(first)))
    --first;
  auto *before = first == block.begin() ? nullptr : &*std::prev(first);
  llvm::SmallVector<llvm::Instruction *> all;
  for (llvm::Instruction &instruction : llvm::make_range(first, block.end()))
    all.push_back(&instruction);
  sink(all);
  readAhead(before ? before->getNextNode() : &block.front(), kWords);
}

llvm::PreservedAnalyses PlaceLoads::run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
  if (hasProducts(function))
    return llvm::PreservedAnalyses::all();
  for (llvm::BasicBlock &block : function)
    order(block);
  return llvm::PreservedAnalyses::none();
}

//===-- Tasks ---------------------------------------------------------------------------------===//

namespace {

/// Computes again, in one loop, what was computed in front of it.
class InTasks {
public:
  InTasks(llvm::Loop &tasks, llvm::LoopInfo &loops) : tasks_(tasks), loops_(loops) {}

  void run() {
    llvm::SmallVector<llvm::Use *> uses;
    for (llvm::BasicBlock *block : tasks_.blocks())
      for (llvm::Instruction &instruction : *block)
        for (llvm::Use &use : instruction.operands())
          if (isOutside(use.get()) && !isGiven(use.get()) && isCheap(use.get(), kDepth))
            uses.push_back(&use);
    for (llvm::Use *use : uses)
      if (llvm::Instruction *place = placeFor(*use))
        use->set(computed(*llvm::cast<llvm::Instruction>(use->get()), place));
  }

private:
  static constexpr int kDepth = 16; ///< operations, one behind the other

  bool isOutside(llvm::Value *value) const {
    auto *instruction = llvm::dyn_cast<llvm::Instruction>(value);
    return instruction && !tasks_.contains(instruction);
  }

  /// What a core knows from the beginning: arguments of the kernel, also as pointers, of which LLVM knows that
  /// they are global then, and the number of the thread.
  static bool isGiven(llvm::Value *value) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(value);
    auto *pointer = llvm::dyn_cast<llvm::IntToPtrInst>(value);
    return llvm::isa<llvm::Argument>(value) ||
           (pointer && llvm::isa<llvm::Argument>(pointer->getOperand(0))) ||
           (call && call->getParent()->isEntryBlock() && call->getType()->isIntegerTy(32));
  }

  /// Whether a value is that of a few operations on what is given and constants.
  static bool isCheap(llvm::Value *value, int depth) {
    if (llvm::isa<llvm::Constant>(value) || isGiven(value))
      return true;
    auto *instruction = llvm::dyn_cast<llvm::Instruction>(value);
    bool isPlain = llvm::isa_and_nonnull<llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst,
                                         llvm::SelectInst, llvm::GetElementPtrInst>(instruction);
    if (auto *call = llvm::dyn_cast_or_null<llvm::IntrinsicInst>(instruction))
      isPlain = llvm::is_contained({llvm::Intrinsic::smin, llvm::Intrinsic::smax,
                                    llvm::Intrinsic::umin, llvm::Intrinsic::umax},
                                   call->getIntrinsicID());
    if (!isPlain || depth == 0 || llvm::isa<llvm::VectorType>(value->getType()))
      return false;
    switch (instruction->getOpcode()) {
    case llvm::Instruction::SDiv:
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SRem:
    case llvm::Instruction::URem:
      return false;
    default:
      return llvm::all_of(instruction->operands(), [&](llvm::Value *operand) {
        return llvm::isa<llvm::Function>(operand) || isCheap(operand, depth - 1);
      });
    }
  }

  /// In front of the loop in a task that the use is in, or of its block; null: nowhere.
  llvm::Instruction *placeFor(llvm::Use &use) {
    auto *user = llvm::cast<llvm::Instruction>(use.getUser());
    llvm::BasicBlock *block = user->getParent();
    if (auto *phi = llvm::dyn_cast<llvm::PHINode>(user)) {
      block = phi->getIncomingBlock(use);
      if (!tasks_.contains(block))
        return nullptr;
    }
    llvm::Loop *loop = loops_.getLoopFor(block);
    while (loop != &tasks_ && loop->getParentLoop() != &tasks_)
      loop = loop->getParentLoop();
    if (loop != &tasks_) {
      block = loop->getLoopPreheader();
      if (!block)
        return nullptr;
    }
    return places_.try_emplace(block, &*block->getFirstInsertionPt()).first->second;
  }

  llvm::Value *computed(llvm::Instruction &instruction, llvm::Instruction *place) {
    if (llvm::Value *known = computed_.lookup({&instruction, place->getParent()}))
      return known;
    llvm::Instruction *copy = instruction.clone();
    for (llvm::Use &operand : copy->operands())
      if (isGiven(operand.get()))
        operand.set(taken(operand.get(), place));
      else if (auto *before = llvm::dyn_cast<llvm::Instruction>(operand.get()))
        operand.set(computed(*before, place));
    copy->insertBefore(place->getIterator());
    return computed_[{&instruction, place->getParent()}] = copy;
  }

  /// What is given, as of that place: no pass takes it for what was known in front of the loop.
  llvm::Value *taken(llvm::Value *given, llvm::Instruction *place) {
    llvm::Type *type = given->getType();
    if (!type->isIntegerTy(32) && !type->isIntegerTy(64))
      return given;
    llvm::Value *&known = computed_[{given, place->getParent()}];
    if (!known) {
      auto *form = llvm::FunctionType::get(type, {type}, false);
      const char *constraints = type->isIntegerTy(32) ? "=r,0" : "=l,0";
      known = llvm::IRBuilder<>(place).CreateCall(
          form, llvm::InlineAsm::get(form, "", constraints, true), {given});
    }
    return known;
  }

  llvm::Loop &tasks_;
  llvm::LoopInfo &loops_;
  llvm::DenseMap<std::pair<llvm::Value *, llvm::BasicBlock *>, llvm::Value *> computed_;
  llvm::DenseMap<llvm::BasicBlock *, llvm::Instruction *>
      places_; ///< in front of all that was there
};

} // namespace

llvm::PreservedAnalyses ComputeInTasks::run(llvm::Function &function,
                                            llvm::FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<llvm::LoopAnalysis>(function);
  for (llvm::Loop *loop : loops.getTopLevelLoops())
    if (!loop->isInnermost())
      InTasks(*loop, loops).run();
  analyses.invalidate(function, llvm::PreservedAnalyses::none());
  return llvm::ADCEPass().run(function, analyses);
}

//===-- Branches ------------------------------------------------------------------------------===//

/// Whether it is an access of the threads for which a predicate holds.
static bool isOfSomeThreads(const llvm::Instruction &instruction) {
  const llvm::InlineAsm *text = assemblyOf(instruction);
  return text && llvm::StringRef(text->getAsmString()).starts_with("@");
}

/// Whether a block is a side of a branch, whose other one goes on at the same place.
static bool isSide(const llvm::BasicBlock &block) {
  auto *branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  return branch && branch->isUnconditional() && !branch->getSuccessor(0)->getSinglePredecessor();
}

llvm::PreservedAnalyses CloseBranches::run(llvm::Function &function,
                                           llvm::FunctionAnalysisManager &) {
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(function.getContext()), false);
  auto *event = llvm::InlineAsm::get(type, "pmevent 0;", "", /*hasSideEffects=*/true);
  for (llvm::BasicBlock &block : function)
    if (isSide(block) && llvm::any_of(block, isOfSomeThreads))
      llvm::IRBuilder<>(block.getTerminator()).CreateCall(type, event);
  return llvm::PreservedAnalyses::none();
}

} // namespace ditron::nvidia
