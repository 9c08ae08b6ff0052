// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Child.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sanitizer.h"
#include "ditron/support/SystemMemory.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <malloc.h>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ditron {

namespace {

using Clock = std::chrono::steady_clock;

/// Bytes of address space that this process has.
size_t ownBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource>(resource), &now);
  now.rlim_cur = std::min(now.rlim_cur, most);
  setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

/// What a child writes in front: the work came to its end, or to that of its memory.
constexpr char kAnswered = '+', kStarved = '!';

int answers = -1; ///< where a child writes

/// MLIR uses what malloc gives unseen, and a stack may find no room to grow: a crash where no memory
/// is left is the end of the memory.
void answerCrash(int signal) {
  constexpr size_t kLittle = size_t(1) << 20;
  void *room = mmap(nullptr, kLittle, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    [[maybe_unused]] ssize_t ignored = write(answers, &kStarved, 1);
    _exit(0);
  }
  munmap(room, kLittle);
  std::signal(signal, SIG_DFL);
  raise(signal); // comes when this handler returns
}

void explainCrashes(int file) {
  alignas(16) static std::byte stack[size_t(64) << 10];
  answers = file;
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof(stack);
  sigaltstack(&other, nullptr);
  struct sigaction action{};
  action.sa_handler = answerCrash;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
}

/// No core file, no handlers of the parent's, nothing on its stderr, and the limits.
void confine(const ChildLimits &limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPIPE})
    std::signal(signal, SIG_DFL);
  if (int null = open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0)
    dup2(null, STDERR_FILENO);
  mallopt(M_PERTURB, 0xA5); // freed memory changes, so that who reads it crashes here
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, static_cast<rlim_t>(limits.time.count() / 1000 + 1));
  if (limits.bytes != ChildLimits::kAsMuch &&
      kSanitizer == Sanitizer::none) // their shadow memory is most of the address space
    limit(RLIMIT_AS, ownBytes() + std::min(limits.bytes, availableMemory()));
}

void writeAll(int file, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    ssize_t length = write(file, text.data() + done, text.size() - done);
    if (length < 0 && errno != EINTR)
      return;
    done += length > 0 ? static_cast<size_t>(length) : 0;
  }
}

/// Never returns.
[[noreturn]] void serve(int file, const std::function<std::string()> &work,
                        const ChildLimits &limits) noexcept {
  confine(limits);
  explainCrashes(file);
  try {
    writeAll(file, kAnswered + work());
  } catch (const std::bad_alloc &) {
    writeAll(file, {kStarved});
  } catch (const std::exception &error) {
    writeAll(file, kAnswered + std::string(error.what()));
  }
  _exit(0);
}

/// What the child writes until it ends; false where the time is over before.
bool readUntil(int file, Clock::time_point end, std::string &text) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd entry{file, POLLIN, 0};
    int ready = poll(&entry, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready == 0)
      return false;
    char part[4096];
    ssize_t length = ready > 0 ? read(file, part, sizeof(part)) : -1;
    if (length < 0 && errno != EINTR)
      return true;
    if (length == 0)
      return true;
    text.append(part, length > 0 ? static_cast<size_t>(length) : 0);
  }
}

int waitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

[[noreturn]] void refuse(const char *what) {
  throw RuntimeError(fmt::format("{}: {}; the limits on processes (ulimit -u) and open files "
                                 "(ulimit -n) must leave room for one child process",
                                 what, std::strerror(errno)));
}

} // namespace

std::string ChildEnd::text() const {
  if (kind == Kind::late || signal == SIGXCPU)
    return "the end of its time";
  if (kind == Kind::starved)
    return "the end of its memory";
  return signal ? fmt::format("signal {} ({})", signal, strsignal(signal)) : "an exit";
}

ProgramEnd runInChild(const std::function<int()> &program) {
  pid_t child = fork();
  if (child < 0)
    refuse("a child process is refused");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    std::exit(program());
  }
  int status = waitFor(child);
  if (WIFSIGNALED(status))
    return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

ChildEnd inChild(const std::function<std::string()> &work, const ChildLimits &limits) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    refuse("a pipe to a child process is refused");
  pid_t child = fork();
  if (child < 0) {
    close(ends[0]), close(ends[1]);
    refuse("a child process is refused");
  }
  if (child == 0)
    serve(ends[1], work, limits);
  close(ends[1]);
  std::string text;
  bool inTime = readUntil(ends[0], Clock::now() + limits.time, text);
  close(ends[0]);
  if (!inTime)
    kill(child, SIGKILL);
  int status = waitFor(child);
  if (!inTime)
    return {ChildEnd::Kind::late, "", 0};
  if (!text.empty() && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return {text[0] == kStarved ? ChildEnd::Kind::starved : ChildEnd::Kind::answered,
            text.substr(1), 0};
  return {ChildEnd::Kind::crashed, "", WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

} // namespace ditron
