// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"
#include "Program.h"
#include "ditron/support/Error.h"
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
                 "a GGUF file, a safetensors file or its index, or the folder that has it")
      ->required();
  app.add_option("prompt", line.prompt, "what the text begins with");
  addInteger(app, "--tokens", line.tokens, "generate so many at most (default 128)", 1);
  app.add_option("--prompts", line.promptsFile,
                 "a file of prompts, one a line: a JSON object on stdout for each");
  addInteger(app, "--batch", line.batch, "the number of prompts at a time (1 to 64; default 8)", 1,
             DecoderSize::kRows);
  app.add_option("--mode", line.mode,
                 "stream, graph, megakernel or automatic (default): megakernel, but graph on GPUs "
                 "where weights do not stream");
  addDevices(app, line.options);
  app.add_flag("--chat", line.isChat, "the prompt is a user's message (ChatML)");
  app.add_option("--system", line.instruction, "an instruction in front of the chat");
  addReal(app, "--temperature", line.sampling.temperature, "0 (default): the likeliest token");
  addInteger(app, "--top-k", line.sampling.topK, "take from the K likeliest tokens (0: from all)",
             0);
  addReal(app, "--top-p", line.sampling.topP, "take from the likeliest that have P together");
  addInteger(app, "--seed", line.sampling.seed, "what choices follow from (default 0)", 0);
  app.add_option("--perplexity", line.perplexityFile, "of the text in a file; generates nothing");
  app.add_option("--trace", line.traceFile,
                 "the timeline of the last step, for ui.perfetto.dev, or a page *.html");
  app.add_flag("--json", line.isJson, "one JSON object on stdout");
}

/// Options without effect where nothing is generated.
static void refuseBesidePerplexity(const CLI::App &app) {
  for (const char *option :
       {"--tokens", "--temperature", "--top-k", "--top-p", "--seed", "--trace"})
    if (app.count(option) > 0)
      throw UsageError(fmt::format(
          "{} is given with --perplexity, which generates nothing: expected one of them", option));
}

static void check(const CLI::App &app, const CommandLine &line) {
  if (!line.instruction.empty() && !line.isChat)
    throw UsageError("--system is given, expected --chat with it");
  if (!line.perplexityFile.empty() && (!line.prompt.empty() || line.isChat))
    throw UsageError("--perplexity is of a file, expected neither a prompt nor --chat with it");
  if (!line.promptsFile.empty() && (!line.prompt.empty() || !line.perplexityFile.empty()))
    throw UsageError("--prompts is a file, expected neither a prompt nor --perplexity with it");
  if (!line.perplexityFile.empty())
    refuseBesidePerplexity(app);
  if (app.count("--batch") > 0 && line.promptsFile.empty())
    throw UsageError("--batch is given, expected --prompts with it");
  if (line.perplexityFile.empty() && line.promptsFile.empty() && line.prompt.empty())
    throw UsageError("no prompt is given, expected a text behind the model");
}

CommandLine parseCommandLine(int argc, char **argv) {
  CommandLine line;
  CLI::App app("generate continues a text with a language model.", "generate");
  app.footer(kFooter);
  addOptions(app, line);
  line.help = parse(app, argc, argv);
  if (line.help.empty())
    check(app, line);
  return line;
}

} // namespace generate
