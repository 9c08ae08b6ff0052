// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Program.h"
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/support/Error.h"
#include "ditron/support/StartThread.h"
#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <new>

/// Before objects of LLVM's, which take memory too.
[[gnu::constructor(101)]] static void guardStart() { ditron::guardStart(); }

namespace generate {

/// RuntimeError where what was printed could not be written.
static void finishOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw ditron::RuntimeError(
        fmt::format("standard output cannot be written: {}", std::strerror(errno)));
}

static int guarded(const char *name, const std::function<void()> &work) {
  constexpr int kFailed = 1, kWrongUsage = 2, kUnavailable = 3;
  auto fail = [&](const char *problem, int status) {
    std::fprintf(stderr, "%s: %s\n", name, problem);
    return status;
  };
  try {
    work();
    finishOutput();
    return 0;
  } catch (const ditron::UsageError &error) {
    return fail(error.what(), kWrongUsage);
  } catch (const ditron::UnavailableError &error) {
    return fail(error.what(), kUnavailable);
  } catch (const std::bad_alloc &) {
    fail("the system gives no more memory: take fewer tokens or ranks, or raise the limit of this "
         "process (ulimit -v)",
         kUnavailable);
    std::_Exit(kUnavailable); // it may have passed through MLIR, which is built without exceptions
  } catch (const std::exception &error) {
    return fail(error.what(), kFailed);
  }
}

std::string parse(CLI::App &app, int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    return app.help();
  } catch (const CLI::ParseError &error) {
    throw ditron::UsageError(error.what());
  }
  return "";
}

void expect(const char *option, int64_t found, int64_t least, int64_t most) {
  if (found < least || found > most)
    throw ditron::UsageError(
        fmt::format("{} is {}, expected {} to {}", option, found, least, most));
}

int runProgram(const char *name, const std::function<void()> &work) {
  ditron::beginMain();
  std::signal(SIGXFSZ, SIG_IGN); // a limit on the size of files is an error like a full disk
  int status = 0;
  ditron::callOnLargeStack([&] { status = guarded(name, work); });
  return status;
}

} // namespace generate
