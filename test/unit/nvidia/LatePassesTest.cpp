// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes over the code of a thread: where loads stand, and what masks compare.
#include "ditron/targets/nvidia/emit/LatePasses.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ditron::nvidia {
namespace {

class LatePasses : public testing::Test {
protected:
  /// The function of this text after a pass.
  template <class Pass> const llvm::Function &after(Pass pass, const std::string &text) {
    llvm::SMDiagnostic problem;
    module_ = llvm::parseAssemblyString(text, problem, context_);
    if (!module_)
      throw std::runtime_error(problem.getMessage().str());
    llvm::Function &function = *module_->begin();
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager graph;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graph, modules);
    pass.run(function, functions);
    EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
    return function;
  }

  /// "l" of each load of global memory, "s" of each store, "b" of each barrier, in order.
  static std::string order(const llvm::Function &function) {
    std::string letters;
    for (const llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm()) {
        auto *assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
        letters += assembly->getAsmString().substr(0, 1);
      }
    return letters;
  }

private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

std::string load(int n, const std::string &address) {
  return fmt::format("%l{0} = call i32 asm \"ld.global.b32 $0, [$1];\", \"=r,l\"(i64 {1})\n", n,
                     address);
}

std::string store(int n, const std::string &value) {
  return fmt::format("%y{0} = add i64 %y, {1}\ncall void asm sideeffect \"st.global.b32 [$0], "
                     "$1;\", \"l,r\"(i64 %y{0}, i32 {2})\n",
                     n, 4 * n, value);
}

/// All are read, all multiplied, all stored: a row whose weights are read behind a barrier.
std::string weighted(int count) {
  std::string text = "define void @f(i64 %w, i64 %y, i32 %x) {\n"
                     "call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"()\n";
  for (int n = 0; n < count; ++n)
    text += fmt::format("%w{0} = add i64 %w, {1}\n", n, 4 * n) + load(n, fmt::format("%w{}", n));
  for (int n = 0; n < count; ++n)
    text += fmt::format("%p{0} = mul i32 %l{0}, %x\n", n);
  for (int n = 0; n < count; ++n)
    text += store(n, fmt::format("%p{}", n));
  return text + "ret void\n}\n";
}

TEST_F(LatePasses, LoadsComeBetweenStores) {
  EXPECT_EQ(order(after(PlaceLoads(), weighted(20))),
            "b" + std::string(16, 'l') + "slslslsl" + std::string(16, 's'));
  EXPECT_EQ(order(after(PlaceLoads(), weighted(3))), "blllsss");
}

/// What another block uses is not read between stores of this one.
TEST_F(LatePasses, LoadsOfAnotherBlockStay) {
  std::string text = "define void @f(i64 %w, i64 %y) {\n", stores;
  for (int n = 0; n < 20; ++n) {
    text += fmt::format("%w{0} = add i64 %w, {1}\n", n, 4 * n) + load(n, fmt::format("%w{}", n));
    stores += store(n, fmt::format("%l{}", n));
  }
  text += "br label %next\nnext:\n" + stores + "ret void\n}\n";
  EXPECT_EQ(order(after(PlaceLoads(), text)), std::string(20, 'l') + std::string(20, 's'));
}

TEST_F(LatePasses, VectorsAreTakenApart) {
  std::string text = "define void @f(i64 %w, i64 %y, <2 x float> %x) {\n";
  text += load(0, "%w") + "%w1 = add i64 %w, 4\n" + load(1, "%w1");
  text += "%v0 = insertelement <2 x i32> poison, i32 %l0, i64 0\n"
          "%v1 = insertelement <2 x i32> %v0, i32 %l1, i64 1\n"
          "%f = bitcast <2 x i32> %v1 to <2 x float>\n"
          "%g = call <2 x float> @llvm.arithmetic.fence.v2f32(<2 x float> %f)\n"
          "%p = fmul <2 x float> %g, %x\n"
          "%q = bitcast <2 x float> %p to <2 x i32>\n"
          "%q0 = extractelement <2 x i32> %q, i64 0\n"
          "%q1 = extractelement <2 x i32> %q, i64 1\n";
  text += store(0, "%q0") + store(1, "%q1") + "ret void\n}\n";
  const llvm::Function &function = after(
      TakeVectorsApart(), text + "declare <2 x float> @llvm.arithmetic.fence.v2f32(<2 x float>)\n");
  EXPECT_EQ(order(function), "llss");
  int vectors = 0;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    vectors += instruction.getType()->isVectorTy();
  EXPECT_EQ(vectors, 0);
}

TEST_F(LatePasses, NarrowSumsAreComputedOneByOne) {
  const llvm::Function &function =
      after(TakeNarrowSumsApart(), "define <3 x i16> @f(<3 x i16> %x, <3 x i16> %y) {\n"
                                   "%a = add <3 x i16> %x, <i16 -1, i16 -1, i16 -1>\n"
                                   "%b = sub <3 x i16> %a, %y\n"
                                   "%c = xor <3 x i16> %b, %y\n"
                                   "ret <3 x i16> %c\n}\n");
  int sums = 0;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (llvm::is_contained({llvm::Instruction::Add, llvm::Instruction::Sub},
                           instruction.getOpcode())) {
      EXPECT_TRUE(instruction.getType()->isIntegerTy(16));
      ++sums;
    }
  EXPECT_EQ(sums, 6);
}

TEST_F(LatePasses, SidesOfBranchesEndTogether) {
  auto count = [&](const std::string &access) {
    const llvm::Function &function =
        after(CloseBranches(),
              "define void @f(i64 %y, i32 %x, i1 %p, i1 %q) {\nbr i1 %q, label %a, label %b\n"
              "a:\n" +
                  access + "br label %c\nb:\nbr label %c\nc:\n" + access + "ret void\n}\n");
    return llvm::count_if(llvm::instructions(function), [](const llvm::Instruction &one) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&one);
      auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      return text && text->getAsmString() == "pmevent 0;";
    });
  };
  EXPECT_EQ(count("call void asm sideeffect \"@$2 st.global.b32 [$0], $1;\", \"l,r,b\""
                  "(i64 %y, i32 %x, i1 %p)\n"),
            1);
  EXPECT_EQ(count("call void asm sideeffect \"st.global.b32 [$0], $1;\", \"l,r\""
                  "(i64 %y, i32 %x)\n"),
            0);
}

