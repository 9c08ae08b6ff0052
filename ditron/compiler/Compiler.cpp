// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/Compiler.h"
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/compiler/Pipeline.h"
#include "ditron/core/KnownShape.h"
#include "ditron/core/Place.h"
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/lower/DescribeKernel.h"
#include "ditron/support/Error.h"
#include "ditron/targets/Targets.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <sys/stat.h>

using namespace mlir;

namespace ditron {

namespace {

/// Collects the errors of a compilation.
class Diagnostics {
public:
  explicit Diagnostics(MLIRContext *context)
      : handler_(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            add(diagnostic);
          return success();
        }) {}

  [[noreturn]] void raise(llvm::StringRef doing) const {
    throw CompileError(text_.empty() ? fmt::format("{} failed", doing.str()) : text_);
  }

private:
  void add(Diagnostic &diagnostic) {
    if (!text_.empty())
      text_ += "\n";
    if (std::string place = core::placeOf(diagnostic.getLocation()).text(); !place.empty())
      text_ += place + ": ";
    text_ += diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      add(note);
  }

  std::string text_;
  ScopedDiagnosticHandler handler_;
};

OwningOpRef<ModuleOp> specialize(ModuleOp module, const CompileRequest &request) {
  OwningOpRef<ModuleOp> copy(module.clone());
  Builder b(module.getContext());
  copy->walk([&](func::FuncOp function) {
    auto mark = [&](size_t n, StringRef attribute, Attribute value) {
      if (n < function.getNumArguments() && isa<MemRefType>(function.getArgument(n).getType()))
        function.setArgAttr(static_cast<unsigned>(n), attribute, value);
    };
    for (auto [n, isUnit] : llvm::enumerate(request.unitStride))
      if (isUnit)
        mark(n, core::kUnitStrideAttr, b.getUnitAttr());
    for (auto [n, argument] : llvm::enumerate(request.graphArguments)) {
      if (argument.isConstant)
        mark(n, core::kConstantAttr, b.getUnitAttr());
      if (argument.isLasting)
        mark(n, core::kLastingAttr, b.getUnitAttr());
      if (argument.isDense)
        mark(n, core::kDenseAttr, b.getUnitAttr());
      if (llvm::any_of(argument.extents,
                       [](int64_t extent) { return extent != core::kUnknownExtent; }))
        mark(n, core::kKnownExtentsAttr, b.getDenseI64ArrayAttr(argument.extents));
    }
    for (auto [n, bytes] : llvm::enumerate(request.alignment))
      if (bytes)
        mark(n, core::kAlignmentAttr, b.getI64IntegerAttr(bytes));
  });
  return copy;
}

/// What a kernel is made for: that of a graph multiplies by mma.sync, from what its threads load.
/// TMA and roles take operands that no task writes, by maps of arguments that are known.
CompileRequest fitted(ModuleOp module, CompileRequest request) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(device::kExactCoresAttr))
      request.tensorMaps = request.tensorStores = false;
  return request;
}

/// The kernel after the passes that it is emitted after: the front ones, or those of the target,
/// which `addTarget` adds.
OwningOpRef<ModuleOp> lowered(ModuleOp module, const CompileRequest &request,
                              const Diagnostics &diagnostics,
                              llvm::function_ref<void(OpPassManager &)> addTarget) {
  OwningOpRef<ModuleOp> kernel = specialize(module, request);
  DialectRegistry registry;
  registerTargetDialects(registry);
  module.getContext()->appendDialectRegistry(registry);
  PassManager passes(module.getContext());
  if (request.emit == Emit::ir)
    addFrontPipeline(passes);
  else
    addTarget(passes);
  if (failed(passes.run(*kernel)))
    diagnostics.raise("compilation");
  return kernel;
}

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

std::string printed(const llvm::Module &code) {
  std::string text;
  llvm::raw_string_ostream(text) << code;
  return text;
}

std::unique_ptr<llvm::Module> translate(ModuleOp kernel, const Target &target,
                                        llvm::LLVMContext &llvmContext,
                                        const Diagnostics &diagnostics) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  target.registerTranslations(registry);
  kernel.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(kernel, llvmContext);
  if (!code)
    diagnostics.raise("translation to LLVM IR");
  return code;
}

