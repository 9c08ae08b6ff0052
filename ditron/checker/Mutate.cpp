// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with one mistake each. What the check does not find must be no mistake: proved clean, and
// with the results of the kernel.
#include "ditron/checker/Check.h"
#include "ditron/checker/CheckSubject.h"
#include "ditron/checker/TimeOfMutants.h"
#include "ditron/device/DistOps.h"
#include "ditron/reference/World.h"
#include "ditron/support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <fmt/format.h>
#include <map>

using namespace mlir;
using namespace ditron::device;

namespace ditron {
namespace checker {
namespace {

/// A mistake that can be made at one op.
struct Mutation {
  const char *kind;
  std::string what;
  void (*apply)(Operation *);
};

//===-- Mistakes ------------------------------------------------------------------------------===//

void drop(Operation *op) {
  if (auto both = dyn_cast<PutNotifyOp>(op))
    OpBuilder(op).create<PutOp>(op->getLoc(), both.getSource(), both.getDestination(),
                                both.getPeer());
  op->erase();
}

template <int change> void changeThreshold(Operation *op) {
  auto wait = cast<WaitOp>(op);
  OpBuilder builder(op);
  Value by = builder.create<arith::ConstantIndexOp>(op->getLoc(), change);
  wait.getValueMutable().assign(builder.create<arith::AddIOp>(op->getLoc(), wait.getValue(), by));
}

/// The ranks that an op names as peers.
llvm::SmallVector<OpOperand *, 2> peersOf(Operation *op) {
  llvm::SmallVector<OpOperand *, 2> peers;
  for (const core::Observation &seen : core::observationsOf(op))
    if (seen.peer && !llvm::is_contained(peers, seen.peer))
      peers.push_back(seen.peer);
  return peers;
}

/// `by` is 1, or -1.
template <int by> void otherPeer(Operation *op) {
  OpBuilder builder(op);
  Value ranks = builder.create<NumRanksOp>(op->getLoc(), builder.getIndexType(), MeshAxis::world);
  Value step = builder.create<arith::ConstantIndexOp>(op->getLoc(), by);
  for (OpOperand *peer : peersOf(op)) {
    Value next = builder.create<arith::AddIOp>(op->getLoc(), peer->get(), step);
    next = builder.create<arith::AddIOp>(op->getLoc(), next, ranks);
    peer->assign(builder.create<arith::RemSIOp>(op->getLoc(), next, ranks));
  }
}

bool isNotify(Operation *op) {
  return llvm::any_of(core::observationsOf(op), [](const core::Observation &seen) {
    return seen.effect == core::Observation::Effect::notify;
  });
}

bool notifies(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isNotify(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The op behind this one in its block that notifies, if there is one.
Operation *notifyBehind(Operation *op) {
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (notifies(next))
      return next;
  return nullptr;
}

void moveBehindNotify(Operation *op) {
  if (auto both = dyn_cast<PutNotifyOp>(op)) {
    OpBuilder builder(op);
    builder.create<NotifyOp>(op->getLoc(), both.getSignals(), both.getIndices(), both.getPeer(),
                             both.getMode(), both.getValue());
    builder.create<PutOp>(op->getLoc(), both.getSource(), both.getDestination(), both.getPeer());
    return op->erase();
  }
  op->moveAfter(notifyBehind(op));
}

void unDouble(Operation *op) {
  op->setAttr(reference::kPagesAttr, OpBuilder(op).getI64IntegerAttr(1));
}

//===-- Where they can be made ----------------------------------------------------------------===//

std::vector<Mutation> mutationsOf(Operation *op, const CheckOptions &options) {
  std::vector<Mutation> result;
  if (isNotify(op))
    result.push_back({"drop-notify", "no notify", drop});
  if (isa<FenceOp>(op))
    result.push_back({"drop-fence", "no fence", drop});
  if (isa<QuietOp>(op))
    result.push_back({"drop-quiet", "no quiet", drop});
  if (isa<BarrierOp>(op))
    result.push_back({"drop-barrier", "no barrier", drop});
  if (isa<WaitOp>(op)) {
    result.push_back({"drop-wait", "no wait", drop});
    result.push_back({"threshold-less", "waits for 1 less", changeThreshold<-1>});
    result.push_back({"threshold-more", "waits for 1 more", changeThreshold<1>});
  }
  bool hasPeer = !peersOf(op).empty();
  if (hasPeer && options.ranks > 1)
    result.push_back({"next-peer", "the peer after the one meant", otherPeer<1>});
  if (hasPeer && options.ranks > 2)
    result.push_back({"previous-peer", "the peer before the one meant", otherPeer<-1>});
  bool moves = isa<PutOp, GetOp, core::StoreOp, core::ScatterOp, core::AtomicAddOp>(op) &&
               op->use_empty() && notifyBehind(op);
  if (moves || isa<PutNotifyOp>(op))
    result.push_back({"swap",
                      fmt::format("{} behind the notify that follows it",
                                  std::string_view(op->getName().getStringRef())),
                      moveBehindNotify});
  if (isa<SymmetricOp>(op))
    result.push_back({"un-double", "one page for all launches", unDouble});
  return result;
}

/// The op with this number, counted in the order of the text.
Operation *opWithNumber(func::FuncOp kernel, int64_t number) {
  Operation *found = nullptr;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (number-- == 0)
      found = op;
  });
  return found;
}

class Mutator {
public:
  Mutator(const Subject &subject, const CheckOptions &options)
      : subject_(subject), options_(options), time_(subject.name, options.time) {}

