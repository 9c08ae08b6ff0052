// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the programs of examples/generate and examples/serve begin and end.
#pragma once
#include <functional>

namespace generate {

/// Does a program's work on a large stack, and says in one line on stderr, behind the program's name,
/// what ended it. The exit status: 0 done, 1 failed, 2 wrong usage, 3 the machine lacks something.
int runProgram(const char *name, const std::function<void()> &work);

} // namespace generate
