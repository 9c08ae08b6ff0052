// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// serve: answers requests to a language model over HTTP, as OpenAI's API has them. The parts:
//
//   engine/   the loop that steps a batch of sequences, which requests join and leave; ranks that follow it
//   http/     requests and answers as JSON, and the connections
//
// The model and the batch are those of examples/generate.
#include "CommandLine.h"
#include "Program.h"
#include "Signals.h"
#include "engine/Calls.h"
#include "http/Service.h"
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>

namespace serve {

using namespace generate;

namespace {

/// The name of the file, or of the folder.
std::string nameOf(const std::string &path) {
  std::filesystem::path file = std::filesystem::path(path).lexically_normal();
  if (!file.has_filename())
    file = file.parent_path();
  return file.extension() == ".gguf" ? file.stem().string() : file.filename().string();
}

/// UsageError where the model takes no such context.
DecoderSize sizeOf(const CommandLine &line, const Architecture &model) {
  constexpr int64_t kUsual = 2048;
  if (line.context)
    expect("--context", *line.context, 2, model.context);
  return {.positions = line.context.value_or(std::min(kUsual, model.context)),
          .sequences = line.maxBatch,
          .pages = line.pages};
}

/// What a rank other than 0 does: what rank 0's decoder does, call by call.
void follow(int rank, Decoder &decoder, Calls &calls) {
  while (std::optional<DecoderCall> call = calls.next(rank)) {
    decoder.follow(*call);
    decoder.wait();
  }
}

/// What rank 0 does.
void answer(const CommandLine &line, Decoder &decoder, const Tokenizer &tokenizer,
            SignalWatch &watch) {
  Engine engine(decoder, tokenizer, line.maxQueue);
  SignalWatch::Answering answering(watch, [&] { engine.end(); });
  Served served{nameOf(line.model), tokenizer, engine.context()};
  constexpr int64_t kSpare = 16; // connections that are told that the queue is full
  Service service(engine, served,
                  {.connections = line.maxBatch + line.maxQueue + kSpare,
                   .patience = std::chrono::seconds(line.requestSeconds)});
  std::string url = service.start(line.host, line.port);
  std::printf("serve: %s at %s\n", served.model.c_str(), url.c_str());
  flushOutput();
  engine.run();
  service.stop();
}

/// Has the others follow rank 0 as long as it answers.
class Lead {
public:
  Lead(Calls &calls, Decoder &decoder) : calls_(calls) {
    decoder.tell([&calls](const DecoderCall &call) { calls.add(call); });
  }
  ~Lead() { calls_.end(); }
  Lead(const Lead &) = delete;
  Lead &operator=(const Lead &) = delete;

private:
  Calls &calls_;
};

void serveWith(ditron::Context &ctx, const CommandLine &line, const ModelFile &file,
               const Tokenizer &tokenizer, Calls &calls, SignalWatch &watch) {
  Decoder decoder(ctx, file, sizeOf(line, file.architecture()), chooseMode(line.mode));
  for (int64_t rows = 1; rows <= DecoderSize::kRows; rows *= 2)
    decoder.prepare(rows);
  ctx.assemble(); // a rank that has not come this far follows nobody
  if (ctx.rank() != 0)
    return follow(ctx.rank(), decoder, calls);
  Lead lead(calls, decoder);
  answer(line, decoder, tokenizer, watch);
}

void run(const CommandLine &line) {
  SignalWatch watch;
  ModelFile file = ModelFile::open(line.model);
  Tokenizer tokenizer(file.tokenizer());
  file.architecture().shard(line.options.ranks); // UsageError where it cannot be
  sizeOf(line, file.architecture());
  Calls calls(line.options.ranks);
  ditron::runRanks(line.options, [&](ditron::Context &ctx) {
    serveWith(ctx, line, file, tokenizer, calls, watch);
  });
}

} // namespace

} // namespace serve

int main(int argc, char **argv) {
  serve::holdSignals(); // before there are other threads
  return generate::runProgram("serve", [&] {
    serve::CommandLine line = serve::parseCommandLine(argc, argv);
    if (line.help.empty())
      serve::run(line);
    else
      std::fputs(line.help.c_str(), stdout);
  });
}
