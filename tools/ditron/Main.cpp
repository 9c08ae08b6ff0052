// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron: lists, runs, times and compiles the kernels of the library. The verbs are in the files of
// their names; here are the command line as a whole and the exit statuses.
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/kernels/Config.h"
#include "ditron/support/Error.h"
#include "ditron/support/OpenFile.h"
#include "ditron/support/StartThread.h"
#include "tools/ditron/launch/Execute.h"
#include "tools/ditron/report/Report.h"
#include "tools/ditron/verbs/Verbs.h"
#include <CLI/CLI.hpp>
#include <csignal>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <new>
#include <sstream>
#include <system_error>

namespace ditron::tools {

namespace {

constexpr const char *kFooter =
    "Exit status: 0 done and verified, 1 a check or a rank failed, 2 wrong usage, 3 the machine or "
    "this build lacks what was asked for.";

std::vector<Verb> addVerbs(CLI::App &program) {
  std::vector<Verb> verbs{addList(program),  addInfo(program),    addRun(program),
                          addBench(program), addCompile(program), addCheck(program),
                          addTrace(program), addTune(program)};
  for (Verb &verb : verbs)
    verb.app->allow_extras();
  return verbs;
}

/// UsageError where the first word is no verb.
void checkVerb(const std::vector<Verb> &verbs, int argc, char **argv) {
  std::vector<std::string> known;
  for (const Verb &verb : verbs)
    known.push_back(verb.app->get_name());
  if (argc < 2)
    throw UsageError(fmt::format("no verb is given, expected one of {}; ditron --help says more",
                                 fmt::join(known, ", ")));
  std::string word = argv[1];
  if (word.starts_with("-") || std::find(known.begin(), known.end(), word) != known.end())
    return;
  throw UsageError(fmt::format("unknown verb '{}', expected one of {}{}", word,
                               fmt::join(known, ", "), kernels::suggestion(word, known)));
}

/// UsageError where the verb was given what it does not know.
void checkRemaining(const Verb &verb) {
  std::vector<std::string> rest = verb.app->remaining();
  if (rest.empty())
    return;
  std::string name = verb.app->get_name();
  for (const std::string &word : rest) {
    if (!word.starts_with("-"))
      continue;
    std::string given = word.substr(0, word.find('='));
    if (std::string_view now = kernels::renamed(given); !now.empty())
      throw UsageError(fmt::format("{} is now {}", given, now));
    std::vector<std::string> known;
    for (const CLI::Option *option : verb.app->get_options())
      for (const std::string &longName : option->get_lnames())
        known.push_back("--" + longName);
    throw UsageError(fmt::format("unknown option '{}' of ditron {}, expected one of {}{}", word,
                                 name, fmt::join(known, ", "), kernels::suggestion(word, known)));
  }
  throw UsageError(fmt::format("ditron {}: unexpected argument '{}'", name, rest.front()));
}

/// UsageError where an option or argument was given an empty text, as "$UNSET" in a script is.
void refuseEmpty(const Verb &verb) {
  for (const CLI::Option *option : verb.app->get_options())
    for (const std::string &value : option->results())
      if (value.empty())
        throw UsageError(
            fmt::format("ditron {}: {} is empty, expected a value; leave it out for what it is "
                        "otherwise",
                        verb.app->get_name(), option->get_name()));
}

/// Answers --help and --version.
int answer(const CLI::App &program, const CLI::Success &request) {
  std::ostringstream text;
  int status = program.exit(request, text, text);
  printOutput(text.str());
  return status;
}

int runProgram(int argc, char **argv) {
  CLI::App program("ditron compiles tile programs for machines of many devices.", "ditron");
  program.set_version_flag("--version", std::string("ditron ") + DITRON_VERSION);
  program.footer(kFooter);
  std::vector<Verb> verbs = addVerbs(program);
  program.require_subcommand(0, 1); // a second verb is an argument of the first
  checkVerb(verbs, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success &request) {
    return answer(program, request);
  } catch (const CLI::ParseError &error) {
    throw UsageError(error.what());
  }
  for (const Verb &verb : verbs)
    if (verb.app->parsed()) {
      checkRemaining(verb);
      refuseEmpty(verb);
      return verb.run();
    }
  throw UsageError("no verb is given; ditron --help lists them");
}

int answerError(const std::string &message, int status) {
  printFailure(message);
  return status;
}

} // namespace

static int guardedMain(int argc, char **argv) {
  try {
    return runProgram(argc, argv);
  } catch (const ToldError &) {
    return kFailed;
  } catch (const UsageError &error) {
    return answerError(error.what(), kWrongUsage);
  } catch (const CompileError &error) {
    return answerError(error.what(), kWrongUsage);
  } catch (const UnavailableError &error) {
    return answerError(error.what(), kUnavailable);
  } catch (const InternalError &error) {
    return answerError(
        fmt::format("{}\nThis is a mistake of ditron's: please report it.", error.what()), kFailed);
  } catch (const Error &error) {
    return answerError(error.what(), kFailed);
  } catch (const std::bad_alloc &) {
    answerError("the system gives no more memory: take smaller sizes or fewer ranks, or raise "
                "the limit of this process (ulimit -v)",
                kUnavailable);
    std::_Exit(kUnavailable); // it may have passed through MLIR, which is built without exceptions
  } catch (const std::system_error &error) {
    return answerError(
        fmt::format("the system refuses a thread, process or file: {}; the limits of "
                    "this process are what ulimit -a shows",
                    error.code().message()),
        kUnavailable);
  } catch (const std::exception &error) {
    return answerError(
        fmt::format("an error that should have been ditron's: {}\nThis is a mistake of "
                    "ditron's: please report it.",
                    error.what()),
        kFailed);
  }
}

} // namespace ditron::tools

/// Before objects of LLVM's, which take memory too.
[[gnu::constructor(101)]] static void guardStart() { ditron::guardStart(); }

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_DFL); // `ditron list | head` ends quietly
  std::signal(SIGXFSZ, SIG_IGN); // a limit on the size of files is an error like a full disk
  ditron::occupyClosedStreams();
  ditron::beginMain(ditron::tools::printFailure);
  int status = ditron::tools::kFailed;
  ditron::callOnLargeStack([&] { status = ditron::tools::guardedMain(argc, argv); });
  if (status != ditron::tools::kVerified)
    std::_Exit(status); // what is taken down behind main may wait for what does not end
  return status;
}
