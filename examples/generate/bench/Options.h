// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bench/RandomModel.h"
#include "ditron/driver/TaskProgram.h"
#include "ditron/runtime/Options.h"
#include "ditron/support/DType.h"
#include "model/Decoder.h"
#include <optional>
#include <string>
#include <vector>

namespace generate {

/// What decode-bench was asked to do.
struct BenchOptions {
  std::string model = "qwen3-0.6b", dtypeName = "bf16";
  int64_t layers = 0; ///< 0: as many as the model has
  int64_t batch = 1, context = 512, checked = 4;
  double seconds = 2;
  bool isText = false;             ///< prints the graph of a step, and takes none
  std::string traceFile;           ///< of a step of the last mode; empty: none is recorded
  std::optional<double> bandwidth; ///< bytes a second; it is measured otherwise
  std::vector<std::string> modeNames = {"stream"};
  ditron::runtime::Options options;
  std::string help; ///< text for --help; nothing else is asked for then

  WeightType weightType() const;
  std::vector<ditron::Mode> modes() const;
  /// Of the decoders, whose kernels are the same in all modes, for their results to be compared.
  DecoderSize size() const;
};

/// UsageError naming the option that is wrong.
BenchOptions parseBenchOptions(int argc, char **argv);

} // namespace generate
