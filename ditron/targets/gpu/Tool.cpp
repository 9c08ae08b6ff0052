// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/Tool.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace ditron::gpu {

/// Adds an error of LLVM's to a text.
static void collect(const llvm::DiagnosticInfo *diagnostic, void *text) {
  if (diagnostic->getSeverity() != llvm::DS_Error)
    return;
  llvm::raw_string_ostream stream(*static_cast<std::string *>(text));
  llvm::DiagnosticPrinterRawOStream printer(stream);
  diagnostic->print(printer);
}

std::string emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                     llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  std::string problems;
  module.getContext().setDiagnosticHandlerCallBack(collect,
                                                   &problems); // its own one ends the process
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    throw InternalError("the code generator emits no such file");
  passes.run(module);
  module.getContext().setDiagnosticHandlerCallBack(nullptr);
  if (!problems.empty())
    throw InternalError("the code generator refuses the kernel: " + problems);
  return std::string(code.begin(), code.end());
}

std::optional<std::string> findTool(const char *variable, const std::vector<std::string> &names,
                                    const std::vector<std::string> &places) {
  auto isUsable = [](const std::string &path) { return llvm::sys::fs::can_execute(path); };
  if (auto path = envString(variable))
    return isUsable(*path) ? path : std::nullopt;
  for (const std::string &name : names)
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  for (const std::string &place : places)
    if (isUsable(place))
      return place;
  return std::nullopt;
}

namespace {

/// A folder that only this user sees, and that goes when this object does.
class TemporaryFolder {
public:
  TemporaryFolder() {
    llvm::SmallString<128> name;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, name);
    path_ = (name + "/ditron-XXXXXX").str();
    if (!mkdtemp(path_.data()))
      throw RuntimeError(
          fmt::format("no temporary folder can be made: '{}': {}", path_, std::strerror(errno)));
  }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(path_); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const char *name) const { return fmt::format("{}/{}", path_, name); }

private:
  std::string path_;
};

std::string contentsOf(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

} // namespace

ToolRun runTool(const std::string &program, const std::string &input, const char *suffix,
                ToolArguments arguments) {
  TemporaryFolder folder;
  std::string source = folder.file("kernel.") + suffix, output = folder.file("out");
  std::string log = folder.file("log");
  writeFile(source, input);
  std::vector<std::string> given = arguments(source, output);
  std::vector<llvm::StringRef> words{program};
  words.insert(words.end(), given.begin(), given.end());
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(log),
                                                llvm::StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(program, words, std::nullopt, redirects);
  return {status == 0, contentsOf(output), contentsOf(log)};
}

} // namespace ditron::gpu
