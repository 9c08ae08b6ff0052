// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the programs of examples/generate and examples/serve begin and end.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace generate {

/// Reads the command line. The text of the help where that is asked for, else none. UsageError where
/// it is not as the program's options say.
std::string parse(CLI::App &app, int argc, char **argv);

/// UsageError naming the option where its number is not one of least to most.
void expect(const char *option, int64_t found, int64_t least, int64_t most);

/// Does a program's work on a large stack, and says in one line on stderr, behind the program's name,
/// what ended it. The exit status: 0 done, 1 failed, 2 wrong usage, 3 the machine lacks something.
int runProgram(const char *name, const std::function<void()> &work);

} // namespace generate
