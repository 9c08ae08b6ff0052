// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verbs of the command line's contract that this build does not have. They exist so that a
// script learns which it is: a verb that is missing here, and not one that is misspelt.
#include "Verbs.h"
#include "ditron/support/Error.h"
#include <CLI/CLI.hpp>

namespace ditron::tools {

std::vector<Verb> addAbsent(CLI::App &program) {
  constexpr std::pair<const char *, const char *> kVerbs[] = {
      {"tune", "search for a good configuration (not in this build)"},
  };
  std::vector<Verb> verbs;
  for (auto [name, summary] : kVerbs)
    verbs.push_back({program.add_subcommand(name, summary),
                     [name = std::string(name)]() -> int {
                       throw UnavailableError("ditron " + name + " is not in this build");
                     },
                     true});
  return verbs;
}

} // namespace ditron::tools
