// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/Tool.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace ditron::gpu {

std::string emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                     llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    throw InternalError("the code generator emits no such file");
  passes.run(module);
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

/// A file that goes when this object does.
class TemporaryFile {
public:
  explicit TemporaryFile(const char *suffix) {
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("ditron", suffix, path_))
      throw RuntimeError("no temporary file can be made: " + error.message());
  }
  ~TemporaryFile() { llvm::sys::fs::remove(path_); }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  std::string path() const { return path_.str().str(); }
  std::string contents() const {
    auto buffer = llvm::MemoryBuffer::getFile(path_);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  void write(const std::string &text) const {
    std::error_code error;
    llvm::raw_fd_ostream stream(path_, error);
    stream << text;
  }

private:
  llvm::SmallString<128> path_;
};

} // namespace

ToolRun runTool(const std::string &program, const std::string &input, const char *suffix,
                ToolArguments arguments) {
  TemporaryFile source(suffix), output("out"), report("txt");
  source.write(input);
  std::vector<std::string> given = arguments(source.path(), output.path());
  std::vector<llvm::StringRef> words{program};
  words.insert(words.end(), given.begin(), given.end());
  std::string log = report.path();
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(log),
                                                llvm::StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(program, words, std::nullopt, redirects);
  return {status == 0, output.contents(), report.contents()};
}

} // namespace ditron::gpu
