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
#include "ditron/support/File.h"
#include "formats/Json.h"
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

/// Where a text is from.
std::string placeOf(const CommandLine &line, size_t number) {
  if (!line.perplexityFile.empty())
    return fmt::format("'{}'", line.perplexityFile);
  if (line.promptsFile.empty())
    return "the prompt";
  return fmt::format("'{}', line {}", line.promptsFile, number + 1);
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
    return int64_t(positionsOf(longest));
  }
  /// Of any --tokens.
  uint64_t positionsOf(size_t tokens) const {
    return tokens + uint64_t(line.perplexityFile.empty() ? line.tokens : 0);
  }
  DecoderSize size() const {
    return {.positions = positions(), .sequences = std::min(std::ssize(texts), line.batch)};
  }
};

constexpr size_t kLongestFile = size_t(1) << 30;

/// Each is one line of the file, or the prompt of the command line; or it is the text whose perplexity is
/// asked for.
std::vector<std::string> promptsOf(const CommandLine &line) {
  if (!line.perplexityFile.empty())
    return {ditron::readFile(line.perplexityFile, kLongestFile)};
  if (line.promptsFile.empty())
    return {line.prompt};
  std::vector<std::string> prompts;
  std::istringstream lines(ditron::readFile(line.promptsFile, kLongestFile));
  for (std::string prompt; std::getline(lines, prompt);) {
    if (prompt.ends_with('\r')) // of a file whose lines end in CR LF
      prompt.pop_back();
    prompts.push_back(prompt);
  }
  return prompts;
}

void requireUtf8(const std::string &place, const std::string &text) {
  if (std::optional<size_t> byte = findInvalidUtf8(text))
    throw ditron::RuntimeError(fmt::format("{}: the text is not UTF-8 at byte {}", place, *byte));
}

std::vector<Token> encode(const CommandLine &line, const Tokenizer &tokenizer, size_t number,
                          const std::string &text) {
  requireUtf8(placeOf(line, number), text);
  requireUtf8("--system", line.instruction);
  return line.isChat ? encodeChat(tokenizer, line.instruction, text) : tokenizer.encode(text);
}

std::vector<std::vector<Token>> textsOf(const CommandLine &line, const Tokenizer &tokenizer) {
  std::vector<std::vector<Token>> texts;
  for (const std::string &text : promptsOf(line))
    texts.push_back(encode(line, tokenizer, texts.size(), text));
  return texts;
}

/// UsageError where a text is none for this model.
void checkText(const Job &job, size_t number) {
  size_t least = job.line.perplexityFile.empty() ? 1 : 2, found = job.texts[number].size();
  int64_t most = job.file.architecture().context;
  if (found < least)
    throw ditron::UsageError(fmt::format("{}: the text has {} tokens, expected {} or more",
                                         placeOf(job.line, number), found, least));
  if (uint64_t positions = job.positionsOf(found); positions > uint64_t(most))
    throw ditron::UsageError(fmt::format(
        "{}: {} tokens{}, expected at most {}, the model's context", placeOf(job.line, number),
        positions, job.line.perplexityFile.empty() ? " of prompt and answer" : "", most));
}

/// UsageError where options of sampling would have no effect.
void checkSampling(const SamplerOptions &options) {
  Sampler inRange(options);
  const char *useless = options.topK != 0 ? "--top-k" : options.seed != 0 ? "--seed" : "--top-p";
  bool isUseless = options.topK != 0 || options.seed != 0 || options.topP != 1;
  if (inRange.isGreedy() && isUseless)
    throw ditron::UsageError(
        fmt::format("{} is given without --temperature, where the likeliest token is taken: "
                    "expected both, or none",
                    useless));
}

/// UsageError where the job is none for this model.
void check(const Job &job) {
  chooseMode(job.line.mode);
  checkSampling(job.line.sampling);
  const Architecture &model = job.file.architecture();
  model.shard(job.line.options.ranks);
  if (job.texts.empty())
    throw ditron::UsageError(
        fmt::format("'{}' has no line, expected a prompt a line", job.line.promptsFile));
  for (size_t number = 0; number < job.texts.size(); ++number)
    checkText(job, number);
  if (!job.line.traceFile.empty())
    requireTraceFile(job.line.traceFile);
}

Decoder makeDecoder(const ditron::Context &ctx, const Job &job, Progress &progress) {
  return {ctx, job.file, job.size(), chooseMode(job.line.mode), [&](int64_t layers) {
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
  if (isFirst && isJson)
    printJson(jsonOf(job.tokenizer, generated));
  if (isFirst && !isJson) {
    text.finish(job.tokenizer.decode(generated.tokens));
    progress.finish(speedOf(generated));
  }
  trace.finish();
}

/// Prints what is done in the order of the prompts, as soon as those before it are.
class LinesInOrder {
public:
  explicit LinesInOrder(size_t count) : waiting_(count) {}
  void add(size_t number, Json line) {
    waiting_[number] = std::move(line);
    for (; next_ < waiting_.size() && waiting_[next_]; waiting_[next_++].reset())
      printJson(*waiting_[next_]);
    flushOutput();
  }

private:
  std::vector<std::optional<Json>> waiting_;
  size_t next_ = 0;
};

/// A line of JSON for each prompt, in their order.
void continueTexts(ditron::Context &ctx, const Job &job) {
  bool isFirst = ctx.rank() == 0;
  Progress progress(isFirst);
  Decoder decoder = makeDecoder(ctx, job, progress);
  StepTrace trace(ctx, job.line.traceFile, "generate", decoder);
  LinesInOrder lines(job.texts.size());
  int64_t tokens = 0;
  std::vector<Generated> results =
      generateTokens(decoder, job.tokenizer, job.line.sampling, job.texts, job.line.tokens,
                     [&](size_t number, const Generated &now) {
                       if (isFirst && now.isDone) {
                         progress.clear();
                         lines.add(number, jsonOf(job.tokenizer, now));
                       }
                       progress.show(fmt::format("{} tokens", ++tokens));
                     });
  progress.clear();
  trace.finish();
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
