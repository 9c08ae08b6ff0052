// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/Check.h"
#include "ditron/checker/CheckSubject.h"
#include "ditron/checker/Dependence.h"
#include "ditron/checker/Refusals.h"
#include "ditron/checker/explore/Explorer.h"
#include "ditron/core/Memories.h"
#include "ditron/device/LowerInboxes.h"
#include "ditron/device/Placement.h"
#include "ditron/device/Scope.h"
#include "ditron/support/Error.h"
#include "ditron/task/KernelFunction.h"
#include "ditron/task/TaskOps.h"
#include "ditron/text/Text.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

using namespace mlir;

namespace ditron {
namespace checker {

namespace {

/// What in a kernel the language has no word for, so that one run does not speak for all.
std::optional<std::string> findForm(func::FuncOp kernel) {
  std::optional<std::string> found;
  kernel->getParentOfType<ModuleOp>()->walk([&](Operation *op) {
    auto function = op->getParentOfType<func::FuncOp>();
    bool isOther = function && function != kernel && function->hasAttr(core::kKernelAttr);
    if (auto form = isOther ? std::nullopt : device::formOutsideLanguage(op))
      found = fmt::format("{} ({})", *form, reference::describe(op->getLoc()));
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

Operation *findDecision(const Subject &subject) {
  func::FuncOp function = subject.function;
  llvm::SmallVector<BlockArgument> fixed;
  for (auto [argument, plan] : llvm::zip(function.getArguments(), subject.arguments))
    if (plan.isOfProgram)
      fixed.push_back(argument);
  return findDecisionOnMemory(function, fixed);
}

/// Whether a kernel may read an argument: a function that it calls may read any.
bool reads(func::FuncOp kernel, BlockArgument argument) {
  auto mayBe = [&](const core::Memory &memory) {
    auto known = dyn_cast_or_null<BlockArgument>(memory.first);
    return memory.first == argument || !memory.first ||
           (known && known.getOwner() != argument.getOwner());
  };
  WalkResult result = kernel->getParentOfType<ModuleOp>().walk([&](Operation *op) {
    bool found = llvm::any_of(core::observationsOf(op), [&](const auto &seen) {
      return seen.reads() && seen.isMemory() && llvm::any_of(core::memoriesOf(seen.object), mayBe);
    });
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// The op by which what a launch does can depend on what one before has left in the arguments; null
/// if there is none.
Operation *findDecisionOnLaunches(const Subject &subject) {
  func::FuncOp function = subject.function;
  llvm::SmallVector<BlockArgument> fixed;
  for (auto [n, plan] : llvm::enumerate(subject.arguments)) {
    bool isWritten = plan.isMemory && !plan.isReadOnly && !plan.isOutput;
    for (const ArgumentPlan &other : subject.arguments)
      isWritten |= other.inPlaceOf == n;
    if (!isWritten || !reads(function, function.getArgument(n)))
      fixed.push_back(function.getArgument(n));
  }
  bool isSame = fixed.size() == subject.arguments.size();
  return isSame ? nullptr : findDecisionOnMemory(function, fixed);
}

/// Runs of a program whose course depends on what it reads.
constexpr int64_t kSampledRuns = 16;

/// One check: what is found in all of its runs, each once.
class Session {
public:
  Session(const Subject &subject, const CheckOptions &options)
      : kernel_(subject), subject_(subject), options_(options), decision_(findDecision(subject)) {
    verdict_.kernel = subject.name;
    verdict_.options = options;
    collectWaivers();
  }

  Checked run() {
    Recording first = checkMemory();
    for (auto [output, input] : kernel_.inPlace)
      checkInPlace(output, input);
    addRefusals();
    if (isCut_)
      verdict_.method = Method::sampled, verdict_.isComplete = false;
    return {std::move(verdict_), std::move(first.outputs)};
  }

private:
  /// With the arguments where they are now. The first run.
  Recording checkMemory() {
    Recording first = record(subject_, options_, {.deadline = deadline_});
    count(first);
    if (auto form = findForm(subject_.function))
      exploreAll(first, *form);
    else
      prove(first);
    return first;
  }

  /// Again where an output is in the memory of an input.
  void checkInPlace(size_t output, size_t input) {
    Method apart = verdict_.method;
    subject_ = kernel_.withInPlace(output, input);
    place_ = fmt::format("in a launch in place, where '{}' is '{}'",
                         subject_.arguments[output].name, subject_.arguments[input].name);
    checkMemory();
    verdict_.method = std::max(verdict_.method, apart); // the weaker claim
  }

  //===-- Programs of the language ----------------------------------------------------------===//

  void prove(const Recording &first) {
    bool isExact = analyse(first);
    bool stays = true; // every schedule so far did the same
    bool isLate = first.isLate;
    for (int64_t n = 0; !isLate && n < runsBehindTheFirst(); ++n) {
      Recording other = recordBy(n);
      count(other);
      isLate = other.isLate;
      if (isLate ||
          (other.fingerprints == first.fingerprints && other.isComplete == first.isComplete))
        continue;
      stays = false;
      analyse(other);
    }
    if (!stays && verdict_.isComplete && verdict_.findings.empty() && !followsWaiver_)
      note("the cores do not do the same in every schedule: what they do depends on the order of "
           "atomic operations");
    bool isProof = isExact && stays && !isLate && !followsWaiver_;
    verdict_.method = isProof ? Method::proved : Method::sampled;
    if (decision_ && verdict_.method == Method::proved)
      note(fmt::format("what the cores do depends on values that they read ({}): the proof is for "
                       "the inputs of this check",
                       reference::describe(decision_->getLoc())));
    if (verdict_.method == Method::proved && options_.launches > 1)
      noteLaunches();
  }

  /// Says where later launches may do something else.
  void noteLaunches() {
    Operation *decision = decision_ ? findDecisionOnLaunches(subject_) : nullptr;
    if (!decision)
      return;
    verdict_.isOfAllLaunches = false;
    note(fmt::format(
        "what a launch does may depend on what the one before has left in its arguments "
        "({}): the proof is for {} launches",
        reference::describe(decision->getLoc()), options_.launches));
  }

  /// To hold a proof against; or where there is none, as what the cores do may follow from an order
  /// that is open.
  int64_t runsBehindTheFirst() const {
    return options_.schedules.value_or(followsWaiver_ || followsAtomics_ ? kSampledRuns : 4);
  }

  /// Adds what a run shows. Whether it shows it for all schedules.
  bool analyse(const Recording &recording) {
    const Trace &trace = recording.trace;
    Causality causality(trace.threads, trace.counters.size());
    RaceReport races = findRaces(trace, causality);
    RacedOps raced;
    for (const Race &race : races.races)
      if (add(trace, explainRace(trace, causality, race)))
        raced.insert(racedOps(trace, race.first, race.second));
    for (const ScopeFault &fault : findNarrowScopes(trace, causality))
      add(trace, explainScope(trace, fault));
    addSenders(trace);
    addUndefined(recording, causality, raced);
    addRest(recording);
    addStrays(recording, causality);
    bool dependsOnAtomics = races.hasUnorderedAtomics && decision_;
    followsAtomics_ |= dependsOnAtomics;
    if (dependsOnAtomics)
      note("atomic operations happen in any order, and the kernel may branch on what they return");
    return !recording.isOverBudget && !dependsOnAtomics;
  }

  //===-- Programs that only the IR has -----------------------------------------------------===//

  void exploreAll(const Recording &first, const std::string &form) {
    note(fmt::format("{} is outside of the language: no proof, its schedules are explored", form));
    if (decision_)
      sampleRuns(first);
    else
      exploreStates();
  }

  void exploreStates() {
    Recording alone = record(subject_, options_, {.isAlone = true, .deadline = deadline_});
    noteBudget(alone);
    verdict_.method = Method::sampled;
    if (alone.failure) {
      add(alone.trace, describeFailure(alone.trace, *alone.failure));
      return;
    }
    addSenders(alone.trace);
    Exploration explored = explore(alone.trace, {.states = options_.states,
                                                 .schedules = options_.schedules.value_or(1000),
                                                 .seed = options_.seed,
                                                 .deadline = deadline_});
    verdict_.states = explored.states;
    verdict_.schedules += explored.schedules;
    for (Explained &one : explored.findings)
      add(alone.trace, std::move(one));
    if (explored.isExhaustive && !alone.isOverBudget)
      verdict_.method = Method::exhaustive;
    if (!explored.isExhaustive) {
      verdict_.isComplete = false;
      std::string budget = explored.isLate ? fmt::format("time of {} s", options_.time.count())
                           : explored.isTooLarge
                               ? "memory for states"
                               : fmt::format("budget of {} states", options_.states);
      note(fmt::format("the {} ended the exploration; {} schedules were sampled", budget,
                       explored.schedules));
    }
  }

  /// What the cores do depends on what they read, so every run speaks for itself.
  void sampleRuns(const Recording &first) {
    verdict_.method = Method::sampled;
    note(fmt::format("what the cores do depends on values that they read ({}): every schedule "
                     "speaks for itself",
                     reference::describe(decision_->getLoc())));
    addRun(first);
    for (int64_t n = 0; n < options_.schedules.value_or(kSampledRuns); ++n) {
      Recording other = recordBy(n);
      count(other);
      if (other.isLate)
        break;
      addRun(other);
    }
  }

  void addRun(const Recording &recording) {
    addSenders(recording.trace);
    for (Explained &one : exploreRun(recording))
      add(recording.trace, std::move(one));
    if (recording.failure)
      add(recording.trace, describeFailure(recording.trace, *recording.failure));
  }

  //===-- All -------------------------------------------------------------------------------===//

  /// The run of the n-th schedule.
  Recording recordBy(int64_t n) const {
    return record(subject_, options_,
                  {.seed = options_.seed + static_cast<uint64_t>(n), .deadline = deadline_});
  }

  void count(const Recording &recording) {
    ++verdict_.schedules;
    verdict_.operations += recording.operations;
    if (verdict_.schedules == 1)
      for (const Thread &thread : recording.trace.threads)
        verdict_.events += thread.size();
    noteBudget(recording);
  }

  void noteBudget(const Recording &recording) {
    if (!recording.isOverBudget)
      return;
    verdict_.isComplete = false;
    std::string budget = recording.isLate ? fmt::format("time of {} s", options_.time.count())
                                          : fmt::format("budget of {} operations", options_.budget);
    note(fmt::format("the {} ended a run: {}", budget, progressOf(recording.trace)));
  }

  void addSenders(const Trace &trace) {
    for (const SenderFault &fault : findSeveralSenders(trace))
      add(trace, explainSenders(trace, fault));
  }

  /// One read for every op and memory, of those that are not undefined because they race.
  void addUndefined(const Recording &recording, const Causality &causality, const RacedOps &raced) {
    const Trace &trace = recording.trace;
    std::set<std::pair<uint32_t, std::string>> added;
    RacingWrites writes(trace, causality);
    for (const UndefinedRead &read : recording.undefinedReads) {
      const Event &event = trace.at(read.at);
      std::pair key(trace.siteOf(event).op, trace.memoryOf(event).name);
      if (added.contains(key) || writes.any(read, raced))
        continue;
      add(trace, explainUndefined(trace, read));
      added.insert(std::move(key));
    }
  }

  void addRest(const Recording &recording) {
    const Trace &trace = recording.trace;
    if (recording.failure)
      add(trace, explainFailure(trace, *recording.failure));
    if (!recording.stuck.empty())
      for (Explained &one : explainStuck(recording))
        add(trace, std::move(one));
    else if (options_.residentCores > 0)
      for (Explained &one : explainResidence(trace))
        add(trace, std::move(one));
  }

  void addStrays(const Recording &recording, const Causality &causality) {
    if (recording.isComplete)
      for (const StrayNotify &stray : findStrayNotifies(recording.trace, causality))
        add(recording.trace, explainStrayNotify(recording.trace, stray));
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

  /// Adds a finding, or what a waiver waives, once. Whether it is a finding.
  bool add(const Trace &trace, Explained explained) {
    Finding &finding = explained.finding;
    Waiver *waiver = waiverOf(trace, explained);
    std::multiset<std::string> parties;
    for (const Party &party : finding.parties)
      parties.insert(fmt::format("{}:{}:{}", party.op, party.file, party.line));
    std::string key =
        fmt::format("{}|{}|{}", name(finding.kind), explained.memory, fmt::join(parties, "|"));
    if (waiver)
      key += fmt::format("|{}|{}", waiver->name, waiver->reason);
    if (!known_.insert(key).second)
      return !waiver;
    if (!place_.empty())
      finding.notes.push_back(place_);
    if (waiver)
      noteWaived(finding);
    (waiver ? waiver->waived : verdict_.findings).push_back(std::move(finding));
    return !waiver;
  }

  /// What no backend compiles. Of effects a run says more, where it finds anything.
  void addRefusals() {
    for (const Refusal &refusal : findRefusedRoles(subject_.function))
      add(refusal);
    if (verdict_.findings.empty())
      for (const Refusal &refusal : findRefusedEffects(subject_.function))
        add(refusal);
  }

  void add(const Refusal &refusal) {
    Waiver *waiver = waiverOf(refusal.waivers);
    if (waiver && !waiver->waived.empty())
      return; // that says more
    Finding finding{.kind = FindingKind::invalidProgram, .message = refusal.message};
    finding.notes.push_back("no backend compiles this");
    (waiver ? waiver->waived : verdict_.findings).push_back(std::move(finding));
  }

  /// The waiver of one of those who take part; null if none has one.
  Waiver *waiverOf(const Trace &trace, const Explained &explained) {
    for (uint32_t op : explained.ops)
      if (Waiver *waiver = waiverOf(trace.ops[op].waivers))
        return waiver;
    return nullptr;
  }
  Waiver *waiverOf(const std::vector<WaiverText> &texts) {
    for (const WaiverText &text : texts)
      for (Waiver &waiver : verdict_.waivers)
        if (waiver.name == text.name && waiver.reason == text.reason)
          return &waiver;
    return nullptr;
  }

  /// Says what is not proved because of a waiver.
  void noteWaived(const Finding &finding) {
    std::string source = finding.parties.empty() ? "" : finding.parties.front().source();
    if (endsRun(finding.kind)) {
      isCut_ = true;
      note(fmt::format("behind the waived {} at {} nothing was checked", name(finding.kind),
                       source));
    } else if (decision_) {
      followsWaiver_ = true;
      note(fmt::format("what the cores do depends on values that they read ({}), and those on the "
                       "waived {} at {}: no proof",
                       reference::describe(decision_->getLoc()), name(finding.kind), source));
    }
  }

  /// Whether nobody comes to what stands behind such a finding.
  static bool endsRun(FindingKind kind) {
    switch (kind) {
    case FindingKind::deadlock:
    case FindingKind::lostSignal:
    case FindingKind::divergentBarrier:
    case FindingKind::notResident:
    case FindingKind::outOfBounds:
    case FindingKind::unevenAllocation:
    case FindingKind::invalidProgram:
      return true;
    default:
      return false;
    }
  }

  void collectWaivers() {
    std::set<WaiverText> seen;
    subject_.function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (const auto &[text, source] : waiversOn(op))
        if (seen.insert(text).second)
          verdict_.waivers.push_back({text.name, text.reason, source, {}});
    });
  }

  const Subject &kernel_;
  Subject subject_;   ///< the same, with the arguments where they are now
  std::string place_; ///< what findings say of that; empty: nothing
  const CheckOptions &options_;
  std::chrono::steady_clock::time_point deadline_ =
      std::chrono::steady_clock::now() + options_.time;
  Operation *decision_; ///< null where a core does the same whatever is read
  Verdict verdict_;
  bool isCut_ = false; ///< something that is waived ended a run
  bool followsAtomics_ = false;
  bool followsWaiver_ = false; ///< what the cores do may depend on something that is waived
  std::set<std::string> known_;
};

MLIRContext &prepare(MLIRContext &context) {
  context.loadDialect<core::TileDialect, device::DistDialect, arith::ArithDialect,
                      func::FuncDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                      tensor::TensorDialect>();
  return context;
}

/// "kernel.mlir:3:13".
std::string placeOf(mlir::Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return fmt::format("{}:{}:{}", place.getFilename().str(), place.getLine(), place.getColumn());
  return reference::describe(location);
}

} // namespace

Checked checkSubject(const Subject &subject, const CheckOptions &options) {
  return Session(subject, options).run();
}

namespace {

/// Parses a text and brings it into the form that is checked: the first error with its place, or
/// nothing.
std::string parseInto(OwningOpRef<ModuleOp> &module, MLIRContext &context, std::string_view text,
                      const std::string &file) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = fmt::format("{}: {}", placeOf(diagnostic.getLocation()), diagnostic.str());
    return success();
  });
  context.loadDialect<task::TaskDialect>();
  module = parseSourceString<ModuleOp>(text, &prepare(context), file);
  if (module) // kernels are checked here; graphs by CheckGraph.h
    for (task::GraphOp graph : llvm::make_early_inc_range(module->getOps<task::GraphOp>()))
      graph.erase();
  if (module && succeeded(device::lowerPlacements(*module)) &&
      succeeded(device::lowerInboxes(*module)))
    return "";
  return message.empty() ? fmt::format("{}: cannot be parsed", file) : message;
}

std::string problemOf(std::string_view text, const std::string &file) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module;
  return parseInto(module, context, text, file);
}

} // namespace

Parsed::Parsed(const TextualIR &ir)
    : kernel_(ir.kernel),
      context_(std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED)) {
  text::requireReadable(ir.text, ir.file,
                        [&](std::string_view text) { return problemOf(text, ir.file); });
  if (std::string problem = parseInto(module_, *context_, ir.text, ir.file); !problem.empty())
    throw CompileError(problem);
  try {
    task::kernelNames(*module_);
  } catch (const CompileError &error) {
    throw CompileError(fmt::format("{}: {}", ir.file, error.what()));
  }
}

} // namespace checker

Verdict check(const Kernel &kernel, const CheckOptions &options) {
  return checker::checkSubject(checker::Subject::of(kernel, options), options).verdict;
}

Verdict check(const TextualIR &ir, const CheckOptions &options) {
  checker::Parsed parsed(ir);
  checker::Subject subject = parsed.subject(options);
  Verdict verdict = checker::checkSubject(subject, options).verdict;
  for (const checker::ArgumentPlan &plan : subject.arguments)
    if (plan.isAssumed)
      verdict.notes.push_back(fmt::format("'{}' is taken to be 1: no value is given", plan.name));
  verdict.quoted = {ir.file, ir.text};
  return verdict;
}

std::vector<std::string> kernelsOf(const TextualIR &ir) {
  return task::kernelNames(checker::Parsed(ir).module());
}

std::vector<std::string> replay(const Kernel &kernel, const CheckOptions &options,
                                std::string_view schedule) {
  return checker::recordSchedule(checker::Subject::of(kernel, options), options, schedule);
}

std::vector<std::string> replay(const TextualIR &ir, const CheckOptions &options,
                                std::string_view schedule) {
  checker::Parsed parsed(ir);
  return checker::recordSchedule(parsed.subject(options), options, schedule);
}

} // namespace ditron
