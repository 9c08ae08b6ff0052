// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/runtime/Options.h"
#include <string>

namespace serve {

/// What the program was asked to do.
struct CommandLine {
  std::string model;
  std::string host = "127.0.0.1";
  int port = 8080;        ///< 0: any that is free
  int64_t maxBatch = 8;   ///< sequences at a time
  int64_t maxQueue = 64;  ///< requests that wait
  int64_t context = 2048; ///< tokens of a prompt and its answer, where the model takes as many
  int64_t pages = 0;      ///< of the cache; 0: what maxBatch sequences can take
  std::string mode = "automatic";
  ditron::runtime::Options options;
  /// Text for --help; nothing else is asked for then.
  std::string help;
};

/// UsageError naming the option that is wrong.
CommandLine parseCommandLine(int argc, char **argv);

} // namespace serve
