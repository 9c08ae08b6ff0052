// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs passes on textual IR: `ditron-opt --tile-promote-vars kernel.mlir`. The text is parsed, and
// the passes run, in a child process: where that crashes, this one says on which line, or that it
// was a pass.
#include "ditron/compiler/Dialects.h"
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/compiler/TextParts.h"
#include "ditron/support/Child.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include "ditron/support/StartThread.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

using namespace ditron;

namespace {

constexpr int kFailed = 1, kCrashed = 3;

int fail(llvm::StringRef message, int status = kFailed) {
  llvm::errs() << message << '\n';
  return status;
}

/// The exit status of a part of the program that may throw.
int guarded(llvm::function_ref<int()> part) {
  try {
    return part();
  } catch (const Error &error) {
    return fail(error.what());
  } catch (const std::bad_alloc &) {
    return fail(
        "ditron-opt: the system gives no more memory: the limit of this process (ulimit -v) "
        "or its control group has to leave more",
        kCrashed);
  }
}

/// Lets this process open no other file: for an error at a location, MLIR prints the line of
/// whatever file the location names, which is the text's to say. The limit that there was.
rlimit closeFileSystem() {
  int next = open("/dev/null", O_RDONLY);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  rlimit none = files;
  none.rlim_cur = std::min<rlim_t>(files.rlim_cur, next < 0 ? 0 : next);
  setrlimit(RLIMIT_NOFILE, &none);
  close(next);
  return files;
}

void write(const std::string &output, const std::string &text) {
  if (output != "-")
    return writeFile(output, text);
  llvm::outs() << text;
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    std::error_code why = llvm::outs().error();
    llvm::outs().clear_error();
    throw RuntimeError("stdout cannot be written: " + why.message());
  }
}

/// What the passes make of the text is written as a whole, or not at all.
int optimise(const std::string &output, std::unique_ptr<llvm::MemoryBuffer> text,
             mlir::DialectRegistry &registry, const mlir::MlirOptMainConfig &config) {
  rlimit files = closeFileSystem();
  std::string result;
  llvm::raw_string_ostream stream(result);
  bool isDone = mlir::succeeded(mlir::MlirOptMain(stream, std::move(text), registry, config));
  setrlimit(RLIMIT_NOFILE, &files);
  if (!isDone)
    return kFailed;
  write(output, result);
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
  if (output != "-")
    requireWritable(output);
  ProgramEnd end = runInChild([&, file = output]() -> int {
    auto copy = llvm::MemoryBuffer::getMemBufferCopy(text->getBuffer(), input);
    return guarded([&] {
      MemoryGuard guard;
      return optimise(file, std::move(copy), registry, config);
    });
  });
  return end.signal ? explainCrash(end.signal, text->getBuffer(), input, registry) : end.status;
}

} // namespace

/// Before objects of LLVM's, which take memory too.
[[gnu::constructor(101)]] static void guardStart() { ditron::guardStart(); }

int main(int argc, char **argv) {
  beginMain();
  std::signal(SIGXFSZ, SIG_IGN); // a limit on the size of files is an error like a full disk
  int status = kFailed;
  callOnLargeStack([&] { status = guarded([&] { return run(argc, argv); }); });
  return status;
}
