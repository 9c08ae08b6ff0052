// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// generate: continues a text with a language model, whose step is kernels of ditron. The parts:
//
//   formats/  files of weights, and what they hold, block by block
//   text/     tokens of texts and texts of tokens
//   model/    a model as its files have it, and its step as launches of kernels
//   batch/    sequences that take their steps together
//
#include "CommandLine.h"
#include "Program.h"
#include "Progress.h"
#include "Run.h"
#include "StepTrace.h"
#include "ditron/support/Error.h"
#include "formats/Json.h"
#include "formats/MappedFile.h"
#include "text/Utf8.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace generate {

namespace {

void printJson(const Json &object) {
  std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

/// What all ranks do together.
struct Job {
  const CommandLine &line;
  const ModelFile &file;
  const Tokenizer &tokenizer;
  /// Of the prompts, or of the text whose perplexity is asked for.
  std::vector<std::vector<Token>> texts;

  /// What there must be room for.
  int64_t positions() const {
    size_t longest = 0;
    for (const std::vector<Token> &text : texts)
      longest = std::max(longest, text.size());
    return int64_t(longest) + (line.perplexityFile.empty() ? line.tokens : 0);
  }
  DecoderSize size() const {
    return {.positions = positions(), .sequences = std::min(std::ssize(texts), line.batch)};
  }
};

/// Each is one line of the file, or the prompt of the command line.
std::vector<std::string> promptsOf(const CommandLine &line) {
  if (line.promptsFile.empty())
    return {line.prompt};
  std::vector<std::string> prompts;
  std::istringstream lines(readText(line.promptsFile));
  for (std::string prompt; std::getline(lines, prompt);)
    prompts.push_back(prompt);
  return prompts;
}

std::vector<std::vector<Token>> textsOf(const CommandLine &line, const Tokenizer &tokenizer) {
  if (!line.perplexityFile.empty())
    return {tokenizer.encode(readText(line.perplexityFile))};
  std::vector<std::vector<Token>> texts;
  for (const std::string &prompt : promptsOf(line))
    texts.push_back(line.isChat ? encodeChat(tokenizer, line.instruction, prompt)
                                : tokenizer.encode(prompt));
  return texts;
}

/// UsageError where the job is none for this model.
void check(const Job &job) {
  chooseMode(job.line.mode, job.line.options.backend);
  Sampler valid(job.line.sampling);
  const Architecture &model = job.file.architecture();
  model.shard(job.line.options.ranks);
  size_t least = job.line.perplexityFile.empty() ? 1 : 2;
  if (job.texts.empty())
    throw ditron::UsageError(
        fmt::format("'{}' has no line, expected a prompt a line", job.line.promptsFile));
  for (const std::vector<Token> &text : job.texts)
    if (text.size() < least)
      throw ditron::UsageError(
          fmt::format("the text has {} tokens, expected {} or more", text.size(), least));
  if (job.positions() > model.context)
    throw ditron::UsageError(
        fmt::format("{} tokens of prompt and answer, expected at most {}, the model's context",
                    job.positions(), model.context));
}

Decoder makeDecoder(const ditron::Context &ctx, const Job &job, Progress &progress) {
  return {ctx, job.file, job.size(), chooseMode(job.line.mode, job.line.options.backend),
          [&](int64_t layers) {
            progress.show(
                fmt::format("reading layer {} of {}", layers, job.file.architecture().layers));
          }};
}

void measurePerplexity(const ditron::Context &ctx, const Job &job) {
  bool isFirst = ctx.rank() == 0;
  Progress progress(isFirst);
  Decoder decoder = makeDecoder(ctx, job, progress);
  double value = perplexity(decoder, job.texts.front(), [&](int64_t done) {
    progress.show(fmt::format("{} of {} tokens", done, job.texts.front().size()));
  });
  progress.clear();
  if (isFirst && job.line.isJson)
    printJson({{"perplexity", value}, {"tokens", job.texts.front().size()}});
  else if (isFirst)
    std::printf("perplexity %.4f of %zu tokens\n", value, job.texts.front().size());
}

/// What is said of the speed.
std::string speedOf(const Generated &generated) {
  return fmt::format("{} tokens, {:.1f} tokens/s", generated.tokens.size(),
                     generated.tokensPerSecond());
}

Json jsonOf(const Tokenizer &tokenizer, const Generated &generated) {
  Json json = {{"text", repairUtf8(tokenizer.decode(generated.tokens))},
               {"tokens", generated.tokens.size()},
               {"prompt_seconds", generated.promptSeconds},
               {"seconds", generated.seconds},
               {"tokens_per_second", generated.tokensPerSecond()}};
  if (!generated.error.empty())
    json["error"] = generated.error;
  return json;
}

void continueText(ditron::Context &ctx, const Job &job) {
  bool isFirst = ctx.rank() == 0, isJson = job.line.isJson;
  bool grows = isFirst && !isJson && isatty(STDOUT_FILENO) == 1;
  Progress progress(isFirst);
  Decoder decoder = makeDecoder(ctx, job, progress);
  StepTrace trace(ctx, job.line.traceFile, "generate", decoder);
  GrowingText text;
  auto show = [&](size_t, const Generated &now) {
    if (!grows)
      return progress.show(speedOf(now));
    progress.clear();
    text.show(job.tokenizer.decode(now.tokens));
  };
  Generated generated =
      generateTokens(decoder, job.tokenizer, job.line.sampling, job.texts, job.line.tokens, show)
          .front();
  progress.clear();
  if (!generated.error.empty())
    throw ditron::RuntimeError(generated.error);
  trace.finish();
  if (!isFirst)
    return;
  if (isJson)
    return printJson(jsonOf(job.tokenizer, generated));
  text.finish(job.tokenizer.decode(generated.tokens));
  progress.finish(speedOf(generated));
}

/// A line of JSON for each prompt, in their order.
void continueTexts(ditron::Context &ctx, const Job &job) {
  Progress progress(ctx.rank() == 0);
  Decoder decoder = makeDecoder(ctx, job, progress);
  StepTrace trace(ctx, job.line.traceFile, "generate", decoder);
  int64_t done = 0;
  std::vector<Generated> results = generateTokens(
      decoder, job.tokenizer, job.line.sampling, job.texts, job.line.tokens,
      [&](size_t, const Generated &) { progress.show(fmt::format("{} tokens", ++done)); });
  progress.clear();
  trace.finish();
  if (ctx.rank() == 0)
    for (const Generated &generated : results)
      printJson(jsonOf(job.tokenizer, generated));
  auto failed =
      std::ranges::count_if(results, [](const Generated &one) { return !one.error.empty(); });
  if (failed > 0)
    throw ditron::RuntimeError(
        fmt::format("{} of {} prompts: {}", failed, results.size(), kNoNumbers));
}

void run(const CommandLine &line) {
  ModelFile file = ModelFile::open(line.model);
  Tokenizer tokenizer(file.tokenizer());
  Job job{line, file, tokenizer, textsOf(line, tokenizer)};
  check(job);
  ditron::runRanks(line.options, [&](ditron::Context &ctx) {
    if (!line.perplexityFile.empty())
      measurePerplexity(ctx, job);
    else if (!line.promptsFile.empty())
      continueTexts(ctx, job);
    else
      continueText(ctx, job);
  });
}

} // namespace

} // namespace generate

int main(int argc, char **argv) {
  return generate::runProgram("generate", [&] {
    generate::CommandLine line = generate::parseCommandLine(argc, argv);
    if (line.help.empty())
      generate::run(line);
    else
      std::fputs(line.help.c_str(), stdout);
  });
}
