// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/Compiler.h"
#include "ditron/compiler/Pipeline.h"
#include "ditron/core/Place.h"
#include "ditron/core/TileOps.h"
#include "ditron/support/Error.h"
#include "ditron/targets/Targets.h"
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"
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

OwningOpRef<ModuleOp> specialize(ModuleOp module, const Specialization &specialization) {
  OwningOpRef<ModuleOp> copy(module.clone());
  Builder b(module.getContext());
  copy->walk([&](func::FuncOp function) {
    auto mark = [&](size_t n, StringRef attribute, Attribute value) {
      if (n < function.getNumArguments() && isa<MemRefType>(function.getArgument(n).getType()))
        function.setArgAttr(static_cast<unsigned>(n), attribute, value);
    };
    for (auto [n, isUnit] : llvm::enumerate(specialization.unitStride))
      if (isUnit)
        mark(n, core::kUnitStrideAttr, b.getUnitAttr());
    for (auto [n, bytes] : llvm::enumerate(specialization.alignment))
      if (bytes)
        mark(n, core::kAlignmentAttr, b.getI64IntegerAttr(bytes));
  });
  return copy;
}

/// The kernel after the passes that it is emitted after: the front ones, or those of the target,
/// which `addTarget` adds.
OwningOpRef<ModuleOp> lowered(ModuleOp module, const Specialization &specialization, Emit emit,
                              const Diagnostics &diagnostics,
                              llvm::function_ref<void(OpPassManager &)> addTarget) {
  OwningOpRef<ModuleOp> kernel = specialize(module, specialization);
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  DialectRegistry registry;
  registerTargetDialects(registry);
  module.getContext()->appendDialectRegistry(registry);
  if (emit == Emit::ir)
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

} // namespace

std::string compileForCpu(ModuleOp module, const Specialization &specialization, Emit emit) {
  MLIRContext *context = module.getContext();
  context->printOpOnDiagnostic(false); // messages are for the user of the language
  Diagnostics diagnostics(context);
  const Target &host = *targets().front();
  auto addTarget = [&](OpPassManager &passes) {
    addCpuPipeline(passes, host.vectorTraits(), specialization.recorded);
  };
  OwningOpRef<ModuleOp> kernel = lowered(module, specialization, emit, diagnostics, addTarget);
  if (emit == Emit::ir)
    return printed(*kernel);

  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translate(*kernel, host, llvmContext, diagnostics);
  host.optimize(*code);
  switch (emit) {
  case Emit::assembly:
    return host.assembly(*code, "");
  case Emit::object:
    return host.object(*code, "");
  default:
    break;
  }
  return printed(*code);
}

/// What a launch on several ranks needs to know of a kernel.
static llvm::json::Object describeRanks(ModuleOp module) {
  auto textOf = [](DictionaryAttr one, StringRef name) {
    return one.getAs<StringAttr>(name).str();
  };
  llvm::json::Array symmetric, sites;
  if (auto requests = module->getAttrOfType<ArrayAttr>(gpu::kSymmetricAttr))
    for (auto one : requests.getAsRange<DictionaryAttr>()) {
      llvm::json::Array extents;
      for (auto extent : one.getAs<ArrayAttr>("extents").getAsRange<StringAttr>())
        extents.push_back(extent.str());
      symmetric.push_back(llvm::json::Object{{"name", textOf(one, "name")},
                                             {"kind", textOf(one, "kind")},
                                             {"bytes", one.getAs<IntegerAttr>("bytes").getInt()},
                                             {"extents", std::move(extents)}});
    }
  for (auto one : module->getAttrOfType<ArrayAttr>(gpu::kSitesAttr).getAsRange<DictionaryAttr>())
    sites.push_back(llvm::json::Object{{"role", textOf(one, "role")},
                                       {"file", textOf(one, "file")},
                                       {"what", textOf(one, "what")},
                                       {"line", one.getAs<IntegerAttr>("line").getInt()}});
  return llvm::json::Object{
      {"symmetric", std::move(symmetric)},
      {"sites", std::move(sites)},
      {"barriers", module->getAttrOfType<IntegerAttr>(gpu::kBarriersAttr).getInt()}};
}