  std::vector<Mutant> run() {
    options_.schedules = 0;
    Checked original = checkSubject(subject_, options_);
    if (!original.verdict.clean())
      throw CompileError(fmt::format("{} is not clean, so its mutants say nothing: {}",
                                     subject_.name, original.verdict.findings.front().message));
    expected_ = std::move(original.outputs);
    std::vector<Operation *> ops;
    subject_.function->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    std::vector<Mutant> mutants;
    for (size_t number = 0; number < ops.size(); ++number)
      for (const Mutation &mutation : mutationsOf(ops[number], options_)) {
        options_.time = time_.left(mutants.size());
        mutants.push_back(judge(static_cast<int64_t>(number), mutation));
      }
    return mutants;
  }

private:
  Mutant judge(int64_t number, const Mutation &mutation) {
    auto module = subject_.function->getParentOfType<ModuleOp>();
    OwningOpRef<ModuleOp> copy(module.clone());
    Subject changed = subject_.with(*copy);
    Operation *op = opWithNumber(changed.function, number);
    Mutant mutant{mutation.kind, reference::describe(op->getLoc()), mutation.what, {}, {}};
    mutation.apply(op);
    Checked checked = checkSubject(changed, options_);
    if (checked.verdict.clean() && checked.verdict.method == Method::sampled) {
      CheckOptions more = options_;
      more.schedules = 32;
      checked = checkSubject(changed, more);
    }
    const Verdict &verdict = checked.verdict;
    bool isSame = verdict.method != Method::sampled && checked.outputs == expected_;
    mutant.outcome = !verdict.clean() ? Mutant::Outcome::killed
                     : isSame         ? Mutant::Outcome::equivalent
                                      : Mutant::Outcome::missed;
    if (!verdict.clean())
      mutant.finding = name(verdict.findings.front().kind);
    return mutant;
  }

  const Subject &subject_;
  CheckOptions options_;
  TimeOfMutants time_;
  std::vector<std::byte> expected_;
};

} // namespace
} // namespace checker

std::vector<Mutant> mutate(const Kernel &kernel, const CheckOptions &options) {
  checker::Subject subject = checker::Subject::of(kernel, options);
  return checker::Mutator(subject, options).run();
}

std::vector<Mutant> mutate(const TextualIR &ir, const CheckOptions &options) {
  checker::Parsed parsed(ir);
  checker::Subject subject = parsed.subject(options);
  return checker::Mutator(subject, options).run();
}

namespace {

/// The n-th mistake of a kind at a line.
using MutantKey = std::tuple<std::string, std::string, int>;

std::vector<MutantKey> keysOf(const std::vector<Mutant> &mutants) {
  std::map<std::pair<std::string, std::string>, int> counts;
  std::vector<MutantKey> keys;
  for (const Mutant &mutant : mutants)
    keys.emplace_back(mutant.kind, mutant.source, counts[{mutant.kind, mutant.source}]++);
  return keys;
}

} // namespace

void unite(std::vector<Mutant> &mutants, const std::vector<Mutant> &others) {
  std::map<MutantKey, size_t> known;
  for (const MutantKey &key : keysOf(mutants))
    known.emplace(key, known.size());
  std::vector<MutantKey> keys = keysOf(others);
  for (size_t i = 0; i < others.size(); ++i) {
    const Mutant &other = others[i];
    auto [found, isNew] = known.try_emplace(keys[i], mutants.size());
    if (isNew)
      mutants.push_back(other);
    Mutant &mutant = mutants[found->second];
    bool isStronger =
        other.outcome == Mutant::Outcome::killed || mutant.outcome == Mutant::Outcome::equivalent;
    if (isStronger && mutant.outcome != Mutant::Outcome::killed)
      mutant = other;
  }
}

} // namespace ditron
