// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"
#include "Program.h"
#include "ditron/support/Error.h"
#include "ditron/support/Parallel.h"
#include "model/Decoder.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace generate {

using ditron::UsageError;

static constexpr const char *kFooter =
    "Exit status: 0 done, 1 the model or a rank failed, 2 wrong usage, 3 the machine or this build "
    "lacks what was asked for.";

static void addOptions(CLI::App &app, CommandLine &line) {
  app.add_option("model", line.model,
                 "a GGUF file, a safetensors file or its index, or a folder with one of them")
      ->required();
  app.add_option("prompt", line.prompt, "what the text begins with");
  app.add_option("--tokens", line.tokens, "generate so many at most (default 128)");
  app.add_option("--prompts", line.promptsFile,
                 "a file of prompts, one a line: a JSON object on stdout for each");
  app.add_option("--batch", line.batch, "the number of prompts at a time (1 to 64; default 8)");
  app.add_option(
      "--mode", line.mode,
      "stream, graph, megakernel or automatic (default): megakernel on CPUs, graph on GPUs");
  app.add_option("--backend", line.options.backend, "cpu (default), nvidia or reference");
  app.add_option("--ranks", line.options.ranks, "devices that share the model (default 1)");
  app.add_option("--cores", line.options.cores, "threads of a rank (default: the CPUs there are)");
  app.add_flag("--chat", line.isChat, "the prompt is a user's message (ChatML)");
  app.add_option("--system", line.instruction, "an instruction in front of the chat");
  app.add_option("--temperature", line.sampling.temperature, "0 (default): the likeliest token");
  app.add_option("--top-k", line.sampling.topK, "take from the K likeliest tokens (0: from all)");
  app.add_option("--top-p", line.sampling.topP, "take from the likeliest that have P together");
  app.add_option("--seed", line.sampling.seed, "what choices follow from (default 0)");
  app.add_option("--perplexity", line.perplexityFile, "of the text in a file; generates nothing");
  app.add_option("--trace", line.traceFile,
                 "the timeline of the last step, for ui.perfetto.dev, or a page *.html");
  app.add_flag("--json", line.isJson, "one JSON object on stdout");
}

static void check(const CommandLine &line) {
  if (line.tokens < 1)
    throw UsageError(fmt::format("--tokens is {}, expected 1 or more", line.tokens));
  if (line.options.cores < 1)
    throw UsageError(fmt::format("--cores is {}, expected 1 or more", line.options.cores));
  if (line.options.ranks < 1)
    throw UsageError(fmt::format("--ranks is {}, expected 1 or more", line.options.ranks));
  if (!line.instruction.empty() && !line.isChat)
    throw UsageError("--system is given, expected --chat with it");
  if (line.batch < 1 || line.batch > DecoderSize::kRows)
    throw UsageError(
        fmt::format("--batch is {}, expected 1 to {}", line.batch, DecoderSize::kRows));
  if (!line.perplexityFile.empty() && (!line.prompt.empty() || line.isChat))
    throw UsageError("--perplexity is of a file, expected neither a prompt nor --chat with it");
  if (!line.promptsFile.empty() && (!line.prompt.empty() || !line.perplexityFile.empty()))
    throw UsageError("--prompts is a file, expected neither a prompt nor --perplexity with it");
  if (line.perplexityFile.empty() && line.promptsFile.empty() && line.prompt.empty())
    throw UsageError("no prompt is given, expected a text behind the model");
}

CommandLine parseCommandLine(int argc, char **argv) {
  CommandLine line;
  line.options.cores = ditron::usableCpus();
  CLI::App app("generate continues a text with a language model.", "generate");
  app.footer(kFooter);
  addOptions(app, line);
  line.help = parse(app, argc, argv);
  if (line.help.empty())
    check(line);
  return line;
}

} // namespace generate
