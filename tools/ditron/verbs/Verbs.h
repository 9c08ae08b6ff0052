// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verbs of the program. Each is one file, which describes its options and runs it.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace ditron::tools {

/// What `ditron` answers with: 0 only where what was asked for was done and verified.
enum ExitStatus : int {
  kVerified = 0,
  kFailed = 1,      ///< a check failed, or a rank did
  kWrongUsage = 2,  ///< unknown names, options and values; a kernel that does not compile
  kUnavailable = 3, ///< the machine, or this build, lacks what was asked for
};

/// A verb: its options, and what runs it when they are parsed. `run` returns an exit status and
/// throws ditron's errors.
struct Verb {
  CLI::App *app;
  std::function<int()> run;
};

Verb addList(CLI::App &program);
Verb addInfo(CLI::App &program);
Verb addRun(CLI::App &program);
Verb addBench(CLI::App &program);
Verb addCompile(CLI::App &program);
Verb addTrace(CLI::App &program);
Verb addCheck(CLI::App &program);
Verb addTune(CLI::App &program);

} // namespace ditron::tools
