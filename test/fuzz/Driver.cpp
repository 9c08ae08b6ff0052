// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron-fuzz TARGET FOLDER.. [--runs N] [--from N] [--seconds S] [--keep FOLDER]: gives a target
// the files of the folders, and then texts made of them, and says how many it took. Exit status 1
// where one ended the target by a signal, by an error that is none of ditron's, or after 30 s; such
// texts are kept.
//
// The texts follow from their numbers, so a run says the same each time. A worker process takes one
// after the other; where it ends, the next one begins behind the text that ended it.
#include "FuzzTargets.h"
#include "Mutate.h"
#include "ditron/support/Child.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ditron::fuzz;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kLongest{30};

const Target *const kTargets[] = {&irTarget,          &optionsTarget,    &layoutTarget,
                                  &calibrationTarget, &kernelInfoTarget, &entryTarget,
                                  &meetingTarget,     &generateTarget};

/// Null where there is none of that name.
const Target *findTarget(std::string_view name) {
  for (const Target *target : kTargets)
    if (name == target->name)
      return target;
  return nullptr;
}

struct Arguments {
  const Target *target = nullptr;
  std::vector<std::string> folders;
  uint64_t from = 0, runs = 1000;
  int64_t seconds = 86'400;
  std::filesystem::path keep = "fuzz-findings";
};

[[noreturn]] void usage() {
  std::string names;
  for (const Target *target : kTargets)
    names += std::string(names.empty() ? "" : "|") + target->name;
  fmt::print(stderr,
             "usage: ditron-fuzz {} FOLDER.. [--runs N] [--from N] [--seconds S] [--keep FOLDER]\n",
             names);
  std::exit(2);
}

Arguments parse(int argc, char **argv) {
  Arguments arguments;
  if (argc < 2 || !(arguments.target = findTarget(argv[1])))
    usage();
  for (int n = 2; n < argc; ++n) {
    std::string word = argv[n];
    if (!word.starts_with("--")) {
      arguments.folders.push_back(word);
      continue;
    }
    if (++n == argc)
      usage();
    if (word == "--keep")
      arguments.keep = argv[n];
    else if (word == "--runs")
      arguments.runs = std::strtoull(argv[n], nullptr, 10);
    else if (word == "--from")
      arguments.from = std::strtoull(argv[n], nullptr, 10);
    else if (word == "--seconds")
      arguments.seconds = std::strtoll(argv[n], nullptr, 10);
    else
      usage();
  }
  return arguments;
}

/// The files of the folders, a file of several modules in its parts.
std::vector<std::string> readFolders(const std::vector<std::string> &folders) {
  constexpr std::string_view kDelimiter = "// -----";
  std::vector<std::filesystem::path> files;
  for (const std::string &folder : folders)
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.file_size() < (1 << 16) &&
          entry.path().extension() != ".cpp")
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const auto &file : files) {
    std::ostringstream all;
    all << std::ifstream(file, std::ios::binary).rdbuf();
    std::string text = all.str();
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find(kDelimiter, at), text.size());
      texts.push_back(text.substr(at, end - at));
      at = end == text.size() ? end : end + kDelimiter.size();
    }
  }
  return texts;
}

/// What worker and parent share.
struct Shared {
  std::atomic<uint64_t> current; ///< the number of the text in work
};

[[noreturn]] void work(const Arguments &arguments, const Mutator &mutator, Shared &shared,
                       uint64_t first, uint64_t end) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  for (uint64_t n = first; n < end; ++n) {
    shared.current.store(n);
    arguments.target->read(mutator.text(n)); // an error that is none of ditron's ends this process
  }
  shared.current.store(end);
  _exit(0);
}

class Session {
public:
  explicit Session(const Arguments &arguments)
      : arguments_(arguments), mutator_(readFolders(arguments.folders)),
        shared_(*static_cast<Shared *>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}

  int run() {
    uint64_t next = arguments_.from, end = arguments_.from + arguments_.runs;
    while (next < end && !isOver())
      next = runFrom(next, end);
    fmt::print("{}: {} texts, {} of them refused after a crash in a child process, {} findings\n",
               arguments_.target->name, next - arguments_.from, refused_, findings_);
    return findings_ ? 1 : 0;
  }

private:
  bool isOver() const { return Clock::now() - start_ > std::chrono::seconds(arguments_.seconds); }

  /// Until the end, or a text ended the worker: the number to go on with.
  uint64_t runFrom(uint64_t first, uint64_t end) {
    shared_.current.store(first);
    pid_t worker = fork();
    if (worker < 0)
      return std::this_thread::sleep_for(std::chrono::seconds(1)), first;
    if (worker == 0)
      work(arguments_, mutator_, shared_, first, end);
    int status = await(worker);
    uint64_t last = shared_.current.load();
    if (last >= end || stopped_)
      return last;
    judge(last, status);
    return last + 1;
  }

  /// The worker's status; it is ended where a text takes too long, or the time is over.
  int await(pid_t worker) {
    uint64_t seen = shared_.current.load();
    auto since = Clock::now();
    int status = 0;
    while (waitpid(worker, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (uint64_t now = shared_.current.load(); now != seen)
        seen = now, since = Clock::now();
      stopped_ = isOver();
      if (stopped_ || Clock::now() - since > kLongest)
        kill(worker, SIGKILL);
    }
    return status;
  }

  /// Whether the program refuses a text that ended a worker, since it ends a child of its own first.
  bool isRefused(const std::string &text) const {
    const Target &target = *arguments_.target;
    if (!target.guarded)
      return false;
    auto read = [&] { return target.guarded(text), std::string(); };
    return ditron::inChild(read, {.time = kLongest}).kind == ditron::ChildEnd::Kind::answered;
  }

  void judge(uint64_t number, int status) {
    std::string text = mutator_.text(number);
    if (isRefused(text)) {
      ++refused_;
      return;
    }
    ++findings_;
    std::filesystem::create_directories(arguments_.keep);
    auto file = arguments_.keep / fmt::format("{}-{}", arguments_.target->name, number);
    std::ofstream(file, std::ios::binary) << text;
    fmt::print(stderr, "{}: {}\n", file.string(),
               WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                   : fmt::format("exit status {}", WEXITSTATUS(status)));
  }

  const Arguments &arguments_;
  Mutator mutator_;
  Shared &shared_;
  Clock::time_point start_ = Clock::now();
  bool stopped_ = false;
  uint64_t refused_ = 0, findings_ = 0;
};

} // namespace

int main(int argc, char **argv) { return Session(parse(argc, argv)).run(); }
