// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpu-dist-to-runtime: the verbs become calls of runtime/DeviceApi.h.
//
//   dist.wait %ready[%s, %i] >= %n : !dist.signals<2>
// becomes
//   %cell = address of %ready[%s, %i]
//   llvm.call @ditron_wait(%context, %cell, %n, %mode, %site)
//
// A role becomes a branch on the core's number; dist.core and dist.num_cores within it become the
// role's. The CoreContext (runtime/CoreContext.h) comes as a new last argument of every function.
// test/targets/cpu/dist-to-runtime.mlir shows it.
#include "ditron/abi/LaunchWords.h"
#include "ditron/core/Place.h"
#include "ditron/device/Scope.h"
#include "ditron/lower/DistLowering.h"
#include "ditron/lower/Passes.h"
#include "ditron/targets/cpu/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::cpu {

#define GEN_PASS_DEF_DISTTORUNTIME
#include "ditron/targets/cpu/transforms/Passes.h.inc"

namespace {

using Field = abi::CoreField;

/// EventLog and Event, which ditron/runtime/Events.h holds to this: a log begins with the addresses
/// of its next event and of its end.
struct EventLayout {
  static constexpr int64_t kBytes = 64, kBegin = 0, kHead = 16, kPlace = 24, kValues = 32;
  static constexpr int64_t kEvents = 0, kCount = 8, kLast = 16;
  static constexpr int64_t kTile = 7, kTilesEnd = 8;
  static constexpr int64_t kAhead = 3; ///< events by which the log is fetched before it is written

  /// The word at kHead: the kind, and the number of coordinates.
  static int64_t head(int64_t dims) { return (dims ? kTile : kTilesEnd) | dims << 16; }
};

/// Whether the clock of runtime::nowTicks is an instruction.
#if defined(__x86_64__)
constexpr bool kTicksAreAnInstruction = true;
#else
constexpr bool kTicksAreAnInstruction = false;
#endif

/// The most dimensions of a chunk.
constexpr int64_t kMaxRank = 8;
static_assert(core::kMaxMessageValues <= 3 * kMaxRank);

class FunctionLowering final : lower::DistLowering {
public:
  explicit FunctionLowering(func::FuncOp function)
      : DistLowering(function), module_(function->getParentOfType<ModuleOp>()) {}

  LogicalResult run() {
    if (failed(refuseInboxes()))
      return failure();
    Type pointer = LLVM::LLVMPointerType::get(b_.getContext());
    unsigned n = function_.getNumArguments();
    function_.insertArgument(n, pointer, {}, loc_);
    context_ = function_.getArgument(n);
    b_.setInsertionPointToStart(&function_.getBody().front());
    core_ = field(Field::core);
    cores_ = field(Field::cores);
    keepFromCopyEngines();
    findModes();
    findFirstWaits();
    return lowerBody();
  }

private:
  LogicalResult refuseInboxes() {
    WalkResult found = function_.walk([](Operation *op) {
      if (!isa<device::InboxOp, device::SendOp, device::ReceiveOp>(op))
        return WalkResult::advance();
      op->emitOpError() << "has no lowering here; expected --dist-expand-inboxes before";
      return WalkResult::interrupt();
    });
    return failure(found.wasInterrupted());
  }

  /// Copy engines are one more core, which executes the roles that are theirs: all else that has
  /// effects, and what follows from it, is for the other cores.
  void keepFromCopyEngines() {
    SmallVector<device::RoleOp> roles = device::copyRoles(function_);
    if (roles.empty())
      return;
    function_->setAttr(lower::kCopyEnginesAttr, b_.getUnitAttr());
    llvm::SetVector<Operation *> forCores;
    for (Operation &op : function_.front().without_terminator()) {
      bool depends = llvm::any_of(op.getOperands(), [&](Value operand) {
        return forCores.contains(operand.getDefiningOp());
      });
      bool isTheirs = isa<device::RoleOp>(op) && llvm::is_contained(roles, &op);
      if (!isTheirs && (depends || !isMemoryEffectFree(&op)) && !isReadOfContext(&op))
        forCores.insert(&op);
    }
    b_.setInsertionPoint(function_.front().getTerminator());
    Value isCore = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, core_, cores_);
    auto branch = b_.create<scf::IfOp>(loc_, isCore, /*withElseRegion=*/false);
    for (Operation *op : forCores)
      op->moveBefore(branch.thenBlock()->getTerminator());
    for (device::RoleOp role : roles)
      role.getFirstMutable().assign(cores_);
  }

