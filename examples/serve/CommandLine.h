// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/runtime/Options.h"
#include <optional>
#include <string>

namespace serve {

/// What the program was asked to do.
struct CommandLine {
  std::string model;
  std::string host = "127.0.0.1";
  int port = 8080;                ///< 0: any that is free
  int64_t maxBatch = 8;           ///< sequences at a time
  int64_t maxQueue = 64;          ///< requests that wait
  int64_t requestSeconds = 30;    ///< in which a request has to come
  std::optional<int64_t> context; ///< tokens of a prompt and its answer
  int64_t pages = 0;              ///< of the cache; 0: what maxBatch sequences can take
  std::string mode = "automatic";
  ditron::runtime::Options options;
  /// Text for --help; nothing else is asked for then.
  std::string help;
};

/// UsageError naming the option that is wrong.
CommandLine parseCommandLine(int argc, char **argv);

} // namespace serve
