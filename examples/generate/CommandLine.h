// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "Sampler.h"
#include "ditron/runtime/Options.h"
#include <string>

namespace generate {

/// What the program was asked to do.
struct CommandLine {
  std::string model, prompt, traceFile, promptsFile, perplexityFile;
  int64_t tokens = 128;
  int64_t batch = 8; ///< sequences at a time, of those of a file
  std::string mode = "automatic";
  bool isChat = false, isJson = false;
  std::string instruction; ///< to the model, in front of a chat
  SamplerOptions sampling;
  ditron::runtime::Options options;
  /// Text for --help; nothing else is asked for then.
  std::string help;
};

/// UsageError naming the option that is wrong.
CommandLine parseCommandLine(int argc, char **argv);

} // namespace generate
