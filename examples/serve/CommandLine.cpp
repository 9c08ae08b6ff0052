// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"
#include "Program.h"
#include "ditron/support/Error.h"
#include "ditron/support/Parallel.h"
#include "model/Decoder.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace serve {

using ditron::UsageError;

static constexpr const char *kFooter =
    "Exit status: 0 ended by SIGTERM or SIGINT, 1 the model or a launch failed, 2 wrong usage, "
    "3 the machine or this build lacks what was asked for, or the port is taken.";

static void addOptions(CLI::App &app, CommandLine &line) {
  app.add_option("model", line.model,
                 "a GGUF file, a safetensors file or its index, or a folder with one of them")
      ->required();
  app.add_option("--host", line.host, "listen on this address (default 127.0.0.1)");
  app.add_option("--port", line.port, "and port (default 8080; 0: any that is free)");
  app.add_option("--max-batch", line.maxBatch, "sequences at a time (1 to 64; default 8)");
  app.add_option("--max-queue", line.maxQueue, "requests that wait (0 to 1024; default 64)");
  app.add_option("--context", line.context,
                 "tokens of a prompt and its answer (default 2048, or the model's context)");
  app.add_option("--pages", line.pages,
                 "of 64 positions, of the cache (default: for --max-batch sequences)");
  app.add_option(
      "--mode", line.mode,
      "stream, graph, megakernel or automatic (default): megakernel on CPUs, graph on GPUs");
  app.add_option("--backend", line.options.backend, "cpu (default), nvidia or reference");
  app.add_option("--ranks", line.options.ranks, "devices that share the model (default 1)");
  app.add_option("--cores", line.options.cores, "threads of a rank (default: the CPUs there are)");
}

static void check(const CommandLine &line) {
  generate::expect("--port", line.port, 0, 65535);
  generate::expect("--max-batch", line.maxBatch, 1, generate::DecoderSize::kRows);
  generate::expect("--max-queue", line.maxQueue, 0, 1024);
  generate::expect("--context", line.context, 2, int64_t(1) << 24);
  generate::expect("--pages", line.pages, 0, int64_t(1) << 24);
  generate::expect("--ranks", line.options.ranks, 1, 4096);
  generate::expect("--cores", line.options.cores, 1, 4096);
  generate::chooseMode(line.mode, line.options.backend);
}

CommandLine parseCommandLine(int argc, char **argv) {
  CommandLine line;
  line.options.cores = ditron::usableCpus();
  line.options.transport = ditron::runtime::TransportKind::threads; // one process answers
  CLI::App app("serve answers requests to a language model, as OpenAI's API has them.", "serve");
  app.footer(kFooter);
  addOptions(app, line);
  line.help = generate::parse(app, argc, argv);
  if (line.help.empty())
    check(line);
  return line;
}

} // namespace serve
