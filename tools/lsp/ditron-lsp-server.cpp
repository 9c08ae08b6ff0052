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
#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <functional>
#include <new>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ditron;

namespace {

using Change = std::function<std::string(const std::string &)>;

/// One direction of the traffic. What the other end does not take yet waits here, so that both ends may
/// send before they read.
class Lane {
public:
  Lane(int from, int to, Change change) : from_(from), to_(to), change_(std::move(change)) {}

  /// What to wait for: that something comes, and that something can go.
  pollfd source() const { return {isOpen_ ? from_ : -1, POLLIN, 0}; }
  pollfd sink() const { return {waiting_.empty() ? -1 : to_, POLLOUT, 0}; }
  bool isOver() const { return !isOpen_ && waiting_.empty(); }

  /// Takes what has come, message by message.
  void take() {
    char bytes[65536];
    ssize_t length = read(from_, bytes, sizeof(bytes));
    if (length < 0 && errno == EINTR)
      return;
    isOpen_ = length > 0;
    frames_.append({bytes, static_cast<size_t>(std::max<ssize_t>(length, 0))});
    while (std::optional<std::string> message = frames_.next())
      if (tools::isTooDeep(*message))
        llvm::errs() << "ditron-lsp-server: a message of too many levels of JSON is left out\n";
      else
        waiting_ += tools::framed(change_(*message));
  }

  /// Passes on what a pipe takes at once. Nothing more is passed on where nobody reads.
  void give() {
    ssize_t length =
        write(to_, waiting_.data() + given_, std::min<size_t>(waiting_.size() - given_, PIPE_BUF));
    if (length > 0)
      given_ += static_cast<size_t>(length);
    else if (errno != EINTR)
      isOpen_ = false, given_ = waiting_.size();
    if (given_ == waiting_.size())
      waiting_.clear(), given_ = 0;
  }

private:
  int from_, to_;
  Change change_;
  tools::Frames frames_;
  std::string waiting_;
  size_t given_ = 0; ///< bytes of it
  bool isOpen_ = true;
};

/// Until the server ends; when the editor does, the server is told.
void relay(tools::Filter &filter, int toServer, int fromServer) {
  Lane out(STDIN_FILENO, toServer, [&](const auto &one) { return filter.toServer(one); });
  Lane back(fromServer, STDOUT_FILENO, [&](const auto &one) { return filter.toEditor(one); });
  for (bool isTold = false; !back.isOver();) {
    if (out.isOver() && !isTold)
      isTold = true, close(toServer);
    pollfd ends[] = {back.source(), back.sink(), out.source(), out.sink()};
    if (poll(ends, std::size(ends), -1) < 0) {
      if (errno == EINTR)
        continue;
      return;
    }
    for (size_t n = 0; Lane * lane : {&back, &out}) {
      if (ends[n++].revents)
        lane->take();
      if (ends[n++].revents)
        lane->give();
    }
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
