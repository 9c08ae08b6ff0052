// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explores textual IR, for the tests of the explorer.
#pragma once
#include "ditron/checker/CheckSubject.h"
#include "ditron/checker/explore/Explorer.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ditron::checker {

/// A kernel in textual IR, and the trace of each of its cores alone.
class Source {
public:
  Source(const std::string &text, const CheckOptions &options)
      : parsed_(TextualIR{text}), subject_(parsed_.subject(options)),
        trace_(record(subject_, options, {.isAlone = true}).trace) {}

  Exploration explore(const ExploreOptions &options = {}) const {
    return checker::explore(trace_, options);
  }

  const Trace &trace() const { return trace_; }

private:
  Parsed parsed_;
  Subject subject_;
  Trace trace_;
};

/// All that was found, for messages.
inline std::string toString(const Exploration &exploration) {
  Verdict verdict;
  verdict.method = exploration.isExhaustive ? Method::exhaustive : Method::sampled;
  verdict.states = exploration.states;
  for (const Explained &one : exploration.findings)
    verdict.findings.push_back(one.finding);
  return verdict.text();
}

} // namespace ditron::checker
