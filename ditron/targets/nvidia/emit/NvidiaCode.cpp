// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/emit/NvidiaCode.h"
#include "ditron/lower/ToLLVM.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "ditron/targets/gpu/Tool.h"
#include "ditron/targets/nvidia/emit/Assembly.h"
#include "ditron/targets/nvidia/emit/LatePasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <fmt/format.h>
#include <mutex>
#include <regex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace ditron::nvidia {

static std::unique_ptr<llvm::TargetMachine> machineFor(const Chip &chip) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string triple = "nvptx64-nvidia-cuda", problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    throw UnavailableError("this build's LLVM makes no code for NVIDIA GPUs: " + problem);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, std::string_view(chip.name), std::string_view(chip.features), llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Barriers, shuffles and products are for all threads together: no branch may grow around them.
static void markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
        call->setConvergent();
}

static bool isWarpgroupProduct(const llvm::Instruction &instruction) {
  return isAssembly(instruction, "wgmma.mma_async");
}

/// Whether a loop has no effect but on numbers: what it reads is better read several at a time.
static bool isOfNumbers(const llvm::Loop &loop) {
  return llvm::all_of(loop.blocks(), [](const llvm::BasicBlock *block) {
    return llvm::none_of(*block, [](const llvm::Instruction &one) {
      return one.mayHaveSideEffects() || assemblyOf(one);
    });
  });
}

/// The registers of products of warpgroups are to stay where they are from one iteration of a loop
/// to the next; where iterations are copied, by LLVM or by the assembler, they move.
static void keepLoops(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration() || llvm::none_of(llvm::instructions(function), isWarpgroupProduct))
      continue;
    llvm::DominatorTree tree(function);
    llvm::LoopInfo loops(tree);
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
      if (!isOfNumbers(*loop))
        loop->setLoopAlreadyUnrolled();
  }
}

void optimize(llvm::Module &module, const Chip &chip, const abi::KernelInfo &info) {
  bool isOfGraph = !info.exactCores.empty();
  auto machine = machineFor(chip);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  markConvergent(module);
  keepLoops(module);
  llvm::PassBuilder builder(machine.get(), lower::tuning());
  builder.registerOptimizerLastEPCallback(
      [=](llvm::ModulePassManager &passes, llvm::OptimizationLevel) {
        llvm::FunctionPassManager late;
        late.addPass(TakeNarrowSumsApart());
        late.addPass(TakeVectorsApart());
        late.addPass(ShareMasks());
        late.addPass(PlaceLoads());
        if (isOfGraph)
          late.addPass(ComputeInTasks());
        late.addPass(CloseBranches());
        passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(late)));
      });
  lower::runDefaultPipeline(module, builder, llvm::OptimizationLevel::O3);
}

std::string emitPtx(llvm::Module &module, const Chip &chip, const abi::KernelInfo &info) {
  std::string ptx = gpu::emitCode(module, *machineFor(chip), llvm::CodeGenFileType::AssemblyFile);
  return fmt::format("// ditron {}\n{}", abi::toText(info), ptx);
}

//===-- ptxas ---------------------------------------------------------------------------------===//

std::optional<std::string> findAssembler() {
  if (auto home = envString("CUDA_HOME"); home && !envString("DITRON_PTXAS"))
    if (std::string own = *home + "/bin/ptxas"; llvm::sys::fs::can_execute(own))
      return own;
  return gpu::findTool("DITRON_PTXAS", {"ptxas"}, {"/usr/local/cuda/bin/ptxas"});
}

static int64_t numberBefore(const std::string &report, const char *words) {
  std::smatch found;
  return std::regex_search(report, found, std::regex(fmt::format("([0-9]+) {}", words)))
             ? std::stoll(found[1])
             : 0;
}

/// Ends a compilation that ptxas has refused, with what it said: whose mistake it is, or what it lacks.
[[noreturn]] static void refuse(const std::string &assembler, const Chip &chip,
                                llvm::StringRef said) {
  said = said.trim();
  if (said.contains("Ptx assembly aborted") && !said.contains("Unsupported .version"))
    throw InternalError(fmt::format("ptxas refuses the kernel:\n{}", said.str()));
  throw UnavailableError(fmt::format(
      "{} does not assemble for {}: it said '{}', expected a ptxas of CUDA 12.4 or newer "
      "(DITRON_PTXAS, CUDA_HOME or PATH says where it is); --emit asm gives PTX without it",
      assembler, chip.name, said.split('\n').first.str()));
}

std::string assemble(const std::string &ptx, const Chip &chip, Resources *resources) {
  std::optional<std::string> assembler = findAssembler();
  if (!assembler)
    throw UnavailableError("ptxas of CUDA is not found: a cubin needs it (DITRON_PTXAS, CUDA_HOME "
                           "or PATH says where it is); --emit asm gives PTX without it");
  gpu::ToolRun run = gpu::runTool(
      *assembler, ptx, "ptx", [&](const std::string &input, const std::string &output) {
        return std::vector<std::string>{fmt::format("-arch={}", chip.name), "-v", "-o", output,
                                        input};
      });
  if (!run.succeeded)
    refuse(*assembler, chip, run.said);
  if (resources)
    *resources = {.registers = numberBefore(run.said, "registers"),
                  .sharedBytes = numberBefore(run.said, "bytes smem"),
                  .spilledBytes = numberBefore(run.said, "bytes spill stores"),
                  .stackBytes = numberBefore(run.said, "bytes stack frame")};
  return run.output;
}

} // namespace ditron::nvidia
