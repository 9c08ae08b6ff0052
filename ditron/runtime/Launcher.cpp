// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Launcher.h"
#include "ditron/runtime/transport/Socket.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <random>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>

extern char **environ;

namespace ditron::runtime {

namespace {

constexpr const char *kReportVariable = "DITRON_ERROR_FD";
constexpr size_t kLongestReport = 32768;
constexpr std::string_view kHaveMet("\0met", 4); ///< a report that is no error

/// Null-terminated pointers to texts, as exec takes them.
std::vector<char *> pointers(std::vector<std::string> &texts) {
  std::vector<char *> result;
  for (std::string &text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// This environment with `changes` over it.
std::vector<std::string> environmentWith(const std::vector<std::string> &changes) {
  std::vector<std::string> result;
  for (char **entry = environ; *entry; ++entry) {
    std::string_view old = *entry, name = old.substr(0, old.find('=') + 1);
    bool replaced = false;
    for (const std::string &change : changes)
      replaced |= change.starts_with(name);
    if (!replaced)
      result.emplace_back(old);
  }
  result.insert(result.end(), changes.begin(), changes.end());
  return result;
}

/// Bytes that arguments or an environment take on the stack of a new process.
size_t bytesOf(const std::vector<std::string> &texts) {
  size_t bytes = 0;
  for (const std::string &text : texts)
    bytes += text.size() + 1 + sizeof(char *);
  return bytes;
}

/// The limit on a rank's stack: a program makes itself a larger one, but the system's loader and
/// constructors have run by then. RuntimeError where it may not be as large as these need.
rlimit stackOfRank(size_t argumentBytes) {
  constexpr rlim_t kToBegin = 32 << 10, kWanted = 1 << 20;
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  rlim_t least = kToBegin + argumentBytes;
  if (limit.rlim_max < least)
    throw RuntimeError(fmt::format("the process of a rank cannot be started: the limit on its "
                                   "stack (ulimit -s) is {} bytes, expected {} or more",
                                   limit.rlim_max, least));
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kWanted));
  return limit;
}

class Children {
public:
  explicit Children(const SpawnOptions &options) : options_(options) {
    std::tie(reports_, reportEnd_) = socketPair();
    job_ = fmt::format("{}-{:08x}", getpid(), std::random_device()());
  }
  ~Children() {
    killAll();
    while (reapSome()) {
    }
  }

  void start() {
    result_.waitStatus.resize(size_t(options_.processes));
    for (int rank = 0; rank < options_.processes; ++rank)
      pids_.push_back(startRank(rank));
    reportEnd_ = File();
  }

  SpawnResult wait() {
    constexpr std::chrono::milliseconds kReportsTake{1000}, kUnmet{2000};
    Deadline failedAt = Deadline::max();
    while (running() > 0) {
      readReports(20);
      while (reapSome(WNOHANG)) {
      }
      auto now = std::chrono::steady_clock::now();
      if (!failed_)
        continue;
      failedAt = std::min(failedAt, now);
      if (now - failedAt > kReportsTake)
        tell(failure_);
      if (now - failedAt > (haveMet_ ? options_.grace : std::min(options_.grace, kUnmet)))
        killAll();
    }
    readReports(0);
    finish();
    return result_;
  }

private:
  pid_t startRank(int rank) {
    std::vector<std::string> changes = options_.environment;
    for (std::string change :
         {fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", options_.processes),
          fmt::format("LOCAL_RANK={}", rank),
          fmt::format("LOCAL_WORLD_SIZE={}", options_.processes),
          std::string("MASTER_ADDR=127.0.0.1"), std::string("MASTER_PORT=29500"),
          "DITRON_JOB=" + job_, fmt::format("{}={}", kReportVariable, reportEnd_.number())})
      changes.push_back(std::move(change));
    std::vector<std::string> environment = environmentWith(changes), command = options_.command;
    std::vector<char *> argv = pointers(command), envp = pointers(environment);
    rlimit stack = stackOfRank(bytesOf(command) + bytesOf(environment));
    pid_t parent = getpid(), child = fork();
    if (child < 0)
      throw RuntimeError(fmt::format(
          "the process of rank {} cannot be started: {}", rank,
          errno == EAGAIN ? "limits on processes (ulimit -u, pids.max) leave no room for it"
                          : std::strerror(errno)));
    if (child > 0)
      return child;
    // Only what is safe between fork and exec.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(127);
    fcntl(reportEnd_.number(), F_SETFD, 0); // stays open in the rank
    setrlimit(RLIMIT_STACK, &stack);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }

  int running() const {
    int count = 0;
    for (pid_t pid : pids_)
      count += pid > 0;
    return count;
  }

  void killAll() {
    for (pid_t pid : pids_)
      if (pid > 0)
        kill(pid, SIGKILL);
    killed_ = true;
  }

  /// Collects one ended child; false where there is none (yet, with WNOHANG).
  bool reapSome(int flags = 0) {
    for (size_t rank = 0; rank < pids_.size(); ++rank) {
      int status = 0;
      if (pids_[rank] <= 0 || waitpid(pids_[rank], &status, flags) != pids_[rank])
        continue;
      pids_[rank] = 0;
      result_.waitStatus[rank] = status;
      if (status != 0 && !killed_)
        noteFailure(int(rank), status);
      return true;
    }
    return false;
  }

  void noteFailure(int rank, int status) {
    bool exited = WIFEXITED(status);
    if (!failed_)
      failure_ = exited
                     ? fmt::format("rank {} ended with exit status {}", rank, WEXITSTATUS(status))
                     : fmt::format("rank {} was ended by signal {} ({})", rank, WTERMSIG(status),
                                   strsignal(WTERMSIG(status)));
    // Ranks that lose another one end with 1, maybe before that one was collected.
    int own = exited ? WEXITSTATUS(status) : 1;
    if (!failed_ || mayHaveLostOne_)
      result_.status = own;
    mayHaveLostOne_ = exited && result_.status == 1;
    failed_ = true;
  }

  /// Reads what the ranks report, for at most `ms`.
  void readReports(int ms) {
    pollfd entry{reports_.number(), POLLIN, 0};
    if (closed_) {
      poll(nullptr, 0, ms);
      return;
    }
    for (; poll(&entry, 1, ms) > 0; ms = 0) {
      char text[kLongestReport];
      ssize_t length = recv(reports_.number(), text, sizeof(text), MSG_DONTWAIT);
      if (length <= 0) {
        closed_ = length == 0;
        return;
      }
      std::string report(text, size_t(length));
      if (report == kHaveMet)
        haveMet_ = true;
      else
        tell(report);
    }
  }

  /// The first error is the run's.
  void tell(const std::string &error) {
    if (!result_.error.empty())
      return;
    result_.error = error;
    options_.tell(error);
  }

  void finish() {
    if (!failed_ && result_.error.empty())
      return;
    if (result_.status == 0)
      result_.status = 1;
    tell(failure_);
  }

  const SpawnOptions &options_;
  File reports_, reportEnd_;
  std::string job_, failure_;
  std::vector<pid_t> pids_;
  bool failed_ = false, mayHaveLostOne_ = false, killed_ = false, closed_ = false, haveMet_ = false;
  SpawnResult result_;
};

} // namespace

SpawnResult spawnRanks(const SpawnOptions &options) {
  if (options.processes < 1)
    throw UsageError(fmt::format("processes is {}: expected 1 or more", options.processes));
  if (options.command.empty() || access(options.command[0].c_str(), X_OK) != 0)
    throw RuntimeError(
        fmt::format("'{}' cannot be executed", options.command.empty() ? "" : options.command[0]));
  Children children(options);
  children.start();
  return children.wait();
}

void tellLauncherOfMeeting() { reportToLauncher(std::string(kHaveMet)); }

bool reportToLauncher(const std::string &message) {
  const char *text = std::getenv(kReportVariable);
  if (!text)
    return false;
  std::string report = message.substr(0, kLongestReport); // one message of a message socket
  return send(std::atoi(text), report.data(), report.size(), MSG_NOSIGNAL) ==
         ssize_t(report.size());
}

} // namespace ditron::runtime
