// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"
#include "Program.h"
#include "model/Decoder.h"
#include <CLI/CLI.hpp>

namespace serve {

using generate::addInteger;

static constexpr const char *kFooter =
    "Exit status: 0 ended by SIGTERM or SIGINT, 1 the model or a launch failed, 2 wrong usage, "
    "3 the machine or this build lacks what was asked for, or the port is taken.";

static void addOptions(CLI::App &app, CommandLine &line) {
  app.add_option("model", line.model,
                 "a GGUF file, a safetensors file or its index, or the folder that has it")
      ->required();
  app.add_option("--host", line.host, "listen on this address (default 127.0.0.1)");
  constexpr int64_t kMost = int64_t(1) << 24;
  addInteger(app, "--port", line.port, "and port (default 8080; 0: any that is free)", 0, 65535);
  addInteger(app, "--max-batch", line.maxBatch, "sequences at a time (1 to 64; default 8)", 1,
             generate::DecoderSize::kRows);
  addInteger(app, "--max-queue", line.maxQueue, "requests that wait (0 to 1024; default 64)", 0,
             1024);
  addInteger(app, "--request-seconds", line.requestSeconds,
             "in which the header of a request has to come, and its body (default 30)", 1, 3600);
  addInteger(app, "--context", line.context,
             "tokens of a prompt and its answer (default 2048, or the model's context)", 2, kMost);
  addInteger(app, "--pages", line.pages,
             "of 64 positions, of the cache (default: for --max-batch sequences)", 1, kMost);
  app.add_option("--mode", line.mode,
                 "stream, graph, megakernel or automatic (default): megakernel, but graph on GPUs "
                 "where weights do not stream");
  generate::addDevices(app, line.options);
}

CommandLine parseCommandLine(int argc, char **argv) {
  CommandLine line;
  line.options.transport = ditron::runtime::TransportKind::threads; // one process answers
  CLI::App app("serve answers requests to a language model, as OpenAI's API has them.", "serve");
  app.footer(kFooter);
  addOptions(app, line);
  line.help = generate::parse(app, argc, argv);
  if (line.help.empty())
    generate::chooseMode(line.mode);
  return line;
}

} // namespace serve