/// What a load needs may stand behind a store and not move: the load stays behind it.
TEST_F(LatePasses, LoadsWaitForTheirAddress) {
  std::string text = "define void @f(i64 %w, i64 %y, ptr %p) {\n";
  text += load(0, "%w") + store(0, "%l0");
  text += "%a = load i64, ptr %p\n%b = add i64 %a, 8\n";
  text += load(1, "%b") + store(1, "%l1") + "ret void\n}\n";
  EXPECT_EQ(order(after(PlaceLoads(), text)), "lsls");
}

TEST_F(LatePasses, LoadsWithEffectsStay) {
  std::string text = "define void @f(i64 %w, i64 %y) {\n";
  for (int n = 0; n < 20; ++n)
    text += fmt::format("%l{0} = call i32 asm sideeffect \"ld.global.b32 $0, [$1];\", "
                        "\"=r,l\"(i64 %w)\n",
                        n);
  for (int n = 0; n < 20; ++n)
    text += store(n, fmt::format("%l{}", n));
  EXPECT_EQ(order(after(PlaceLoads(), text + "ret void\n}\n")),
            std::string(20, 'l') + std::string(20, 's'));
}

/// Comparisons of a function, and the constants that are compared with.
std::multiset<int64_t> compared(const llvm::Function &function) {
  std::multiset<int64_t> constants;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) {
      auto *with = llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1));
      constants.insert(
          with && compare->getPredicate() == llvm::CmpInst::ICMP_SGT ? with->getSExtValue() : -1);
    }
  return constants;
}

