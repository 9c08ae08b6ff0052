// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Program.h"
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/driver/backends/Backends.h"
#include "ditron/kernels/Config.h"
#include "ditron/support/Error.h"
#include "ditron/support/Message.h"
#include "ditron/support/OpenFile.h"
#include "ditron/support/Parallel.h"
#include "ditron/support/StartThread.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <new>

/// Before objects of LLVM's, which take memory too.
[[gnu::constructor(101)]] static void guardStart() { ditron::guardStart(); }

namespace generate {

void flushOutput() {
  errno = 0;
  bool fails = std::fflush(stdout) != 0;
  if (!fails && std::ferror(stdout) == 0)
    return;
  std::string why = fails && errno != 0 ? fmt::format(": {}", std::strerror(errno)) : "";
  throw ditron::RuntimeError("standard output cannot be written" + why);
}

static int guarded(const char *name, const std::function<void()> &work) {
  constexpr int kFailed = 1, kWrongUsage = 2, kUnavailable = 3;
  auto fail = [&](const char *problem, int status) {
    std::fprintf(stderr, "%s: %s\n", name, ditron::withoutControls(problem).c_str());
    return status;
  };
  try {
    work();
    flushOutput();
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

/// UsageError naming the first argument that is none of the program's, and the option it looks like.
static void refuseRemaining(const CLI::App &app) {
  std::vector<std::string> rest = app.remaining();
  if (auto mark = std::ranges::find(rest, "--"); mark != rest.end()) {
    if (mark + 1 != rest.end())
      throw ditron::UsageError(
          fmt::format("unexpected argument '{}' behind --, where there are no options", mark[1]));
    rest.erase(mark);
  }
  if (rest.empty())
    return;
  std::vector<std::string> known;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      known.push_back("--" + name);
  if (!rest.front().starts_with("-"))
    throw ditron::UsageError(fmt::format("unexpected argument '{}'", rest.front()));
  throw ditron::UsageError(fmt::format("unknown option '{}', expected one of {}{}", rest.front(),
                                       fmt::join(known, ", "),
                                       ditron::kernels::suggestion(rest.front(), known)));
}

/// UsageError where an option was given an empty text, as "$UNSET" in a script is.
static void refuseEmpty(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options())
    if (!option->get_positional() && std::ranges::count(option->results(), std::string()) > 0)
      throw ditron::UsageError(
          fmt::format("{} is empty, expected a value; leave it out for what it is otherwise",
                      option->get_name()));
}

std::string parse(CLI::App &app, int argc, char **argv) {
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    return app.help();
  } catch (const CLI::ParseError &error) {
    refuseRemaining(app);
    throw ditron::UsageError(error.what());
  }
  refuseRemaining(app);
  refuseEmpty(app);
  return "";
}

void expect(const std::string &option, int64_t found, int64_t least, int64_t most) {
  if (found >= least && found <= most)
    return;
  std::string range = most == INT64_MAX ? "or more" : fmt::format("to {}", most);
  throw ditron::UsageError(fmt::format("{} is {}, expected {} {}", option, found, least, range));
}

void addInteger(CLI::App &app, const std::string &name, const std::string &help, int64_t least,
                int64_t most, const std::function<void(int64_t)> &set) {
  auto take = [=](const std::string &text) {
    int64_t found = ditron::kernels::parseInteger(name, text, INT64_MIN);
    expect(name, found, least, most);
    set(found);
  };
  app.add_option_function<std::string>(name, take, help)->type_name("INT");
}

void addReal(CLI::App &app, const std::string &name, const std::string &help,
             const std::function<void(double)> &set) {
  auto take = [=](const std::string &text) {
    double found = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
    if (error != std::errc() || end != text.data() + text.size())
      throw ditron::UsageError(fmt::format("{} is '{}', expected a number", name, text));
    set(found);
  };
  app.add_option_function<std::string>(name, take, help)->type_name("FLOAT");
}

void addDevices(CLI::App &app, ditron::runtime::Options &options) {
  constexpr int64_t kMost = 1024; // of a context
  options.cores = ditron::usableCpus();
  app.add_option("--backend", options.backend, "cpu (default), nvidia or reference");
  addInteger(app, "--ranks", options.ranks, "devices that share the model (default 1)", 1, kMost);
  addInteger(app, "--cores", options.cores, "threads of a rank (default: the CPUs there are)", 1,
             kMost);
  app.final_callback([&app, &options] {
    if (app.count("--cores") > 0 &&
        !ditron::backends::find(options.backend).traits().coresAreChosen)
      throw ditron::UsageError(fmt::format("--cores {}: backend '{}' runs ranks on all cores of "
                                           "their devices; expected backend 'cpu' with it",
                                           options.cores, options.backend));
  });
}

int runProgram(const char *name, const std::function<void()> &work) {
  ditron::occupyClosedStreams();
  ditron::beginMain();
  std::signal(SIGXFSZ, SIG_IGN); // a limit on the size of files is an error like a full disk
  int status = 0;
  ditron::callOnLargeStack([&] { status = guarded(name, work); });
  return status;
}

} // namespace generate
