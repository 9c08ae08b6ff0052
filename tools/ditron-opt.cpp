// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs passes on textual IR: `ditron-opt --tile-promote-vars kernel.mlir`. The text is parsed, and
// the passes run, in a child process: where that crashes, this one says on which line, or that it
// was a pass.
#include "ditron/compiler/Dialects.h"
#include "ditron/compiler/TextParts.h"
#include "ditron/support/Child.h"
#include "ditron/support/Error.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include <algorithm>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace ditron;

namespace {

constexpr int kFailed = 1, kCrashed = 3;

int fail(llvm::StringRef message, int status = kFailed) {
  llvm::errs() << message << '\n';
  return status;
}

/// Lets this process open no other file: for an error at a location, MLIR prints the line of
/// whatever file the location names, which is the text's to say.
void closeFileSystem() {
  int next = open("/dev/null", O_RDONLY);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_cur, next < 0 ? 0 : next);
  setrlimit(RLIMIT_NOFILE, &files);
  close(next);
}

int optimise(const std::string &output, std::unique_ptr<llvm::MemoryBuffer> text,
             mlir::DialectRegistry &registry, const mlir::MlirOptMainConfig &config) {
  std::string problem;
  std::unique_ptr<llvm::ToolOutputFile> file = mlir::openOutputFile(output, &problem);
  if (!file)
    return fail(problem);
  closeFileSystem();
  if (mlir::failed(mlir::MlirOptMain(file->os(), std::move(text), registry, config)))
    return kFailed;
  file->keep();
  return 0;
}

/// What a crash was: a text that cannot be parsed, or a mistake in a pass.
int explainCrash(int signal, llvm::StringRef text, llvm::StringRef name,
                 const mlir::DialectRegistry &registry) {
  if (auto hazard = text::judge(std::string_view(text), readerOfParts(registry)).hazard)
    return fail(
        text::describe({hazard->line, "error: " + hazard->message}, std::string_view(name)));
  return fail("ditron-opt: a pass ended with " +
                  ChildEnd{ChildEnd::Kind::crashed, "", signal}.text() +
                  ".\nThis is a mistake of ditron's or MLIR's: please report it.",
              kCrashed);
}

int run(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "ditron's passes on textual IR\n", registry);
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> text = mlir::openInputFile(input, &problem);
  if (!text)
    return fail(problem);
  if (auto excess = text::findExcess(std::string_view(text->getBuffer())))
    return fail(text::describe({excess->line, "error: " + excess->message}, input));
  ProgramEnd end = runInChild([&, file = output] {
    auto copy = llvm::MemoryBuffer::getMemBufferCopy(text->getBuffer(), input);
    return optimise(file, std::move(copy), registry, config);
  });
  return end.signal ? explainCrash(end.signal, text->getBuffer(), input, registry) : end.status;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const Error &error) {
    return fail(error.what());
  }
}