  /// Whether an op is part of what run() has begun with.
  bool isReadOfContext(Operation *op) const {
    return isa<LLVM::LoadOp>(op) && op->isBeforeInBlock(cores_.getDefiningOp()->getNextNode());
  }

  //===-- Small things ------------------------------------------------------------------------===//

  Value word(int64_t value) {
    return b_.create<LLVM::ConstantOp>(loc_, b_.getI64Type(), b_.getI64IntegerAttr(value));
  }
  Value asWord(Value index) { return b_.create<arith::IndexCastOp>(loc_, b_.getI64Type(), index); }
  Value asIndex(Value word) { return b_.create<arith::IndexCastOp>(loc_, b_.getIndexType(), word); }
  Type pointer() { return context_.getType(); }

  /// The address `bytes` behind another one.
  Value at(Value address, int64_t bytes) {
    return b_.create<LLVM::GEPOp>(loc_, pointer(), b_.getI8Type(), address,
                                  ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  }
  Value load(Value address, Type type) { return b_.create<LLVM::LoadOp>(loc_, type, address); }
  /// What does not change while the kernel runs.
  Value constant(Value address, Type type) {
    auto op = b_.create<LLVM::LoadOp>(loc_, type, address);
    op.setInvariant(true);
    return op;
  }
  void store(Value value, Value address) { b_.create<LLVM::StoreOp>(loc_, value, address); }
  Value field(Field which) {
    return asIndex(load(at(context_, static_cast<int64_t>(which)), b_.getI64Type()));
  }

  Value call(StringRef name, ValueRange arguments, Type result = {}) {
    SmallVector<Type> types(arguments.getTypes());
    Type returns = result ? result : Type(LLVM::LLVMVoidType::get(b_.getContext()));
    auto callee = LLVM::lookupOrCreateFn(module_, name, types, returns);
    auto op = b_.create<LLVM::CallOp>(loc_, callee, arguments);
    return result ? op.getResult() : Value();
  }

  /// A constant C string.
  Value text(StringRef value) {
    LLVM::GlobalOp &global = texts_[value];
    if (!global)
      global = newText(value);
    return b_.create<LLVM::AddressOfOp>(loc_, global);
  }

  LLVM::GlobalOp newText(StringRef value) {
    std::string name = "text_" + std::to_string(std::distance(module_.begin(), module_.end()));
    OpBuilder top(module_.getBodyRegion());
    std::string bytes = value.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(b_.getI8Type(), bytes.size());
    return top.create<LLVM::GlobalOp>(loc_, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                      name, b_.getStringAttr(bytes));
  }

  /// The address of the first element of a view.
  Value addressOf(Value view, Value offset) {
    int64_t bytes = core::elementBytes(cast<MemRefType>(view.getType()).getElementType());
    Value base = b_.create<memref::ExtractAlignedPointerAsIndexOp>(loc_, view);
    Value start = b_.create<arith::MulIOp>(loc_, offset, index(bytes));
    Value address = asWord(b_.create<arith::AddIOp>(loc_, base, start));
    return b_.create<LLVM::IntToPtrOp>(loc_, pointer(), address);
  }

  //===-- Signals -----------------------------------------------------------------------------===//

  /// Signals are notified in one mode: by it the waiting side knows how to compare.
  void findModes() {
    function_.walk([&](Operation *op) {
      for (const core::Observation &seen : core::observationsOf(op))
        if (seen.effect == core::Observation::Effect::notify)
          modes_[seen.object] = *device::notifyModeOf(op);
    });
  }

  /// The waits that a tile begins with.
  void findFirstWaits() {
    function_.walk([&](device::MarkTileOp mark) {
      Operation *op = mark->getNextNode();
      while (op && (isMemoryEffectFree(op) || isa<core::RequireOp>(op)))
        op = op->getNextNode();
      if (op && isa<device::WaitOp>(op))
        firstWaits_.insert(op);
    });
  }

  Value modeOf(Value signals) { return word(static_cast<int64_t>(modes_.lookup(signals))); }

  /// The declared array: memory of 64-bit counters.
  Value countersOf(Value signals) {
    return signals.getDefiningOp<UnrealizedConversionCastOp>().getOperand(0);
  }

  Value cellOf(Value signals, ValueRange indices) {
    auto counters = b_.create<memref::ExtractStridedMetadataOp>(loc_, countersOf(signals));
    Value offset = counters.getOffset();
    for (auto [n, at] : llvm::enumerate(indices)) {
      Value part = b_.create<arith::MulIOp>(loc_, at, counters.getStrides()[n]);
      offset = b_.create<arith::AddIOp>(loc_, offset, part);
    }
    return addressOf(countersOf(signals), offset);
  }

  /// The line of an op, for the runtime's reports and timelines.
  Value siteOf(Operation *op) { return text(core::placeOf(op->getLoc()).text()); }

  void notify(const Notify &notify) override {
    call("ditron_notify", {context_, asWord(notify.peer ? notify.peer : rank()),
                           cellOf(notify.signals, notify.indices), asWord(notify.value),
                           word(static_cast<int64_t>(notify.mode)), siteOf(notify.op)});
  }

  void wait(device::WaitOp wait) override {
    call(firstWaits_.contains(wait) ? "ditron_first_wait" : "ditron_wait",
         {context_, cellOf(wait.getSignals(), wait.getIndices()), asWord(wait.getValue()),
          modeOf(wait.getSignals()), siteOf(wait)});
  }

  void fence() override { call("ditron_fence", {context_}); }
  void quiet() override { call("ditron_quiet", {context_}); }

  void barrier(device::BarrierOp op) override {
    bool all = op.getScope() == device::BarrierScope::ranks;
    call("ditron_barrier",
         {context_, word(all), asWord(firstOfRole()), asWord(cores_), siteOf(op)});
  }

  //===-- Memory ------------------------------------------------------------------------------===//

  /// Room for the extents and strides of a chunk, on the stack, once a function.
  Value room() {
    if (!room_) {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(&function_.getBody().front());
      room_ = b_.create<LLVM::AllocaOp>(loc_, pointer(), b_.getI64Type(), word(3 * kMaxRank));
    }
    return room_;
  }

  Value roomFor(int64_t array, ValueRange values) {
    auto at = [&](int64_t n) {
      return b_.create<LLVM::GEPOp>(loc_, pointer(), b_.getI64Type(), room(),
                                    ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(n)});
    };
    for (auto [n, value] : llvm::enumerate(values))
      b_.create<LLVM::StoreOp>(loc_, asWord(value), at(array * kMaxRank + n));
    return at(array * kMaxRank);
  }

