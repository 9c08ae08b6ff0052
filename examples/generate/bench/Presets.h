// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "model/Architecture.h"
#include <string>

namespace generate {

/// The sizes of a model that somebody publishes.
struct Preset {
  Architecture architecture;
  bool isTied = false; ///< the embeddings are the head's weights too
};

/// UsageError listing the names otherwise.
Preset presetOf(const std::string &name);
/// "qwen3-8b, ...", for messages.
std::string presetNames();

} // namespace generate
