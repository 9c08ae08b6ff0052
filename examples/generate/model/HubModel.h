// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "model/Architecture.h"
#include "text/TokenizerSpec.h"
#include <string>

namespace generate {

/// What config.json says, as models of the Hugging Face hub have it. RuntimeError naming the file
/// and the key that is missing or not ours.
Architecture readHubArchitecture(const std::string &config);
/// What tokenizer.json says; config.json has the tokens that begin and end a text.
TokenizerSpec readHubTokenizer(const std::string &tokenizer, const std::string &config);

} // namespace generate
