// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/CpuCode.h"
#include "ditron/lower/ToLLVM.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "ditron/targets/cpu/Sanitize.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include <fmt/format.h>
#include <mutex>

namespace ditron::cpu {

static void initializeLLVM() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

/// "+avx2,-avx512f,..." of this CPU.
static std::string hostFeatures() {
  std::string features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features += fmt::format("{}{}{}", features.empty() ? "" : ",", feature.second ? "+" : "-",
                            feature.first().str());
  return features;
}

/// The CPU to generate code for: DITRON_CPU, or this one.
static std::optional<std::string> chosenCpu() { return envString("DITRON_CPU"); }

/// UsageError unless LLVM knows the chosen CPU and this one has all of its features.
static void checkChosen(const llvm::Target &target, const std::string &triple,
                        const std::string &name) {
  std::unique_ptr<llvm::MCSubtargetInfo> known(target.createMCSubtargetInfo(triple, "", ""));
  if (!known->isCPUStringValid(name))
    throw UsageError(fmt::format("DITRON_CPU is '{}', expected a CPU that LLVM knows, such as "
                                 "x86-64-v2, x86-64-v3 or x86-64-v4",
                                 name));
  std::unique_ptr<llvm::MCSubtargetInfo> chosen(target.createMCSubtargetInfo(triple, name, ""));
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    if (!feature.second && chosen->checkFeatures(fmt::format("+{}", feature.first().str())))
      throw UsageError(fmt::format("DITRON_CPU is '{}', which has {}; this machine's CPU has not",
                                   name, feature.first().str()));
}

HostMachine::HostMachine() {
  initializeLLVM();
  std::string triple = llvm::sys::getProcessTriple(), problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    throw UnavailableError(fmt::format("no code generator for this CPU ({}): {}", triple, problem));
  std::optional<std::string> chosen = chosenCpu();
  if (chosen)
    checkChosen(*target, triple, *chosen);
  std::string cpu = chosen ? *chosen : llvm::sys::getHostCPUName().str();
  machine_.reset(target->createTargetMachine(
      triple, cpu, chosen ? "" : hostFeatures(), llvm::TargetOptions(), llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
}

HostMachine::~HostMachine() = default;

bool HostMachine::hasFeature(const char *feature) const {
  return machine_->getMCSubtargetInfo()->checkFeatures(fmt::format("+{}", feature));
}

int64_t HostMachine::vectorBytes() const {
  return hasFeature("avx512f") ? 64 : hasFeature("avx") ? 32 : 16;
}

bool HostMachine::multipliesPairs() const {
  return hasFeature("avx512f") && hasFeature("avx512bf16");
}

int64_t HostMachine::vectorRegisters() const { return hasFeature("avx512f") ? 32 : 16; }

std::string HostMachine::identity() {
  std::string cpu =
      chosenCpu().value_or(fmt::format("{} {}", llvm::sys::getHostCPUName().str(), hostFeatures()));
  return cpu + sanitizerIdentity();
}

static void addPasses(llvm::PassBuilder &builder, llvm::FunctionPassManager &passes,
                      llvm::StringRef text) {
  if (llvm::Error error = builder.parsePassPipeline(passes, text))
    throw InternalError(llvm::toString(std::move(error)));
}

/// What LLVM does to a kernel, which comes in vectors, its loops in order. Its default pipeline takes
/// twice as long for code that is no faster (docs/rationale/llvm-passes.md).
static llvm::ModulePassManager kernelPasses(llvm::PassBuilder &builder) {
  llvm::FunctionPassManager passes;
  addPasses(builder, passes,
            "sroa<modify-cfg>,early-cse<memssa>,"
            "simplifycfg,instcombine<no-verify-fixpoint>,"
            "loop-mssa(loop-rotate,licm),"
            "simplifycfg,instcombine<no-verify-fixpoint>,"
            "gvn,dse,adce");
  passes.addPass(llvm::LoopUnrollPass(
      llvm::LoopUnrollOptions(/*OptLevel=*/2, /*OnlyWhenForced=*/false, lower::kForgetsLoops)));
  addPasses(builder, passes,
            "instcombine<no-verify-fixpoint>,loop-mssa(licm),"
            "simplifycfg,instcombine<no-verify-fixpoint>");
  llvm::ModulePassManager module;
  module.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  return module;
}

void HostMachine::optimize(llvm::Module &module) const {
  module.setTargetTriple(machine_->getTargetTriple().str());
  module.setDataLayout(machine_->createDataLayout());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("prefer-vector-width", std::to_string(8 * vectorBytes()));
  markForSanitizer(module);
  llvm::PassBuilder builder(machine_.get());
  llvm::ModulePassManager passes = kernelPasses(builder);
  addSanitizerPasses(passes, machine_.get());
  lower::runPasses(module, builder, std::move(passes));
}

static std::string emitFile(llvm::TargetMachine &machine, llvm::Module &module,
                            llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    throw InternalError("the code generator emits no such file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

std::string HostMachine::emitAssembly(llvm::Module &module) const {
  return emitFile(*machine_, module, llvm::CodeGenFileType::AssemblyFile);
}

std::string HostMachine::emitObject(llvm::Module &module) const {
  return emitFile(*machine_, module, llvm::CodeGenFileType::ObjectFile);
}

//===-- Loading -------------------------------------------------------------------------------===//

struct LoadedCode::Jit {
  std::string problem; ///< what ORC would print
  std::unique_ptr<llvm::orc::LLJIT> engine;
};

template <class T> static T require(llvm::Expected<T> result) {
  if (!result)
    throw RuntimeError(
        fmt::format("cannot load a kernel's code: {}", llvm::toString(result.takeError())));
  return std::move(*result);
}

static void require(llvm::Error error) {
  if (error)
    throw RuntimeError(
        fmt::format("cannot load a kernel's code: {}", llvm::toString(std::move(error))));
}

/// The functions of the process that LLVM makes calls of: of memory, of arithmetic, of half floats on
/// older CPUs, of unwinding.
static constexpr llvm::StringLiteral kLibrary =
    "memcpy memmove memset memcmp bcmp "
    "fmod fmodf fma fmaf exp expf exp2 exp2f log logf log2 log2f sin sinf cos cosf "
    "pow powf floor floorf ceil ceilf trunc truncf rint rintf nearbyint nearbyintf "
    "round roundf roundeven roundevenf "
    "__truncsfhf2 __truncdfhf2 __extendhfsf2 __extendhfdf2 __truncsfbf2 __truncdfbf2 "
    "__gnu_h2f_ieee __gnu_f2h_ieee "
    "_Unwind_Resume __gcc_personality_v0";

/// Whether a kernel may call a function of the process. Code that comes from a file sees no other.
static bool isForKernels(const llvm::orc::SymbolStringPtr &name) {
  static const llvm::StringSet<> known = [] {
    llvm::SmallVector<llvm::StringRef> words;
    kLibrary.split(words, ' ');
    llvm::StringSet<> all;
    for (llvm::StringRef word : words)
      all.insert(word);
    return all;
  }();
  return known.contains(*name) || (*name).starts_with("__asan_") || (*name).starts_with("__tsan_");
}

LoadedCode::LoadedCode(const abi::CompiledKernel &compiled, const std::vector<Symbol> &symbols)
    : jit_(std::make_unique<Jit>()), info_(compiled.info) {
  initializeLLVM();
  llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(llvm::sys::getProcessTriple())};
  jit_->engine = require(llvm::orc::LLJITBuilder()
                             .setJITTargetMachineBuilder(std::move(machine))
                             .setLinkProcessSymbolsByDefault(false)
                             .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                             .create());
  llvm::orc::LLJIT &engine = *jit_->engine;
  engine.getExecutionSession().setErrorReporter(
      [jit = jit_.get()](llvm::Error error) { jit->problem = llvm::toString(std::move(error)); });
  llvm::orc::SymbolMap functions;
  for (const Symbol &symbol : symbols)
    functions[engine.mangleAndIntern(symbol.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(symbol.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  llvm::orc::JITDylib &library = engine.getMainJITDylib();
  require(library.define(llvm::orc::absoluteSymbols(std::move(functions))));
  library.addGenerator(require(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      engine.getDataLayout().getGlobalPrefix(), isForKernels)));
  require(engine.addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(compiled.code, "kernel")));
  llvm::Expected<llvm::orc::ExecutorAddr> entry = engine.lookup(info_.entry);
  if (!entry) {
    std::string problem = llvm::toString(entry.takeError());
    throw RuntimeError(fmt::format("cannot load a kernel's code: {}",
                                   jit_->problem.empty() ? problem : jit_->problem));
  }
  kernel_ = entry->toPtr<Kernel>();
}

LoadedCode::~LoadedCode() = default;

} // namespace ditron::cpu
