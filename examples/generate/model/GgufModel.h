// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "formats/Gguf.h"
#include "model/Architecture.h"
#include "text/TokenizerSpec.h"

namespace generate {

/// What the metadata of a GGUF file says. RuntimeError naming the key that is missing or not ours.
Architecture architectureOf(const Gguf &file);
TokenizerSpec tokenizerOf(const Gguf &file);

} // namespace generate
