// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/check/Check.h"
#include "ditron/check/CheckSubject.h"
#include "ditron/check/Explain.h"
#include "ditron/device/DistOps.h"
#include "ditron/support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <set>

using namespace mlir;

namespace ditron {
namespace checker {

namespace {

/// One check: what is found in all of its runs, each once.
class Session {
public:
  Session(const Subject &subject, const CheckOptions &options)
      : subject_(subject), options_(options) {
    verdict_.kernel = subject.name;
    verdict_.options = options;
    collectWaivers();
  }

  Checked run() {
    Recording first = record(subject_, options_);
    bool isExact = analyse(first);
    bool stays = true; // every schedule so far did the same
    for (int64_t n = 0; n < options_.schedules; ++n) {
      Recording other = record(subject_, options_, {options_.seed + static_cast<uint64_t>(n)});
      ++verdict_.schedules;
      verdict_.operations += other.operations;
      if (other.fingerprints == first.fingerprints && other.isComplete == first.isComplete)
        continue;
      stays = false;
      analyse(other);
    }
    if (!stays && verdict_.findings.empty())
      note("the cores do not do the same in every schedule: what they do depends on the order of "
           "atomic operations");
    verdict_.method = isExact && stays ? Method::proved : Method::sampled;
    return {std::move(verdict_), std::move(first.outputs)};
  }

private:
  /// Adds what a run shows. Whether it shows it for all schedules.
  bool analyse(const Recording &recording) {
    if (verdict_.schedules == 0) {
      verdict_.schedules = 1;
      verdict_.operations = recording.operations;
      for (const Thread &thread : recording.trace.threads)
        verdict_.events += thread.size();
    }
    const Trace &trace = recording.trace;
    Causality causality(trace.threads, trace.counters.size());
    RaceReport races = findRaces(trace, causality);
    for (const Race &race : races.races)
      add(trace, explainRace(trace, causality, race));
    addRest(recording, races);
    if (recording.isOverBudget) {
      verdict_.isComplete = false;
      note(fmt::format("the budget of {} operations ended a run: {}", options_.budget,
                       progressOf(trace)));
    }
    bool dependsOnAtomics = races.hasUnorderedAtomics && recording.branchesOnMemory;
    if (dependsOnAtomics)
      note("atomic operations happen in any order, and the kernel may branch on what they return");
    return !recording.isOverBudget && !dependsOnAtomics;
  }

  void addRest(const Recording &recording, const RaceReport &races) {
    const Trace &trace = recording.trace;
    auto races_ = [&](Position at) { // it may be undefined because it races
      return std::any_of(races.races.begin(), races.races.end(), [&](const Race &race) {
        return trace.siteOf(trace.at(race.first)).op == trace.siteOf(trace.at(at)).op ||
               trace.siteOf(trace.at(race.second)).op == trace.siteOf(trace.at(at)).op;
      });
    };
    for (const UndefinedRead &read : recording.undefinedReads)
      if (!races_(read.at))
        add(trace, explainUndefined(trace, read));
    if (recording.failure)
      add(trace, explainFailure(trace, *recording.failure));
    if (!recording.stuck.empty())
      for (Explained &one : explainStuck(recording))
        add(trace, std::move(one));
    else if (options_.residentCores > 0)
      for (Explained &one : explainResidence(trace, options_.residentCores))
        add(trace, std::move(one));
  }

  std::string progressOf(const Trace &trace) const {
    uint16_t least = UINT16_MAX;
    for (const Thread &thread : trace.threads)
      least = std::min<uint16_t>(least, thread.empty() ? 0 : thread.back().launch);
    return fmt::format("every core came to launch {} of {}, with {} events", least + 1,
                       options_.launches, verdict_.events);
  }

  void note(std::string text) {
    if (std::find(verdict_.notes.begin(), verdict_.notes.end(), text) == verdict_.notes.end())
      verdict_.notes.push_back(std::move(text));
  }

  //===-- Findings --------------------------------------------------------------------------===//

  void add(const Trace &trace, Explained explained) {
    Finding &finding = explained.finding;
    std::string key(name(finding.kind));
    for (const Party &party : finding.parties)
      key += fmt::format("|{}:{}:{}", party.op, party.file, party.line);
    if (!known_.insert(key).second)
      return;
    for (uint32_t op : explained.ops)
      for (const WaiverText &text : trace.ops[op].waivers)
        for (Waiver &waiver : verdict_.waivers)
          if (waiver.name == text.name && waiver.reason == text.reason) {
            waiver.waived.push_back(std::move(finding));
            return;
          }
    verdict_.findings.push_back(std::move(finding));
  }

  void collectWaivers() {
    std::set<WaiverText> seen;
    subject_.function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (const auto &[text, source] : waiversOn(op))
        if (seen.insert(text).second)
          verdict_.waivers.push_back({text.name, text.reason, source, {}});
    });
  }

  const Subject &subject_;
  const CheckOptions &options_;
  Verdict verdict_;
  std::set<std::string> known_;
};

MLIRContext &prepare(MLIRContext &context) {
  context.loadDialect<core::TileDialect, device::DistDialect, arith::ArithDialect,
                      func::FuncDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                      tensor::TensorDialect>();
  return context;
}

} // namespace

Checked checkSubject(const Subject &subject, const CheckOptions &options) {
  return Session(subject, options).run();
}

Parsed::Parsed(std::string_view ir, std::string_view fileName)
    : context_(std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED)) {
  std::string message;
  ScopedDiagnosticHandler handler(context_.get(), [&](Diagnostic &diagnostic) {
    if (message.empty())
      llvm::raw_string_ostream(message) << diagnostic.getLocation() << ": " << diagnostic.str();
    return success();
  });
  module_ = parseSourceString<ModuleOp>(llvm::StringRef(ir), &prepare(*context_),
                                        llvm::StringRef(fileName));
  if (!module_)
    throw CompileError(message);
}

} // namespace checker

Verdict check(const Kernel &kernel, const CheckOptions &options) {
  return checker::checkSubject(checker::Subject::of(kernel, options), options).verdict;
}

Verdict checkIR(std::string_view ir, const CheckOptions &options, std::string_view fileName) {
  checker::Parsed parsed(ir, fileName);
  return checker::checkSubject(checker::Subject::of(parsed.module(), options), options).verdict;
}

std::vector<std::string> replay(const Kernel &kernel, const CheckOptions &options,
                                std::string_view schedule) {
  return checker::recordSchedule(checker::Subject::of(kernel, options), options, schedule);
}

} // namespace ditron