/// Uses of `base + n < extent` for n in `added`.
std::string masks(const std::string &base, const std::string &extent, const std::vector<int> &added,
                  const char *flags = "nuw nsw") {
  std::string text =
      "define void @f(i32 %t, i32 %e, ptr %p) {\n%base = " + base + "\n%extent = " + extent + "\n";
  for (int n : added)
    text += fmt::format("%s{0} = add {1} i32 %base, {0}\n%c{0} = icmp ult i32 %s{0}, %extent\n"
                        "store volatile i1 %c{0}, ptr %p\n",
                        n, flags);
  return text + "ret void\n}\n";
}

TEST_F(LatePasses, MasksCompareWithConstants) {
  std::string thread = "and i32 %t, 255", extent = "and i32 %e, 2147483647";
  EXPECT_EQ(compared(after(ShareMasks(), masks(thread, extent, {1, 256, 512}))),
            (std::multiset<int64_t>{1, 256, 512}));
  // Multiples of 8, and of 16: one comparison for each 8.
  EXPECT_EQ(compared(after(ShareMasks(), masks("and i32 %t, 2040", "and i32 %e, 2147483632",
                                               {1, 2, 7, 8, 9, 2048, 2055}))),
            (std::multiset<int64_t>{0, 8, 2048}));
}

TEST_F(LatePasses, MasksOfUnknownNumbersStay) {
  std::string thread = "and i32 %t, 255", extent = "and i32 %e, 2147483647";
  std::multiset<int64_t> unchanged{-1, -1};
  EXPECT_EQ(compared(after(ShareMasks(), masks(thread, "xor i32 %e, 1", {1, 2}))), unchanged);
  EXPECT_EQ(compared(after(ShareMasks(), masks("xor i32 %t, 1", extent, {1, 2}))), unchanged);
  EXPECT_EQ(compared(after(ShareMasks(), masks(thread, extent, {1, 2}, ""))), unchanged);
}

/// A loop over tasks: those of one type store a bound of the launch, those of another one do so in a loop.
std::string tasks(const std::string &bound) {
  return "define void @f(i64 %extent, i64 %shared, i64 %n, ptr %p) {\n"
         "entry:\n%low = and i64 %extent, 31\n%bound = " +
         bound +
         "\nbr label %task\n"
         "task:\n%t = phi i64 [0, %entry], [%u, %end]\n%is = icmp eq i64 %t, 7\n"
         "br i1 %is, label %plain, label %before\n"
         "plain:\nstore volatile i64 %bound, ptr %p\nbr label %end\n"
         "before:\nbr label %inner\n"
         "inner:\n%k = phi i64 [0, %before], [%l, %inner]\nstore volatile i64 %bound, ptr %p\n"
         "%l = add i64 %k, 1\n%more = icmp slt i64 %l, %n\nbr i1 %more, label %inner, label %end\n"
         "end:\n%u = add i64 %t, 1\n%go = icmp slt i64 %u, %n\n"
         "br i1 %go, label %task, label %done\ndone:\nret void\n}\n";
}

/// The blocks that have an instruction.
std::multiset<std::string> blocksWith(const llvm::Function &function, unsigned opcode) {
  std::multiset<std::string> blocks;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (instruction.getOpcode() == opcode)
      blocks.insert(instruction.getParent()->getName().str());
  return blocks;
}

TEST_F(LatePasses, TasksComputeWhatFollowsFromTheLaunch) {
  using Blocks = std::multiset<std::string>;
  const llvm::Function &function = after(ComputeInTasks(), tasks("mul i64 %low, 12"));
  // In the task, but in front of its loop.
  EXPECT_EQ(blocksWith(function, llvm::Instruction::Mul), (Blocks{"before", "plain"}));
  EXPECT_EQ(blocksWith(function, llvm::Instruction::And), (Blocks{"before", "plain"}));
}

TEST_F(LatePasses, WhatIsReadOrTakesLongIsComputedOnce) {
  using Blocks = std::multiset<std::string>;
  EXPECT_EQ(
      blocksWith(after(ComputeInTasks(), tasks("udiv i64 %low, %shared")), llvm::Instruction::UDiv),
      Blocks{"entry"});
  EXPECT_EQ(blocksWith(after(ComputeInTasks(), tasks("load i64, ptr %p")), llvm::Instruction::Load),
            Blocks{"entry"});
}

} // namespace
} // namespace ditron::nvidia