/// The description of a lowered kernel.
abi::KernelInfo infoOf(ModuleOp kernel, const CompileRequest &request) {
  std::vector<abi::KernelInfo> infos = lower::attachedInfos(kernel);
  if (infos.size() != 1)
    throw CompileError(fmt::format("the module has {} kernels, expected one", infos.size()));
  infos[0].target = request.target;
  return infos[0];
}

void addPipeline(OpPassManager &passes, const Target &target, const CompileRequest &request) {
  if (const gpu::GpuTarget *gpu = target.gpu())
    addGpuPipeline(passes, *gpu, request);
  else
    addCpuPipeline(passes, target.vectorTraits(), request);
}

} // namespace

std::vector<std::string> compileTargets() {
  std::vector<std::string> names;
  for (const Target *target : targets())
    names.emplace_back(target->name());
  return names;
}

abi::CompiledKernel compile(ModuleOp module, const CompileRequest &given, Resources *resources) {
  MemoryGuard guard;
  CompileRequest request = fitted(module, given);
  module.getContext()->printOpOnDiagnostic(false); // messages are for the user of the language
  const Target &target = targetNamed(request.target);
  Diagnostics diagnostics(module.getContext());
  auto addTarget = [&](OpPassManager &passes) { addPipeline(passes, target, request); };
  OwningOpRef<ModuleOp> kernel = lowered(module, request, diagnostics, addTarget);
  if (request.emit == Emit::ir)
    return {{}, printed(*kernel)};
  abi::KernelInfo info = infoOf(*kernel, request);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translate(*kernel, target, llvmContext, diagnostics);
  target.optimize(*code, info);
  if (request.emit == Emit::llvm)
    return {info, printed(*code)};
  bool isText =
      request.emit == Emit::assembly || (request.emit == Emit::code && target.launchesAssembly());
  return {info, isText ? target.assembly(*code, info) : target.object(*code, info, resources)};
}

std::string frontIr(ModuleOp module) {
  MemoryGuard guard;
  module.getContext()->printOpOnDiagnostic(false);
  Diagnostics diagnostics(module.getContext());
  OwningOpRef<ModuleOp> kernel =
      lowered(module, {.emit = Emit::ir}, diagnostics, [](OpPassManager &) {});
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().enableDebugInfo());
  return text;
}

GpuResources resourcesOf(ModuleOp module, const CompileRequest &given) {
  MemoryGuard guard;
  CompileRequest request = fitted(module, given);
  module.getContext()->printOpOnDiagnostic(false);
  Diagnostics diagnostics(module.getContext());
  GpuResources result;
  const gpu::GpuTarget &target = *targetNamed(request.target).gpu();
  auto addTiles = [&](OpPassManager &passes) { addGpuTiles(passes, target, request); };
  OwningOpRef<ModuleOp> kernel = lowered(module, request, diagnostics, addTiles);
  func::FuncOp function = gpu::kernelOf(*kernel);
  auto number = [&](StringRef attribute, int64_t otherwise) {
    auto value = function->getAttrOfType<IntegerAttr>(attribute);
    return value ? value.getInt() : otherwise;
  };
  result.threads = static_cast<int>(gpu::ownWarpsOf(function) * target.traits().lanes);
  result.sharedBytes = number(gpu::kSharedAttr, 0);
  result.ctasPerSm = number(gpu::kCtasPerSmAttr, 1);
  kernel->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto vector = dyn_cast<VectorType>(type); vector && vector.getElementType().isF32())
        result.values = std::max(result.values, vector.getNumElements());
  });
  return result;
}

std::string compilerIdentity() {
  // Another build of the compiler may make other code: this program's own file says which it is.
  struct stat self{};
  stat("/proc/self/exe", &self);
  return fmt::format("ditron {} build {}.{}.{} LLVM {} {}", DITRON_VERSION, self.st_size,
                     self.st_mtim.tv_sec, self.st_mtim.tv_nsec, LLVM_VERSION_STRING,
                     targetIdentity());
}

} // namespace ditron
