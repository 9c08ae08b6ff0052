// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Trace.h"
#include "Groups.h"
#include <cstdio>
#include <map>
#include <string>

namespace ditron::tests {

static std::map<std::string, std::vector<Kernel> (*)()> &groups() {
  static std::map<std::string, std::vector<Kernel> (*)()> all;
  return all;
}

Group::Group(const char *name, std::vector<Kernel> (*kernels)()) { groups()[name] = kernels; }

/// With the source lines of the ops, which `ir()` leaves out.
static void print(const Kernel &kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/true);
  kernel.traced().module.get()->print(stream, flags);
  std::puts(text.c_str());
}

} // namespace ditron::tests

int main(int argc, char **argv) {
  using namespace ditron;
  auto found = argc == 2 ? tests::groups().find(argv[1]) : tests::groups().end();
  if (found == tests::groups().end()) {
    std::fprintf(stderr, "usage: ditron-trace GROUP; the groups are:");
    for (const auto &group : tests::groups())
      std::fprintf(stderr, " %s", group.first.c_str());
    std::fputs("\n", stderr);
    return 2;
  }
  try {
    for (const Kernel &kernel : found->second())
      tests::print(kernel);
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