/// The first line of a kernel's assembly.
static std::string describe(ModuleOp module, StringRef name) {
  auto number = [&](StringRef attribute) {
    return module->getAttrOfType<IntegerAttr>(attribute).getInt();
  };
  llvm::json::Array requirements;
  for (auto one :
       module->getAttrOfType<ArrayAttr>(gpu::kRequirementsAttr).getAsRange<DictionaryAttr>())
    requirements.push_back(llvm::json::Object{{"message", one.getAs<StringAttr>("message").str()},
                                              {"file", one.getAs<StringAttr>("file").str()},
                                              {"line", one.getAs<IntegerAttr>("line").getInt()}});
  llvm::json::Array maps;
  for (auto one :
       module->getAttrOfType<ArrayAttr>(gpu::kTensorMapsAttr).getAsRange<DictionaryAttr>())
    maps.push_back(llvm::json::Object{
        {"argument", one.getAs<IntegerAttr>("argument").getInt()},
        {"box", llvm::json::Array(one.getAs<DenseI64ArrayAttr>("box").asArrayRef())},
        {"tf32", one.contains("tf32")}});
  llvm::json::Array singly;
  for (auto argument :
       module->getAttrOfType<ArrayAttr>(gpu::kReadSinglyAttr).getAsRange<IntegerAttr>())
    singly.push_back(argument.getInt());
  llvm::json::Object info{{"kernel", name.str()},
                          {"threads", number(gpu::kThreadsAttr)},
                          {"shared_bytes", number(gpu::kSharedAttr)},
                          {"requirements", std::move(requirements)},
                          {"tensor_maps", std::move(maps)},
                          {"read_singly", std::move(singly)}};
  if (module->hasAttr(gpu::kDistributedAttr))
    info["ranks"] = describeRanks(module);
  if (auto tiles = module->getAttrOfType<ArrayAttr>(gpu::kTilesAttr)) {
    llvm::json::Array counts;
    for (auto count : tiles.getAsRange<StringAttr>())
      counts.push_back(count.str());
    info["tiles"] = std::move(counts);
  }
  if (auto cluster = module->getAttrOfType<IntegerAttr>(gpu::kClusterAttr))
    info["cluster"] = cluster.getInt();
  if (module->hasAttr(gpu::kOverlapsAttr))
    info["overlaps"] = true;
  std::string text;
  llvm::raw_string_ostream(text) << "// ditron " << llvm::json::Value(std::move(info)) << "\n";
  return text;
}

static CodeOptions optionsOf(const NvidiaTarget &target, const Specialization &specialization) {
  return {target.warps, target.stages, target.resident, specialization.tensorMaps,
          specialization.tensorStores};
}

std::string compileForNvidia(ModuleOp module, const Specialization &specialization,
                             const NvidiaTarget &target, Emit emit, Resources *resources) {
  MLIRContext *context = module.getContext();
  context->printOpOnDiagnostic(false);
  Diagnostics diagnostics(context);
  std::string name = (*module.getOps<func::FuncOp>().begin()).getName().str();
  const Target &chip = targetNamed(target.chip);
  auto addTarget = [&](OpPassManager &passes) {
    addGpuPipeline(passes, *chip.gpu(), optionsOf(target, specialization));
  };
  OwningOpRef<ModuleOp> kernel = lowered(module, specialization, emit, diagnostics, addTarget);
  if (emit == Emit::ir)
    return printed(*kernel);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translate(*kernel, chip, llvmContext, diagnostics);
  chip.optimize(*code);
  if (emit == Emit::llvm)
    return printed(*code);
  std::string info = describe(*kernel, name);
  return emit == Emit::assembly ? chip.assembly(*code, info) : chip.object(*code, info, resources);
}

NvidiaResources resourcesForNvidia(ModuleOp module, const Specialization &specialization,
                                   const NvidiaTarget &target) {
  MLIRContext *context = module.getContext();
  context->printOpOnDiagnostic(false);
  Diagnostics diagnostics(context);
  NvidiaResources result;
  const Target &chip = targetNamed(target.chip);
  auto addTiles = [&](OpPassManager &passes) {
    addGpuTiles(passes, *chip.gpu(), optionsOf(target, specialization));
  };
  OwningOpRef<ModuleOp> kernel =
      lowered(module, specialization, Emit::assembly, diagnostics, addTiles);
  func::FuncOp function = *kernel->getOps<func::FuncOp>().begin();
  auto number = [&](StringRef attribute, int64_t otherwise) {
    auto value = function->getAttrOfType<IntegerAttr>(attribute);
    return value ? value.getInt() : otherwise;
  };
  int64_t warps = number(gpu::kWarpsAttr, 0) + number(gpu::kProducerWarpsAttr, 0);
  result.threads = static_cast<int>(warps * chip.gpu()->traits().lanes);
  result.sharedBytes = number(gpu::kSharedAttr, 0);
  result.resident = number(gpu::kResidentAttr, 1);
  function.walk([&](Operation *op) {
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
