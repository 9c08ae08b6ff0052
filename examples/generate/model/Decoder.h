// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "model/Step.h"
#include "text/TokenizerSpec.h"
#include <optional>
#include <string_view>

namespace generate {

/// How the launches of a step are done.
enum class Mode {
  stream,    ///< one by one
  graph,     ///< recorded once, launched as a whole
  megakernel ///< as one kernel
};
/// UsageError listing the names otherwise.
Mode parseMode(std::string_view name);

/// A model on a device, with a cache for one sequence.
class Decoder {
public:
  /// Room for so many positions. `progress`: see loadWeights.
  Decoder(ditron::Context &ctx, const ModelFile &file, int64_t positions, Mode mode,
          const std::function<void(int64_t)> &progress = [](int64_t) {});

  /// Enqueues the step of the next token of the sequence. RuntimeError where there is no room.
  void step(Token token);
  /// After the last step: the likeliest next token, and the logits of all. Wait for the step.
  Token best() const;
  std::vector<float> logits() const;
  int64_t position() const { return position_; }
  int64_t positions() const { return positions_; }
  /// Launches of a step.
  size_t launches() const { return launches_.size(); }

private:
  ditron::Context &ctx_;
  Weights weights_;
  StepTensors tensors_;
  Launches launches_;
  std::optional<ditron::Graph> graph_;
  int64_t position_ = 0, positions_;
};

} // namespace generate
