// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// generate: continues a text with a language model, whose step is kernels of ditron. The parts:
//
//   formats/  files of weights, and what they hold, block by block
//   text/     tokens of texts and texts of tokens
//   model/    a model as its files have it, and its step as launches of kernels
//
#include "CommandLine.h"
#include "Progress.h"
#include "Run.h"
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/support/Error.h"
#include "ditron/support/StartThread.h"
#include "formats/Json.h"
#include "formats/MappedFile.h"
#include "text/Utf8.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <new>
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
  std::vector<Token> tokens; ///< of the prompt, or of the text whose perplexity is asked for

  /// What there must be room for.
  int64_t positions() const {
    return std::ssize(tokens) + (line.perplexityFile.empty() ? line.tokens : 0);
  }
};

std::vector<Token> tokensOf(const CommandLine &line, const Tokenizer &tokenizer) {
  if (!line.perplexityFile.empty())
    return tokenizer.encode(readText(line.perplexityFile));
  return line.isChat ? encodeChat(tokenizer, line.instruction, line.prompt)
                     : tokenizer.encode(line.prompt);
}

/// UsageError where the job is none for this model.
void check(const Job &job) {
  parseMode(job.line.mode);
  Sampler valid(job.line.sampling);
  const Architecture &model = job.file.architecture();
  model.shard(job.line.options.ranks);
  size_t least = job.line.perplexityFile.empty() ? 1 : 2;
  if (job.tokens.size() < least)
    throw ditron::UsageError(
        fmt::format("the text has {} tokens, expected {} or more", job.tokens.size(), least));
  if (job.positions() > model.context)
    throw ditron::UsageError(
        fmt::format("{} tokens of prompt and answer, expected at most {}, the model's context",
                    job.positions(), model.context));
}

Decoder makeDecoder(const ditron::Context &ctx, const Job &job, Progress &progress) {
  return {ctx, job.file, job.positions(), parseMode(job.line.mode), [&](int64_t layers) {
            progress.show(
                fmt::format("reading layer {} of {}", layers, job.file.architecture().layers));
          }};
}

void measurePerplexity(const ditron::Context &ctx, const Job &job) {
  bool isFirst = ctx.rank() == 0;
  Progress progress(isFirst);
  Decoder decoder = makeDecoder(ctx, job, progress);
  double value = perplexity(decoder, job.tokens, [&](int64_t done) {
    progress.show(fmt::format("{} of {} tokens", done, job.tokens.size()));
  });
  progress.clear();
  if (isFirst && job.line.isJson)
    printJson({{"perplexity", value}, {"tokens", job.tokens.size()}});
  else if (isFirst)
    std::printf("perplexity %.4f of %zu tokens\n", value, job.tokens.size());
}

/// What is said of the speed.
std::string speedOf(const Generated &generated) {
  return fmt::format("{} tokens, {:.1f} tokens/s", generated.tokens.size(),
                     generated.tokensPerSecond());
}

void continueText(const ditron::Context &ctx, const Job &job) {
  bool isFirst = ctx.rank() == 0, isJson = job.line.isJson;
  bool grows = isFirst && !isJson && isatty(STDOUT_FILENO) == 1;
  Sampler sampler(job.line.sampling);
  Progress progress(isFirst);
  Decoder decoder = makeDecoder(ctx, job, progress);
  GrowingText text;
  Generated generated = generateTokens(decoder, job.tokenizer, sampler, job.tokens, job.line.tokens,
                                       [&](const Generated &now) {
                                         if (grows) {
                                           progress.clear();
                                           text.show(job.tokenizer.decode(now.tokens));
                                         } else {
                                           progress.show(speedOf(now));
                                         }
                                       });
  progress.clear();
  if (!isFirst)
    return;
  std::string whole = job.tokenizer.decode(generated.tokens);
  if (isJson)
    return printJson({{"text", repairUtf8(whole)},
                      {"tokens", generated.tokens.size()},
                      {"seconds", generated.seconds},
                      {"tokens_per_second", generated.tokensPerSecond()}});
  text.finish(whole);
  progress.finish(speedOf(generated));
}

void run(const CommandLine &line) {
  ModelFile file = ModelFile::open(line.model);
  Tokenizer tokenizer(file.tokenizer());
  Job job{line, file, tokenizer, tokensOf(line, tokenizer)};
  check(job);
  ditron::runRanks(line.options, [&](ditron::Context &ctx) {
    if (line.perplexityFile.empty())
      continueText(ctx, job);
    else
      measurePerplexity(ctx, job);
  });
}

/// RuntimeError where what was printed could not be written.
void finishOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw ditron::RuntimeError(
        fmt::format("standard output cannot be written: {}", std::strerror(errno)));
}

int fail(const char *problem, int status) {
  std::fprintf(stderr, "generate: %s\n", problem);
  return status;
}

int guardedMain(int argc, char **argv) {
  constexpr int kFailed = 1, kWrongUsage = 2, kUnavailable = 3;
  try {
    CommandLine line = parseCommandLine(argc, argv);
    if (line.help.empty())
      run(line);
    else
      std::fputs(line.help.c_str(), stdout);
    finishOutput();
    return 0;
  } catch (const ditron::UsageError &error) {
    return fail(error.what(), kWrongUsage);
  } catch (const ditron::UnavailableError &error) {
    return fail(error.what(), kUnavailable);
  } catch (const std::bad_alloc &) {
    return fail("the system gives no more memory: take fewer tokens or ranks, or raise the limit "
                "of this process (ulimit -v)",
                kUnavailable);
  } catch (const std::exception &error) {
    return fail(error.what(), kFailed);
  }
}

} // namespace

} // namespace generate

/// Before objects of LLVM's, which take memory too.
[[gnu::constructor(101)]] static void guardStart() { ditron::guardStart(); }

int main(int argc, char **argv) {
  ditron::beginMain();
  std::signal(SIGXFSZ, SIG_IGN); // a limit on the size of files is an error like a full disk
  int status = 0;
  ditron::callOnLargeStack([&] { status = generate::guardedMain(argc, argv); });
  return status;
}
