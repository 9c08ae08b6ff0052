// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM's code generator refuses is an error of ditron's, and the process goes on.
#include "ditron/support/Error.h"
#include "ditron/targets/nvidia/Chip.h"
#include "ditron/targets/nvidia/emit/NvidiaCode.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

namespace ditron::nvidia {
namespace {

TEST(Emission, WhatIsRefusedIsAnError) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString("target triple = \"nvptx64-nvidia-cuda\"\n"
                                          "define void @f(i32 %x) {\n"
                                          "  call void asm \"\", \"Z\"(i32 %x)\n"
                                          "  ret void\n"
                                          "}\n",
                                          problem, context);
  ASSERT_TRUE(module);
  try {
    emitPtx(*module, *findChip("sm_80"), {});
    ADD_FAILURE() << "there is no register for 'Z'";
  } catch (const InternalError &error) {
    EXPECT_NE(std::string(error.what()).find("constraint 'Z'"), std::string::npos) << error.what();
  }
}

} // namespace
} // namespace ditron::nvidia
