// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the programs of examples/generate and examples/serve begin and end.
#pragma once
#include "ditron/runtime/Options.h"
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
void expect(const std::string &option, int64_t found, int64_t least, int64_t most);

/// An option that takes a decimal integer of least to most.
void addInteger(CLI::App &app, const std::string &name, const std::string &help, int64_t least,
                int64_t most, const std::function<void(int64_t)> &set);
template <typename T>
void addInteger(CLI::App &app, const std::string &name, T &value, const std::string &help,
                int64_t least, int64_t most = INT64_MAX) {
  addInteger(app, name, help, least, most, [&value](int64_t found) { value = T(found); });
}

/// An option that takes a decimal number.
void addReal(CLI::App &app, const std::string &name, const std::string &help,
             const std::function<void(double)> &set);
template <typename T>
void addReal(CLI::App &app, const std::string &name, T &value, const std::string &help) {
  addReal(app, name, help, [&value](double found) { value = found; });
}

/// --backend, --ranks and --cores, which is as many as there are where nothing else is said.
void addDevices(CLI::App &app, ditron::runtime::Options &options);

/// RuntimeError where what was printed could not be written.
void flushOutput();

/// Does a program's work on a large stack, and says in one line on stderr, behind the program's name,
/// what ended it. The exit status: 0 done, 1 failed, 2 wrong usage, 3 the machine lacks something.
int runProgram(const char *name, const std::function<void()> &work);

} // namespace generate
