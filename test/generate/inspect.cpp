// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What examples/generate makes of a model's files, for tests in Python to compare:
//   generate-inspect MODEL tensors    on stdout, of each tensor in the order of their names, a line
//                                     of JSON {"name","shape"} and its elements as f32
//   generate-inspect MODEL tokens     of each line of stdin, a text as JSON, a line {"tokens","text"}:
//                                     its tokens, and these as a text again
//   generate-inspect MODEL chat       the same of users' messages
#include "formats/Json.h"
#include "model/ModelFile.h"
#include "text/Tokenizer.h"
#include "text/Utf8.h"
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

using namespace generate;

static void printTensors(const ModelFile &file) {
  for (const auto &[name, tensor] : file.tensors()) {
    std::vector<float> values(size_t(tensor.elements()));
    dequantise(tensor.format, tensor.bytes, values);
    std::string line = Json{{"name", name}, {"shape", tensor.shape}}.dump() + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fwrite(values.data(), sizeof(float), values.size(), stdout);
  }
}

template <class Encode> static void printTokens(const Tokenizer &tokenizer, const Encode &encode) {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<Token> tokens = encode(Json::parse(line).get<std::string>());
    std::string text = repairUtf8(tokenizer.decode(tokens));
    std::cout << Json{{"tokens", tokens}, {"text", text}}.dump() << "\n";
  }
}

static void inspect(const std::string &path, const std::string &what) {
  ModelFile file = ModelFile::open(path);
  if (what == "tensors")
    return printTensors(file);
  Tokenizer tokenizer(file.tokenizer());
  if (what == "tokens")
    return printTokens(tokenizer, [&](const std::string &text) { return tokenizer.encode(text); });
  if (what == "chat")
    return printTokens(tokenizer,
                       [&](const std::string &text) { return encodeChat(tokenizer, "", text); });
  throw std::runtime_error("'" + what + "', expected tensors, tokens or chat");
}

int main(int argc, char **argv) {
  try {
    inspect(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  } catch (const std::exception &error) {
    std::fprintf(stderr, "generate-inspect: %s\n", error.what());
    return 1;
  }
  return 0;
}
