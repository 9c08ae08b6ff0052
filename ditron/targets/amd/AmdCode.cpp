// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/amd/AmdCode.h"
#include "ditron/lower/ToLLVM.h"
#include "ditron/support/Error.h"
#include "ditron/targets/gpu/Tool.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELF.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include <fmt/format.h>
#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
}

namespace ditron::amd {

static std::unique_ptr<llvm::TargetMachine> machineFor(const Chip &chip) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser(); // objects with inline assembly need it
  });
  std::string triple = "amdgcn-amd-amdhsa", problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    throw UnavailableError("this build's LLVM makes no code for AMD GPUs: " + problem);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, std::string_view(chip.name), "", llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Quotients and roots of f32 may be off by what OpenCL allows: the code generator then has them
/// in a few instructions.
static void approximate(llvm::Module &module) {
  constexpr float kUlps = 2.5f;
  llvm::MDNode *accuracy = llvm::MDBuilder(module.getContext()).createFPMath(kUlps);
  auto isApproximate = [](const llvm::Instruction &one) {
    auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&one);
    return one.getOpcode() == llvm::Instruction::FDiv ||
           (call && call->getIntrinsicID() == llvm::Intrinsic::sqrt);
  };
  for (llvm::Function &function : module)
    for (llvm::Instruction &one : llvm::instructions(function))
      if (isApproximate(one) && one.getType()->getScalarType()->isFloatTy())
        one.setMetadata(llvm::LLVMContext::MD_fpmath, accuracy);
}

void optimize(llvm::Module &module, const Chip &chip) {
  constexpr uint32_t kCodeObjectVersion = 500;
  auto machine = machineFor(chip);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
  approximate(module);
  llvm::PassBuilder builder(machine.get(), lower::tuning());
  lower::runDefaultPipeline(module, builder, llvm::OptimizationLevel::O3);
  for (llvm::Function &function : module) // LLVM 19 selects none for values that a wavefront shares
    lower::dropFences(function);
}

std::string emitAssembly(llvm::Module &module, const Chip &chip) {
  return gpu::emitCode(module, *machineFor(chip), llvm::CodeGenFileType::AssemblyFile);
}

std::string emitObject(llvm::Module &module, const Chip &chip) {
  auto linker = gpu::findTool("DITRON_LLD", {"ld.lld-19", "ld.lld"},
                              {"/usr/lib/llvm-19/bin/ld.lld", "/opt/rocm/llvm/bin/ld.lld"});
  if (!linker)
    throw UnavailableError("ld.lld of LLVM is not found: a code object needs it (DITRON_LLD or "
                           "PATH says where it is); --emit asm gives assembly without it");
  std::string unlinked =
      gpu::emitCode(module, *machineFor(chip), llvm::CodeGenFileType::ObjectFile);
  gpu::ToolRun run =
      gpu::runTool(*linker, unlinked, "o", [](const std::string &input, const std::string &output) {
        return std::vector<std::string>{"-shared", "--no-undefined", "-o", output, input};
      });
  if (!run.succeeded)
    throw InternalError(fmt::format("ld.lld refuses the kernel:\n{}", run.said));
  return run.output;
}

//===-- Metadata ------------------------------------------------------------------------------===//

/// The description of the metadata's note; empty: there is none.
static llvm::StringRef metadataOf(llvm::StringRef object) {
  using File = llvm::object::ELFFile<llvm::object::ELF64LE>;
  File file = llvm::cantFail(File::create(object));
  for (const File::Elf_Shdr &section : llvm::cantFail(file.sections())) {
    if (section.sh_type != llvm::ELF::SHT_NOTE)
      continue;
    llvm::Error error = llvm::Error::success();
    llvm::StringRef found;
    for (const auto &note : file.notes(section, error))
      if (note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
        found = note.getDescAsStringRef(section.sh_addralign);
    llvm::cantFail(std::move(error));
    if (!found.empty())
      return found;
  }
  return {};
}

Resources resourcesOf(const std::string &object) {
  llvm::msgpack::Document document;
  llvm::StringRef text = metadataOf(object);
  if (text.empty() || !document.readFromBlob(text, /*Multi=*/false))
    throw InternalError("a code object without metadata");
  llvm::msgpack::MapDocNode kernel =
      document.getRoot().getMap()["amdhsa.kernels"].getArray()[0].getMap();
  auto number = [&](const char *name) {
    auto found = kernel.find(name);
    return found == kernel.end() ? 0 : static_cast<int64_t>(found->second.getUInt());
  };
  constexpr int64_t kRegisterBytes = 4;
  return {number(".vgpr_count"),
          number(".sgpr_count"),
          number(".agpr_count"),
          number(".group_segment_fixed_size"),
          kRegisterBytes * (number(".vgpr_spill_count") + number(".sgpr_spill_count")),
          number(".private_segment_fixed_size")};
}

} // namespace ditron::amd
