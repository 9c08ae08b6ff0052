// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code that comes from a file can reach.
#include "ditron/support/Error.h"
#include "ditron/targets/cpu/CpuCode.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

namespace ditron {
namespace {

/// A kernel whose one instruction calls a function.
abi::CompiledKernel callerOf(const std::string &function) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString("declare void @" + function +
                                              "()\n"
                                              "define void @ditron_kernel(ptr %0, ptr %1) {\n"
                                              "  call void @" +
                                              function +
                                              "()\n"
                                              "  ret void\n"
                                              "}\n",
                                          problem, context);
  cpu::HostMachine machine;
  machine.optimize(*module);
  abi::CompiledKernel kernel;
  kernel.info.entry = "ditron_kernel";
  kernel.code = machine.emitObject(*module);
  return kernel;
}

int calls = 0;
void called() { ++calls; }

TEST(LoadedCode, CallsTheRuntime) {
  cpu::LoadedCode code(callerOf("ditron_called"),
                       {{"ditron_called", reinterpret_cast<void *>(&called)}});
  code.kernel()(nullptr, nullptr);
  EXPECT_EQ(calls, 1);
}

TEST(LoadedCode, CallsTheLibraryForMemoryAndArithmetic) {
  for (const char *function : {"memcpy", "memset", "expf", "fmod"})
    EXPECT_NE(cpu::LoadedCode(callerOf(function), {}).kernel(), nullptr) << function;
}

TEST(LoadedCode, CallsNothingElseOfTheProcess) {
  for (const char *function : {"system", "abort", "getenv", "mprotect"})
    EXPECT_THROW(cpu::LoadedCode(callerOf(function), {}), RuntimeError) << function;
}

} // namespace
} // namespace ditron
