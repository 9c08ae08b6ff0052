// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language server of ditron's IR: completion, definitions and errors in an editor. MLIR's server
// is a child process; what passes between it and the editor goes through Filter.h.
#include "ditron/compiler/Dialects.h"
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/compiler/TextParts.h"
#include "ditron/support/Error.h"
#include "ditron/support/StartThread.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/lsp/Filter.h"
#include "tools/lsp/Frames.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ditron;

namespace {

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t length = write(file, bytes.data(), bytes.size());
    if (length < 0 && errno != EINTR)
      return false;
    bytes.remove_prefix(length > 0 ? static_cast<size_t>(length) : 0);
  }
  return true;
}

/// One direction of the traffic.
struct Lane {
  int from, to;
  tools::Frames frames = {};

  /// Passes on what has come, message by message; false at the end of the stream.
  bool pump(const std::function<std::string(const std::string &)> &change) {
    char bytes[65536];
    ssize_t length = read(from, bytes, sizeof(bytes));
    if (length < 0 && errno == EINTR)
      return true;
    if (length <= 0)
      return false;
    frames.append({bytes, static_cast<size_t>(length)});
    while (std::optional<std::string> message = frames.next())
      if (tools::isTooDeep(*message))
        llvm::errs() << "ditron-lsp-server: a message of too many levels of JSON is left out\n";
      else if (!writeAll(to, tools::framed(change(*message))))
        return false;
    return true;
  }
};

/// Until the server ends; when the editor does, the server is told.
void relay(tools::Filter &filter, int toServer, int fromServer) {
  Lane out{STDIN_FILENO, toServer}, back{fromServer, STDOUT_FILENO};
  bool isOpen = true;
  for (;;) {
    pollfd ends[2] = {{fromServer, POLLIN, 0}, {isOpen ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(ends, 2, -1) < 0 && errno != EINTR)
      return;
    if (ends[0].revents && !back.pump([&](const auto &one) { return filter.toEditor(one); }))
      return;
    if (ends[1].revents && !out.pump([&](const auto &one) { return filter.toServer(one); }))
      isOpen = false, close(toServer);
  }
}

int serve(int argc, char **argv, mlir::DialectRegistry &registry) {
  MemoryGuard guard;
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

int serveInChild(int argc, char **argv, mlir::DialectRegistry &registry) {
  int toServer[2], fromServer[2];
  pid_t child = pipe(toServer) || pipe(fromServer) ? -1 : fork();
  if (child < 0)
    throw RuntimeError(std::string("a child process is refused: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(toServer[0], STDIN_FILENO), dup2(fromServer[1], STDOUT_FILENO);
    for (int end : {toServer[0], toServer[1], fromServer[0], fromServer[1]})
      close(end);
    return serve(argc, argv, registry);
  }
  close(toServer[0]), close(fromServer[1]);
  std::signal(SIGPIPE, SIG_IGN);
  tools::Filter filter(readerOfParts(registry));
  relay(filter, toServer[1], fromServer[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    llvm::errs() << "ditron-lsp-server: the server was ended by signal " << WTERMSIG(status)
                 << "; please report it\n";
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// Whether the streams are not the protocol's: tests of the server, or its help.
bool isPlain(int argc, char **argv) {
  for (int n = 1; n < argc; ++n)
    for (const char *option : {"lit-test", "input-style", "help", "version"})
      if (std::strstr(argv[n], option))
        return true;
  return false;
}

int run(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  return isPlain(argc, argv) ? serve(argc, argv, registry) : serveInChild(argc, argv, registry);
}

int fail(const char *problem) {
  llvm::errs() << "ditron-lsp-server: " << problem << '\n';
  return 1;
}

int guardedRun(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const Error &error) {
    return fail(error.what());
  } catch (const std::bad_alloc &) {
    return fail("the system gives no more memory: the limit of this process (ulimit -v) or its "
                "control group has to leave more");
  }
}

} // namespace

/// Before objects of LLVM's, which take memory too.
[[gnu::constructor(101)]] static void guardStart() { ditron::guardStart(); }

int main(int argc, char **argv) {
  beginMain();
  std::signal(SIGXFSZ, SIG_IGN); // a limit on the size of files is an error like a full disk
  int status = 1;
  callOnLargeStack([&] { status = guardedRun(argc, argv); });
  return status;
}