  void lowerMove(StringRef name, Operation *op, Value peer, Value source, Value destination) {
    auto from = b_.create<memref::ExtractStridedMetadataOp>(loc_, source);
    auto to = b_.create<memref::ExtractStridedMetadataOp>(loc_, destination);
    auto type = cast<MemRefType>(source.getType());
    call(name,
         {context_, asWord(peer), addressOf(destination, to.getOffset()),
          addressOf(source, from.getOffset()), word(core::elementBytes(type.getElementType())),
          word(type.getRank()), roomFor(0, from.getSizes()), roomFor(1, from.getStrides()),
          roomFor(2, to.getStrides()), siteOf(op)});
  }

  void put(Operation *op, Value source, Value destination, Value peer) override {
    lowerMove("ditron_put", op, peer, source, destination);
  }
  void get(device::GetOp get) override {
    lowerMove("ditron_get", get, get.getPeer(), get.getSource(), get.getDestination());
  }

  void require(core::RequireOp op) override {
    Value yes = b_.create<arith::ConstantIntOp>(loc_, 1, 1);
    Value fails = b_.create<arith::XOrIOp>(loc_, op.getCondition(), yes);
    auto branch = b_.create<scf::IfOp>(loc_, fails, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    std::string place = core::placeOf(op->getLoc()).text(), message = op.getMessage().str();
    size_t count = op.getValues().size();
    call("ditron_fail", {context_, text(place.empty() ? message : place + ": " + message),
                         roomFor(0, op.getValues()), word(static_cast<int64_t>(count))});
    // Known not to come back, it is moved out of the way, and what it requires is known after it.
    auto callee = module_.lookupSymbol<LLVM::LLVMFuncOp>("ditron_fail");
    callee.setPassthroughAttr(b_.getStrArrayAttr({"noreturn", "cold"}));
  }

  //===-- Ranks, roles and timelines ----------------------------------------------------------===//

  Value rank() override { return field(Field::rank); }
  Value numRanks() override { return field(Field::ranks); }
  Value localRanks() override { return field(Field::localRanks); }

  /// The first core of the running role, of all of the rank.
  Value firstOfRole() { return firsts_.empty() ? index(0) : firsts_.back(); }

  LogicalResult enterRole(device::RoleOp role) override {
    if (role.getEngine() == device::Engine::nic)
      return role.emitOpError() << "runs on engine " << device::stringifyEngine(role.getEngine())
                                << ", but the CPU target has cores and copy engines only";
    firsts_.push_back(b_.create<arith::AddIOp>(loc_, firstOfRole(), role.getFirst()));
    call("ditron_role_enter",
         {context_, text(role.getName().str()), asWord(firsts_.back()), asWord(role.getCount())});
    return success();
  }
  void leaveRole() override {
    call("ditron_role_leave", {context_});
    firsts_.pop_back();
  }

  void markTile(device::MarkTileOp mark) override {
    Value site = siteOf(mark);
    SmallVector<Value> coordinates;
    for (Value coordinate : mark.getCoordinates())
      coordinates.push_back(asWord(coordinate));
    if (!kTicksAreAnInstruction) {
      SmallVector<Value> arguments{context_, site, word(static_cast<int64_t>(coordinates.size()))};
      coordinates.resize(device::kMostTileDims, word(0));
      llvm::append_range(arguments, coordinates);
      return void(call("ditron_record_tile", arguments));
    }
    Value log = constant(at(context_, static_cast<int64_t>(Field::log)), pointer());
    Value events = constant(at(log, EventLayout::kEvents), pointer());
    Value last = constant(at(log, EventLayout::kLast), b_.getI64Type());
    Value count = load(at(log, EventLayout::kCount), b_.getI64Type());
    Value place = b_.create<LLVM::UMinOp>(loc_, count, last);
    Value bytes = b_.create<LLVM::MulOp>(loc_, place, word(EventLayout::kBytes));
    Value event = b_.create<LLVM::GEPOp>(loc_, pointer(), b_.getI8Type(), events,
                                         ArrayRef<LLVM::GEPArg>{bytes});
    writeMark(event, site, coordinates);
    store(b_.create<LLVM::AddOp>(loc_, count, word(1)), at(log, EventLayout::kCount));
  }

  void writeMark(Value event, Value site, ValueRange coordinates) {
    auto ticks = b_.create<LLVM::CallIntrinsicOp>(
        loc_, b_.getI64Type(), b_.getStringAttr("llvm.readcyclecounter"), ValueRange());
    store(ticks.getResult(0), at(event, EventLayout::kBegin));
    store(word(EventLayout::head(static_cast<int64_t>(coordinates.size()))),
          at(event, EventLayout::kHead));
    store(site, at(event, EventLayout::kPlace));
    for (auto [n, value] : llvm::enumerate(coordinates))
      store(value, at(event, EventLayout::kValues + 8 * static_cast<int64_t>(n)));
    b_.create<LLVM::Prefetch>(loc_, at(event, EventLayout::kAhead * EventLayout::kBytes), 1, 3, 1);
  }

  ModuleOp module_;
  Value context_;
  llvm::StringMap<LLVM::GlobalOp> texts_;
  SmallVector<Value> firsts_; ///< of the running role and those around it
  Value room_;
  llvm::DenseMap<Value, device::NotifyMode> modes_;
  llvm::DenseSet<Operation *> firstWaits_;
};

/// Refuses what the runtime has no calls for, and symmetric memory that is no argument yet.
LogicalResult checkSupported(func::FuncOp function) {
  auto result = function.walk([](Operation *op) {
    if (std::optional<std::string> form = device::formOutsideLanguage(op)) {
      op->emitError() << *form << " is a form for programs to be checked: the CPU backend "
                      << "runs counters that only grow, with the order that the compiler picks";
      return WalkResult::interrupt();
    }
    if (isa<device::SymmetricOp, device::SignalsOp>(op)) {
      op->emitOpError() << "is no argument of its function, as this pass expects: "
                        << "--lower-hoist-symmetric makes it one";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result.wasInterrupted() ? failure() : lower::requireSignalMemory(function);
}

class DistToRuntime : public impl::DistToRuntimeBase<DistToRuntime> {
public:
  using DistToRuntimeBase::DistToRuntimeBase;

private:
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (!function.isExternal() &&
          (failed(checkSupported(function)) || failed(FunctionLowering(function).run())))
        return signalPassFailure();
  }
};

} // namespace
} // namespace ditron::cpu
