// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/profile/Profiler.h"
#include "model/Decoder.h"
#include <optional>
#include <string>

namespace generate {

/// UsageError or RuntimeError where no trace can be written to a file of this name.
void requireTraceFile(const std::string &file);

/// Records the steps of a decoder, where a file is given for them. It has to outlive them.
class StepTrace {
public:
  /// `title`: of a page.
  StepTrace(ditron::Context &ctx, std::string file, std::string title, Decoder &decoder);

  /// Writes the last step, a page or a trace by the name of the file, and says on stderr where its time
  /// went. Collective.
  void finish();

private:
  ditron::Context &ctx_;
  std::string file_, title_;
  std::optional<ditron::profile::Profiler> profiler_;
};

} // namespace generate
