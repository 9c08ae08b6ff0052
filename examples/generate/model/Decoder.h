// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/TaskProgram.h"
#include "model/Step.h"
#include "text/TokenizerSpec.h"
#include <string_view>

namespace generate {

/// UsageError listing the names otherwise.
ditron::Mode parseMode(std::string_view name);

/// A model on a device, with a cache for one sequence.
class Decoder {
public:
  /// Room for so many positions. `progress`: see loadWeights.
  Decoder(
      const ditron::Context &ctx, const ModelFile &file, int64_t positions, ditron::Mode mode,
      const std::function<void(int64_t)> &progress = [](int64_t) {});

  /// Enqueues the step of the next token of the sequence. RuntimeError where there is no room.
  void step(Token token);
  /// After the last step: the likeliest next token, and the logits of all. Wait for the step.
  /// RuntimeError where the logits are no numbers: no token is the likeliest.
  Token best() const;
  std::vector<float> logits() const;
  int64_t position() const { return position_; }
  int64_t positions() const { return positions_; }

private:
  Weights weights_;
  std::vector<LayerCache> caches_;
  Tensor token_, at_, best_, logits_;
  ditron::TaskProgram program_;
  int64_t position_ = 0, positions_;
};

} // namespace generate
