// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of a language model, as `generate` reads them: weights, sizes and tokenizer. ModelText.h
// says how a text is such files.
#include "FuzzTargets.h"
#include "ModelText.h"
#include "OwnFolder.h"
#include "model/ModelFile.h"
#include "text/Tokenizer.h"
#include <algorithm>
#include <cstdlib>

namespace ditron::fuzz {

namespace {

using generate::ModelFile;
using generate::StoredTensor;
using generate::Token;
using generate::Tokenizer;

/// Sizes that ranks and kernels are made of are those of real models.
void readSizes(const ModelFile &file) {
  const generate::Architecture &model = file.architecture();
  bool isSound = model.heads > 0 && model.headSize > 0 && model.width > 0 && model.vocabulary > 0;
  if (!isSound || std::ssize(file.tokenizer().tokens) > model.vocabulary)
    std::abort();
  for (int64_t ranks : {1, 2, 3})
    allowErrors([&] { (void)model.shard(ranks); });
  allowErrors(
      [&] { (void)file.tensor(generate::Role::embedding, {model.vocabulary, model.width}); });
}

void readWeights(const ModelFile &file) {
  constexpr int64_t kMostElements = 1 << 16;
  for (const auto &[name, tensor] : file.tensors()) {
    std::vector<float> values(size_t(std::min(tensor.elements(), kMostElements + 1)));
    if (tensor.elements() <= kMostElements)
      generate::dequantise(tensor.format, tensor.bytes, values);
  }
}

/// Tokens are those of the vocabulary, and any number may come back from a model.
void readTexts(const ModelFile &file) {
  Tokenizer tokenizer(file.tokenizer());
  for (const char *text :
       {"The capital of France is", "x1 234\n\n  \xC3\xA9\xE2\x82\xAC <|im_end|>s"})
    allowErrors([&] {
      std::vector<Token> tokens = tokenizer.encode(text);
      for (Token token : tokens)
        if (token < 0 || token >= file.architecture().vocabulary)
          std::abort();
      (void)tokenizer.decode(tokens);
    });
  allowErrors([&] { (void)encodeChat(tokenizer, "Be brief.", "Hello"); });
  const Token any[] = {0, Token(file.architecture().vocabulary - 1), 1 << 30, -1};
  (void)tokenizer.decode(any);
}

void read(std::string_view bytes) {
  OwnFolder folder;
  std::string path = writeModel(folder.path(), std::string(bytes)).string();
  allowErrors([&] {
    ModelFile file = ModelFile::open(path);
    readSizes(file);
    readWeights(file);
    readTexts(file);
  });
}

} // namespace

const Target generateTarget = {"generate", read};

} // namespace ditron::fuzz
