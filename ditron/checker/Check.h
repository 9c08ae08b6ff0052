// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds races and deadlocks of a kernel before it runs on more than this thread:
//
//   ditron::Verdict verdict = ditron::check(kernel, {.ranks = 4, .shape = {{"M", 6}, {"N", 5}}});
//   EXPECT_TRUE(verdict.clean()) << verdict.text();
//
// How a run of one schedule can speak for all of them is told in
// ditron/checker/causality/Causality.h; what is done for programs of which that is not true, in
// ditron/checker/explore/Explorer.h.
#pragma once
#include "ditron/lang/Kernel.h"
#include "ditron/support/MeshAxes.h"
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ditron {

//===-- What is checked -----------------------------------------------------------------------===//

struct CheckOptions {
  int64_t ranks = 2;
  int64_t cores = 2;  ///< of each rank
  int64_t nodes = 1;  ///< into which the ranks divide
  MeshAxes mesh = {}; ///< of the ranks, where its axes have names of their own
  /// Back to back. Two stand for any number: what is two launches apart is ordered by the launcher.
  int64_t launches = 2;
  /// Extents of the named dimensions of the signature, without R.
  Dimensions shape = {};
  /// Of textual IR: extents of the arguments, by name, whose types leave some of them open; of a
  /// scalar its value, one number.
  std::map<std::string, std::vector<int64_t>> extents = {};
  /// 1 where none is given.
  std::vector<std::pair<std::string, double>> scalars = {};
  /// Value of an element (row-major) of an input, for kernels whose control flow depends on data;
  /// small integers otherwise.
  std::function<double(int64_t rank, size_t argument, int64_t element)> input = {};

  /// Runs in schedules that follow from the seed. 4 to hold a proof against, in which whatever
  /// depends on values is looked at again; 1000 of a program that has too many states to explore,
  /// 16 of one whose course depends on what it reads, and on an order that is open: those are sampled.
  std::optional<int64_t> schedules = {};
  uint64_t seed = 1;
  /// How many cores of a rank the machine runs at a time; the others start when one ends. 0: all.
  int64_t residentCores = 0;
  /// Operations that one run may execute. A run that needs more is checked as far as it came.
  uint64_t budget = 50'000'000;
  /// How long the runs of a check may take together, and all mutants of a kernel; what was not run
  /// by then is not checked.
  std::chrono::seconds time{600};
  /// Elements that the arguments of all ranks may have together.
  int64_t elements = int64_t(1) << 28;
  /// States that an exploration may visit; what has more is sampled.
  uint64_t states = 100'000;
};

//===-- What is found -------------------------------------------------------------------------===//

enum class FindingKind {
  dataRace,       ///< two accesses, one of them a write, in either order
  wrongNotifier,  ///< the same, because a wait can be satisfied by other notifies than it needs
  sharedSignal,   ///< the same, where those notifies are another role's
  workspaceReuse, ///< written again while it may still be read: by the next launch, or in this one
  unfinishedPut,  ///< source or destination of a put used before the put is complete
  deadlock,       ///< cores wait for one another
  lostSignal,     ///< a core waits for more than is ever notified
  divergentBarrier,  ///< a core waits in a barrier at which others never arrive
  notResident,       ///< cores wait for cores that cannot start before they end
  uninitializedRead, ///< reads what nobody wrote
  outOfBounds, ///< a put, get, view, peer or signal beyond what there is, or chunks of different
               ///< extents
  unevenAllocation, ///< symmetric memory whose extents differ between ranks
  narrowScope,      ///< a signal whose scope does not reach who observes it
  severalSenders,   ///< a counter that the copy engines of several ranks notify
  strayNotify,      ///< of another rank's signal of copy engines, outside of its launch there
  invalidProgram    ///< anything else that the interpreter refuses
};
/// In kebab case: "data-race".
std::string_view name(FindingKind kind);

/// One of those who take part in a finding: an access, a wait, a notify.
struct Party {
  std::string what; ///< "writes 'full' of rank 1, bytes 0 to 63"
  int64_t rank = 0, core = 0;
  std::string role; ///< "outer/inner"; empty outside of roles
  int64_t launch = 0;
  std::vector<int64_t> tile; ///< coordinates of the iteration of dist.tiles; empty outside of them
  std::string op;            ///< "dist.put"
  std::string file;          ///< as the compiler was given it
  int64_t line = 0;          ///< 0 where the location is not known

  /// "rank 0, core 1, role 'gather', launch 0, tile (1, 0)"
  std::string who() const;
  /// "gemm.cpp:12"
  std::string source() const;
};

struct Finding {
  FindingKind kind = FindingKind::dataRace;
  std::string message;            ///< one line
  std::vector<Party> parties;     ///< the two accesses, or the waits of a cycle
  std::vector<std::string> notes; ///< why nothing orders them, who could still notify
  /// The shortest schedule found that leads there, for CheckOptions and replay(): "1.0:14 0.1:22"
  /// lets core 0 of rank 1 go to its 14th event, then core 1 of rank 0 to its 22nd.
  std::string schedule;
  std::vector<std::string> steps; ///< the same for people
};

/// A waiver of the source, and what it waived.
struct Waiver {
  std::string name, reason;
  std::string source; ///< "gemm.cpp:12", of its first op
  std::vector<Finding> waived;
};

/// How far a verdict reaches.
enum class Method {
  /// Every schedule, for these arguments, ranks and cores; and, where two launches were checked, for
  /// any number of launches with these arguments, unless Verdict::isOfAllLaunches is false.
  proved,
  exhaustive, ///< every schedule of these launches, arguments, ranks and cores, explored
  sampled     ///< the schedules that were run
};
std::string_view name(Method method);

struct Verdict {
  std::string kernel;
  CheckOptions options;
  Method method = Method::proved;
  std::vector<Finding> findings; ///< without those waived
  std::vector<Waiver> waivers;   ///< all of the source, also those that waive nothing
  std::vector<std::string> notes;
  int64_t schedules = 0; ///< runs
  uint64_t states = 0;   ///< explored; 0 where that is not needed
  uint64_t operations = 0, events = 0;
  /// False where the budget or the time ended a run, or something waived that nobody comes behind.
  bool isComplete = true;
  /// False where a proof is for as many launches as were checked: what later ones do may depend on what
  /// these leave in the arguments.
  bool isOfAllLaunches = true;
  /// Of textual IR, the one file that text() quotes lines of; of other kernels it is their sources.
  std::optional<std::pair<std::string, std::string>> quoted = {}; ///< file, text

  bool clean() const { return findings.empty(); }
  /// For people: findings as a compiler prints them, waivers, how far the verdict reaches.
  std::string text() const;
};

//===-- The check -----------------------------------------------------------------------------===//

/// Checks a kernel. CompileError where options do not fit its signature, RuntimeError where there
/// is not enough memory for its arguments on so many ranks.
Verdict check(const Kernel &kernel, const CheckOptions &options);

/// A module in the textual form of the language, as `ditron compile --emit ir` prints it.
struct TextualIR {
  std::string text;
  std::string file = "kernel.mlir"; ///< where it stands, for messages
  std::string kernel = {};          ///< which function marked tile.kernel; the only one if empty
};
/// The functions marked tile.kernel. CompileError where the text is no module, or has none.
std::vector<std::string> kernelsOf(const TextualIR &ir);
/// The same for a kernel in textual IR, which may use the forms that the language has no word for.
/// Memory whose extents the type leaves open has those of `options.extents`. CompileError too where
/// the text is no module or has no such kernel.
Verdict check(const TextualIR &ir, const CheckOptions &options);

/// What happens in a finding's schedule, step by step. CompileError where it cannot be followed,
/// RuntimeError where the budget or the time is over before.
std::vector<std::string> replay(const Kernel &kernel, const CheckOptions &options,
                                std::string_view schedule);
std::vector<std::string> replay(const TextualIR &ir, const CheckOptions &options,
                                std::string_view schedule);

//===-- Mutation ------------------------------------------------------------------------------===//

/// A kernel with one mistake, and what the check made of it.
struct Mutant {
  enum class Outcome {
    killed,     ///< the check finds something
    equivalent, ///< clean in every schedule, and it computes what the kernel does: no mistake
    missed      ///< clean, but it computes something else, or only sampled
  };
  std::string kind;   ///< "drop-notify"
  std::string source; ///< "gemm.cpp:12"
  std::string what;   ///< "wait for 1 less"
  Outcome outcome = Outcome::killed;
  std::string finding; ///< the kind of the first finding; empty if there is none
};
std::string_view name(Mutant::Outcome outcome);

/// Makes each mistake in turn and checks the result. CompileError where the kernel itself is not
/// clean, RuntimeError where the time is over before.
std::vector<Mutant> mutate(const Kernel &kernel, const CheckOptions &options);
std::vector<Mutant> mutate(const TextualIR &ir, const CheckOptions &options);

/// Adds what became of the mistakes in one kernel at other sizes, or in another configuration. A
/// mistake is killed if it is found anywhere, and equivalent if it is nowhere missed.
void unite(std::vector<Mutant> &mutants, const std::vector<Mutant> &others);

} // namespace ditron
