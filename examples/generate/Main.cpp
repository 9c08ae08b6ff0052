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
#include "ditron/support/Error.h"
#include "formats/Json.h"
#include "formats/MappedFile.h"
#include "text/Utf8.h"
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace generate {

namespace {

void printJson(const Json &object) {
  std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

/// The model on the device, with room for so many positions.
Decoder makeDecoder(ditron::Context &ctx, const ModelFile &file, int64_t positions,
                    const CommandLine &line, Progress &progress) {
  const Architecture &model = file.architecture();
  if (positions > model.context)
    throw ditron::UsageError(
        fmt::format("{} tokens of prompt and answer, expected at most {}, the model's context",
                    positions, model.context));
  Decoder decoder(ctx, file, positions, parseMode(line.mode), [&](int64_t layers) {
    progress.show(fmt::format("reading layer {} of {}", layers, model.layers));
  });
  progress.clear();
  return decoder;
}

void measurePerplexity(ditron::Context &ctx, const ModelFile &file, const Tokenizer &tokenizer,
                       const CommandLine &line) {
  std::vector<Token> tokens = tokenizer.encode(readText(line.perplexityFile));
  if (tokens.size() < 2)
    throw ditron::RuntimeError(
        fmt::format("'{}' has {} tokens, expected 2 or more", line.perplexityFile, tokens.size()));
  Progress progress;
  Decoder decoder = makeDecoder(ctx, file, std::ssize(tokens), line, progress);
  double value = perplexity(decoder, tokens, [&](int64_t done) {
    progress.show(fmt::format("{} of {} tokens", done, tokens.size()));
  });
  progress.clear();
  if (line.isJson)
    printJson({{"perplexity", value}, {"tokens", tokens.size()}});
  else
    std::printf("perplexity %.4f of %zu tokens\n", value, tokens.size());
}

/// What is said of the speed.
std::string speedOf(const Generated &generated) {
  return fmt::format("{} tokens, {:.1f} tokens/s", generated.tokens.size(),
                     generated.tokensPerSecond());
}

void continueText(ditron::Context &ctx, const ModelFile &file, const Tokenizer &tokenizer,
                  const CommandLine &line) {
  Sampler sampler(line.sampling);
  std::vector<Token> prompt = line.isChat ? encodeChat(tokenizer, line.instruction, line.prompt)
                                          : tokenizer.encode(line.prompt);
  if (prompt.empty())
    throw ditron::RuntimeError("the model has no tokens for the prompt");
  Progress progress;
  Decoder decoder = makeDecoder(ctx, file, std::ssize(prompt) + line.tokens, line, progress);
  GrowingText text;
  bool grows = !line.isJson && isatty(STDOUT_FILENO) == 1;
  Generated generated =
      generateTokens(decoder, tokenizer, sampler, prompt, line.tokens, [&](const Generated &now) {
        if (grows)
          text.show(tokenizer.decode(now.tokens));
        else
          progress.show(speedOf(now));
      });
  progress.clear();
  std::string whole = tokenizer.decode(generated.tokens);
  if (!line.isJson) {
    text.finish(whole);
    progress.show(speedOf(generated) + "\n");
    return;
  }
  printJson({{"text", repairUtf8(whole)},
             {"tokens", generated.tokens.size()},
             {"seconds", generated.seconds},
             {"tokens_per_second", generated.tokensPerSecond()}});
}

void run(const CommandLine &line) {
  parseMode(line.mode);
  ModelFile file = ModelFile::open(line.model);
  Tokenizer tokenizer(file.tokenizer());
  ditron::Context ctx = ditron::Context::init(line.options);
  if (!line.perplexityFile.empty())
    measurePerplexity(ctx, file, tokenizer, line);
  else
    continueText(ctx, file, tokenizer, line);
}

int fail(const std::exception &error, int status) {
  std::fprintf(stderr, "generate: %s\n", error.what());
  return status;
}

} // namespace

} // namespace generate

int main(int argc, char **argv) {
  try {
    generate::CommandLine line = generate::parseCommandLine(argc, argv);
    if (line.help.empty())
      generate::run(line);
    else
      std::fputs(line.help.c_str(), stdout);
    return 0;
  } catch (const ditron::UsageError &error) {
    return generate::fail(error, 2);
  } catch (const ditron::UnavailableError &error) {
    return generate::fail(error, 3);
  } catch (const std::exception &error) {
    return generate::fail(error, 1);
  }
}
