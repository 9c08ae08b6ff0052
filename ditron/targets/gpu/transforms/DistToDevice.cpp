// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-dist-to-device: a core is a CTA (thread block), and symmetric memory a run of bytes that
// every rank has at the same distance from the one before.
//
//   %c = dist.core                    ->  %c = arith.index_cast (the number of the CTA)
//   dist.role "r" cores %f for %n {}  ->  scf.if (%c - %f < %n) {}
//   dist.wait %ready[%i] >= %n        ->  simt.wait (%ready + page + 8 * %i) for %n
//   dist.notify %s[%i] on %peer add %n -> simt.notify (the peer's ...) "add" %n
//   dist.send %t to %box[%i] on %peer -> simt.send %t to (the slot, by the peer's ...) epoch %e
//   dist.put_tile %t, %b[%i] on %peer ->  tile.store %t, (the peer's %b)[%i]
//   dist.put %from, %to on %peer      ->  %b = simt.shift %to by (%peer - %rank) * %stride
//                                         simt.move %from to %b
//   tile.require %ok, "..."(%n)       ->  scf.if (not %ok) { the first to fail notes it; exit }
//
// The kernel takes what it has to know of the launch as last arguments, in the order of
// abi/LaunchWords.h, which also says how launches follow one another: simt.begin and simt.end
// do that, and all use of symmetric memory is of the page of this launch. A peer's memory is
// mapped: that a verb reaches it by loads and stores at an address of its own is decided here, and
// nowhere before. Where ranks exchange tiles in inboxes and nothing else, simt.open and simt.close
// stand in their place. A send then carries its tile and orders nothing, as there is nothing else
// to order. Beside memory that cores may hand on, it releases and a receive acquires.
//
// What is not fulfilled is noted in the status of the launch. All threads of a block find the same
// and end; the launcher raises the error. test/targets/gpu/dist-to-device.mlir shows it.
#include "ditron/abi/DeviceLog.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/core/Place.h"
#include "ditron/device/MessageOrder.h"
#include "ditron/device/Scope.h"
#include "ditron/lower/DistLowering.h"
#include "ditron/lower/Packets.h"
#include "ditron/lower/Passes.h"
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_DISTTODEVICE
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

class FunctionLowering final : lower::DistLowering {
public:
  FunctionLowering(func::FuncOp function, const GpuTarget &target, bool isRecorded)
      : DistLowering(function), target_(target), isRecorded_(isRecorded) {}

  LogicalResult run() {
    if (failed(lower::requireSignalMemory(function_)))
      return failure();
    function_.walk([&](Operation *op) {
      if (device::scopeOf(op) <= device::Scope::device)
        near_.insert(op);
    });
    device::MessageOrder order(function_);
    function_.walk([&](Operation *op) {
      if (isa<device::SendOp, device::ReceiveOp>(op))
        messages_[op] = order.scopeOf(op);
    });
    addLaunchWords();
    b_.setInsertionPointToStart(&function_.front());
    auto instructions = target_.instructions(b_, loc_);
    core_ = numberOf(instructions->block());
    cores_ = numberOf(instructions->blocks());
    noteSite("", function_, "begins a launch");
    if (hasCopies_)
      copiesSite_ = noteSite("", function_, "waits for");
    if (hasWorkspace_)
      begin();
    if (!inboxes_.empty())
      findInboxes();
    log(abi::DeviceLog::begin, 0);
    if (failed(lowerBody()))
      return failure();
    noteElementWaits();
    b_.setInsertionPoint(function_.front().getTerminator());
    log(abi::DeviceLog::end, 0);
    if (hasWorkspace_)
      end();
    function_->setAttr(kRequirementsAttr, b_.getArrayAttr(requirements_));
    function_->setAttr(kSitesAttr, b_.getArrayAttr(sites_));
    function_->setAttr(kBarriersAttr, b_.getI64IntegerAttr(barriers_));
    return success();
  }

private:
  //===-- The launch --------------------------------------------------------------------------===//

  /// The status, and where the kernel asks for ranks, the rest.
  void addLaunchWords() {
    if (auto requests = function_->getAttrOfType<ArrayAttr>(lower::kSymmetricAttr))
      llvm::append_range(requests_, requests.getAsRange<DictionaryAttr>());
    if (auto steps = function_->getAttrOfType<ArrayAttr>(lower::kCopyProgramAttr))
      llvm::append_range(copySteps_, steps.getAsRange<DictionaryAttr>());
    hasCopies_ = function_->hasAttr(lower::kCopyEnginesAttr);
    bool isDistributed = !requests_.empty() || device::isOfRanks(function_);
    function_.walk([&](device::BarrierOp) { ++barriers_; });
    hasWorkspace_ = isDistributed;
    parameters_ = function_.getNumArguments() - static_cast<unsigned>(requests_.size());
    collectInboxes();
    auto add = [&](Type type) {
      unsigned n = function_.getNumArguments();
      function_.insertArgument(n, type, b_.getDictionaryAttr({}), loc_);
      launch_.push_back(function_.getArgument(n));
    };
    add(LLVM::LLVMPointerType::get(b_.getContext()));
    for (int word = abi::kRank; isDistributed && word < abi::kLaunchWords; ++word)
      add(b_.getIndexType());
    if (isDistributed)
      function_->setAttr(kDistributedAttr, b_.getUnitAttr());
  }

  Value add(Value x, Value y) { return b_.createOrFold<arith::AddIOp>(loc_, x, y); }
  Value sub(Value x, Value y) { return b_.createOrFold<arith::SubIOp>(loc_, x, y); }
  Value mul(Value x, Value y) { return b_.createOrFold<arith::MulIOp>(loc_, x, y); }
  Value numberOf(Value word) {
    return b_.create<arith::IndexCastUIOp>(loc_, b_.getIndexType(), word);
  }

  /// Begins the launch, and has symmetric memory be that of this launch.
  void begin() {
    if (onlyInboxes_) {
      epoch_ = b_.create<EpochOp>(loc_, b_.getIndexType(), launch_[abi::kHead]);
      notes_ = b_.create<OpenOp>(loc_, b_.getI64Type(), epoch_, launch_);
      return;
    }
    b_.create<BeginOp>(loc_, launch_);
    Value epoch = epoch_ = b_.create<EpochOp>(loc_, b_.getIndexType(), launch_[abi::kHead]);
    Value page = b_.create<arith::RemUIOp>(loc_, epoch, index(abi::kSignalPages));
    signalShift_ = mul(page, launch_[abi::kSignalPage]);
    page = b_.create<arith::RemUIOp>(loc_, epoch, index(abi::kBufferPages));
    Value shift = mul(page, launch_[abi::kBufferPage]);
    for (unsigned n = parameters_; n < parameters_ + requests_.size(); ++n) {
      Value buffer = function_.getArgument(n);
      bool isSignals = llvm::any_of(
          buffer.getUsers(), [](Operation *user) { return isa<UnrealizedConversionCastOp>(user); });
      if (isSignals || buffer.use_empty() || isFixed(buffer))
        continue;
      auto paged = b_.create<ShiftOp>(loc_, buffer.getType(), buffer, shift, page);
      buffer.replaceAllUsesExcept(paged.getResult(), paged);
    }
  }

  void end() {
    if (onlyInboxes_)
      return close();
    if (!hasCopies_)
      return void(b_.create<EndOp>(loc_, launch_, IntegerAttr(), ValueRange(), boxes()));
    auto site = b_.getI64IntegerAttr(copiesSite_);
    b_.create<EndOp>(loc_, launch_, site, fixedCells(/*onlyAwaited=*/false), boxes());
    b_.create<ReleaseCopiesOp>(loc_, launch_, fixedCells(/*onlyAwaited=*/true),
                               /*failed=*/false);
  }

  //===-- Inboxes ---------------------------------------------------------------------------===//

  void collectInboxes() {
    for (auto [number, request] : llvm::enumerate(requests_))
      if (request.get("kind") == b_.getStringAttr("inbox"))
        inboxes_.push_back(function_.getArgument(parameters_ + static_cast<unsigned>(number)));
    onlyInboxes_ = !inboxes_.empty() && inboxes_.size() == requests_.size() && barriers_ == 0;
  }

  /// Of each inbox the address in the first page, and the words.
  SmallVector<Value> boxes() {
    SmallVector<Value> result;
    for (Value memory : inboxes_) {
      result.push_back(b_.create<memref::ExtractAlignedPointerAsIndexOp>(loc_, memory));
      Value words = index(1);
      for (int64_t d = 0; d < cast<MemRefType>(memory.getType()).getRank(); ++d)
        words = mul(words, b_.create<memref::DimOp>(loc_, memory, d));
      result.push_back(words);
    }
    return result;
  }

  /// Where the slots of this launch begin.
  void findInboxes() {
    Value page = b_.create<arith::RemUIOp>(loc_, epoch_, index(abi::kBufferPages));
    boxShift_ = mul(page, launch_[abi::kBufferPage]);
  }

  /// Counts the CTA while what it sends is under way: where the kernel first receives.
  void close() {
    Operation *end = function_.front().getTerminator();
    auto receives = [](Operation &op) {
      return op.walk([](ReceiveOp) { return WalkResult::interrupt(); }).wasInterrupted();
    };
    auto first = llvm::find_if(function_.front(), receives);
    b_.setInsertionPoint(first == function_.front().end() ? end : &*first);
    Value before = b_.create<ArriveOp>(loc_, b_.getI32Type(), epoch_, boxes(), launch_);
    b_.setInsertionPoint(end);
    b_.create<CloseOp>(loc_, epoch_, before, launch_);
  }

  /// The address of a slot of this launch. Slots are row-major.
  Value slotOf(Value inbox, ValueRange indices) {
    auto cast = inbox.getDefiningOp<UnrealizedConversionCastOp>();
    auto type = mlir::cast<device::InboxType>(inbox.getType());
    Value memory = cast.getOperand(0), number = index(0);
    for (auto [n, at] : llvm::enumerate(indices)) {
      Value extent = b_.create<memref::DimOp>(loc_, memory, static_cast<int64_t>(n));
      number = add(mul(number, extent), at);
    }
    int64_t bytes = lower::PacketLayout(type.getTile()).all() * lower::kPacketBytes;
    Value base = b_.create<memref::ExtractAlignedPointerAsIndexOp>(loc_, memory);
    return add(add(base, boxShift_), mul(number, index(bytes)));
  }

  /// A send or a receive orders other memory, if it is to.
  void orderBy(Operation *verb) {
    device::Scope scope = messages_.lookup(verb);
    if (scope > device::Scope::core)
      b_.create<SyncOp>(loc_, scope == device::Scope::device ? "gpu" : "sys");
  }

  bool send(device::SendOp send) override {
    Value slot = add(slotOf(send.getInbox(), send.getIndices()), distanceTo(send.getPeer()));
    orderBy(send);
    b_.create<SendOp>(loc_, send.getTile(), slot, epoch_, notes_,
                      notes_ ? ValueRange(launch_) : ValueRange());
    return true;
  }

  Value receive(device::ReceiveOp receive) override {
    int64_t site = noteSite(role_, receive, "waits for");
    Value tile = b_.create<ReceiveOp>(loc_, receive.getTile().getType(),
                                      slotOf(receive.getInbox(), receive.getIndices()), epoch_,
                                      site, launch_);
    orderBy(receive);
    return tile;
  }

  //===-- What copy engines touch -------------------------------------------------------------===//

  /// Whether symmetric memory has one place in all launches.
  bool isFixed(Value memory) const {
    auto argument = dyn_cast<BlockArgument>(memory);
    if (!argument || argument.getArgNumber() < parameters_)
      return false;
    DictionaryAttr request = requests_[argument.getArgNumber() - parameters_];
    auto fixed = request.getAs<BoolAttr>("fixed");
    return fixed && fixed.getValue();
  }

  /// Whether copy engines wait for these signals.
  bool isAwaitedByCopies(unsigned argument) const {
    return llvm::any_of(copySteps_, [&](DictionaryAttr step) {
      auto arguments = step.getAs<DenseI64ArrayAttr>("arguments").asArrayRef();
      return step.getAs<StringAttr>("kind").getValue() == "wait" && arguments[0] == argument;
    });
  }

  /// The fixed signals, all of them or those for which copy engines wait: of each array the address of
  /// the first counter, and how many there are.
  SmallVector<Value> fixedCells(bool onlyAwaited) {
    SmallVector<Value> cells;
    for (auto [number, request] : llvm::enumerate(requests_)) {
      auto n = parameters_ + static_cast<unsigned>(number);
      Value memory = function_.getArgument(n);
      if (request.get("kind") != b_.getStringAttr("signals") || !isFixed(memory) ||
          (onlyAwaited && !isAwaitedByCopies(n)))
        continue;
      cells.push_back(b_.create<memref::ExtractAlignedPointerAsIndexOp>(loc_, memory));
      Value count = index(1);
      for (int64_t d = 0; d < cast<MemRefType>(memory.getType()).getRank(); ++d)
        count = mul(count, b_.create<memref::DimOp>(loc_, memory, d));
      cells.push_back(count);
    }
    return cells;
  }

  /// The number of a wait among those that reports name.
  int64_t noteSite(StringRef role, Operation *op, const Twine &what) {
    auto [file, line] = core::placeOf(op->getLoc());
    sites_.push_back(b_.getDictionaryAttr({b_.getNamedAttr("role", b_.getStringAttr(role)),
                                           b_.getNamedAttr("file", b_.getStringAttr(file)),
                                           b_.getNamedAttr("line", b_.getI64IntegerAttr(line)),
                                           b_.getNamedAttr("what", b_.getStringAttr(what))}));
    return static_cast<int64_t>(sites_.size()) - 1;
  }

  /// Loads of memory whose elements say that they are there wait for them, and need the words of the launch for that.
  void noteElementWaits() {
    bool isSome = false;
    function_.walk([&](Operation *op) {
      if (!isa<core::LoadOp, memref::LoadOp>(op) || !isSelfSignaling(op->getOperand(0)))
        return;
      op->setAttr(kSiteAttr, b_.getI64IntegerAttr(noteSite("", op, "waits for")));
      isSome = true;
    });
    for (auto [word, argument] : llvm::enumerate(launch_))
      if (isSome)
        function_.setArgAttr(cast<BlockArgument>(argument).getArgNumber(), kLaunchWordAttr,
                             b_.getI64IntegerAttr(static_cast<int64_t>(word)));
  }

  //===-- Requirements ------------------------------------------------------------------------===//

  void require(core::RequireOp op) override {
    auto [file, line] = core::placeOf(op->getLoc());
    auto number = static_cast<int64_t>(requirements_.size());
    requirements_.push_back(
        b_.getDictionaryAttr({b_.getNamedAttr("message", op.getMessageAttr()),
                              b_.getNamedAttr("file", b_.getStringAttr(file)),
                              b_.getNamedAttr("line", b_.getI64IntegerAttr(line))}));
    Value status = launch_[abi::kStatus];
    Value yes = b_.create<arith::ConstantIntOp>(loc_, 1, 1);
    auto failed =
        b_.create<scf::IfOp>(loc_, b_.create<arith::XOrIOp>(loc_, op.getCondition(), yes));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(failed.thenBlock());
    auto word = [&](int64_t value) { return b_.create<arith::ConstantIntOp>(loc_, value, 64); };
    Value before = b_.create<LLVM::AtomicCmpXchgOp>(loc_, status, word(0), word(1),
                                                    LLVM::AtomicOrdering::monotonic,
                                                    LLVM::AtomicOrdering::monotonic);
    before = b_.create<LLVM::ExtractValueOp>(loc_, before, 0);
    Value isFirst = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, before, word(0));
    auto first = b_.create<scf::IfOp>(loc_, isFirst);
    {
      OpBuilder::InsertionGuard inner(b_);
      b_.setInsertionPointToStart(first.thenBlock());
      SmallVector<Value> values;
      for (Value value : op.getValues())
        values.push_back(b_.create<arith::IndexCastOp>(loc_, b_.getI64Type(), value));
      target_.instructions(b_, loc_)->report(status, abi::Status::kNumber, number, values);
      if (hasWorkspace_)
        b_.create<AbortOp>(loc_, launch_);
      if (hasCopies_)
        b_.create<ReleaseCopiesOp>(loc_, launch_, fixedCells(/*onlyAwaited=*/true),
                                   /*failed=*/true);
    }
    target_.instructions(b_, loc_)->exit();
  }

  //===-- Symmetric memory --------------------------------------------------------------------===//

  /// Bytes from this rank's memory to a peer's.
  Value distanceTo(Value peer) {
    return mul(sub(peer, launch_[abi::kRank]), launch_[abi::kStride]);
  }

  /// The address of a counter of this launch. Counters are row-major.
  Value cellOf(Value signals, ValueRange indices) {
    auto cast = signals.getDefiningOp<UnrealizedConversionCastOp>();
    Value counters = cast.getOperand(0), number = index(0);
    for (auto [n, at] : llvm::enumerate(indices)) {
      Value extent = b_.create<memref::DimOp>(loc_, counters, static_cast<int64_t>(n));
      number = add(mul(number, extent), at);
    }
    Value base = b_.create<memref::ExtractAlignedPointerAsIndexOp>(loc_, counters);
    if (!isFixed(counters))
      base = add(base, signalShift_);
    return add(base, mul(number, index(8)));
  }

  /// Copy engines see what is done for all of the system.
  StringRef scopeOf(Operation *op, Value signals) const {
    Value counters = signals.getDefiningOp<UnrealizedConversionCastOp>().getOperand(0);
    return near_.contains(op) && !isFixed(counters) ? "gpu" : "sys";
  }

  /// The peer's instance of a view, which is mapped here.
  Value onPeer(Value view, Value peer) {
    return b_.create<ShiftOp>(loc_, view.getType(), view, distanceTo(peer), Value());
  }

  void put(Operation *op, Value source, Value destination, Value peer) override {
    Value begin = time();
    b_.create<MoveOp>(loc_, source, onPeer(destination, peer), /*isComplete=*/false);
    logTransfer(abi::DeviceLog::put, op, source, peer, begin);
  }
  bool putTile(device::PutTileOp put) override {
    Value begin = time();
    auto store = b_.create<core::StoreOp>(
        loc_, put.getTile(), onPeer(put.getDestination(), put.getPeer()), put.getCoords());
    store->setDiscardableAttrs(put->getDiscardableAttrDictionary());
    auto type = cast<RankedTensorType>(put.getTile().getType());
    int64_t bytes = type.getNumElements() * core::elementBytes(type.getElementType());
    if (isRecorded_)
      log(abi::DeviceLog::put, noteSite(role_, put, "moves"), {put.getPeer(), index(bytes)}, begin);
    return true;
  }
  void get(device::GetOp get) override {
    Value begin = time();
    b_.create<MoveOp>(loc_, onPeer(get.getSource(), get.getPeer()), get.getDestination(),
                      /*isComplete=*/true);
    logTransfer(abi::DeviceLog::get, get, get.getSource(), get.getPeer(), begin);
  }

  void notify(const Notify &notify) override {
    Value cell = cellOf(notify.signals, notify.indices);
    if (notify.peer)
      cell = add(cell, distanceTo(notify.peer));
    const char *mode = notify.mode == device::NotifyMode::set ? "max" : "add";
    StringRef scope = scopeOf(notify.op, notify.signals);
    if (isRecorded_)
      b_.create<NotifyLoggedOp>(loc_, cell, mode, notify.value, scope,
                                noteSite(role_, notify.op, "notifies"), launch_[abi::kStatus]);
    else
      b_.create<NotifyOp>(loc_, cell, mode, notify.value, scope, /*relaxed=*/false,
                          notify.op->hasAttr(device::kUnorderedAttr));
  }

  void wait(device::WaitOp wait) override {
    int64_t site = noteSite(role_, wait, "waits for");
    Value cell = cellOf(wait.getSignals(), wait.getIndices()), begin = time(), held;
    StringRef scope = scopeOf(wait, wait.getSignals());
    if (isRecorded_)
      held = b_.create<ReachedOp>(loc_, b_.getI1Type(), cell, wait.getValue(), scope);
    b_.create<WaitOp>(loc_, cell, wait.getValue(), site, scope, launch_);
    log(abi::DeviceLog::wait, site, {cell, wait.getValue()}, begin, held);
  }

  void fence() override { b_.create<SyncOp>(loc_, "sys"); }
  void quiet() override { b_.create<SyncOp>(loc_, "sys"); }
  void markTile(device::MarkTileOp mark) override {
    ValueRange tile = mark->getOperands();
    log(tile.empty() ? abi::DeviceLog::tilesEnd : abi::DeviceLog::tile,
        isRecorded_ ? noteSite(role_, mark, "begins a tile") : 0, llvm::to_vector(tile));
  }

  void barrier(device::BarrierOp barrier) override {
    bool isAll = barrier.getScope() == device::BarrierScope::ranks;
    int64_t site = noteSite(role_, barrier, isAll ? "meets all ranks at" : "meets its cores at");
    // The counters of barriers come behind those of the program.
    Value number = sub(launch_[abi::kCells], index(2 * (barriers_ - nextBarrier_++)));
    Value first = add(add(launch_[abi::kHead], index(abi::Head::kBytes)), signalShift_);
    Value begin = time();
    b_.create<MeetOp>(loc_, add(first, mul(number, index(8))), cores_, isAll, site, launch_);
    log(abi::DeviceLog::barrier, site,
        {index(isAll ? 1 : 0), index(0), cores_, index(nextBarrier_)}, begin);
  }

  //===-- The log of recorded launches --------------------------------------------------------===//

  Value time() {
    return isRecorded_ ? b_.create<TimeOp>(loc_, b_.getI64Type()).getTime() : Value();
  }

  void log(abi::DeviceLog::Kind what, int64_t site, ArrayRef<Value> values = {}, Value begin = {},
           Value held = {}) {
    if (isRecorded_)
      b_.create<LogOp>(loc_, what, site, values, begin, held, launch_[abi::kStatus]);
  }

  /// The peer, and the bytes that go to it or come from it.
  void logTransfer(abi::DeviceLog::Kind what, Operation *op, Value source, Value peer,
                   Value begin) {
    if (!isRecorded_)
      return;
    auto type = cast<MemRefType>(source.getType());
    Value bytes = index((type.getElementTypeBitWidth() + 7) / 8);
    for (int64_t d = 0; d < type.getRank(); ++d)
      bytes = mul(bytes, b_.create<memref::DimOp>(loc_, source, d));
    log(what, noteSite(role_, op, "moves"), {peer, bytes}, begin);
  }

  //===-- Ranks and roles ---------------------------------------------------------------------===//

  Value rank() override { return launch_[abi::kRank]; }
  Value numRanks() override { return launch_[abi::kRanks]; }
  Value localRanks() override { return {}; } // the GPUs of one node

  LogicalResult enterRole(device::RoleOp role) override {
    outerRoles_.push_back(role_);
    role_ += (role_.empty() ? "" : "/") + role.getName().str();
    if (isRecorded_)
      log(abi::DeviceLog::roleEnter, noteSite(role.getName(), role, "begins"),
          {role.getFirst(), role.getCount()});
    return success();
  }
  void leaveRole() override {
    role_ = outerRoles_.pop_back_val();
    log(abi::DeviceLog::roleLeave, 0);
  }

  /// Notifies and waits inside of the rank, as they are seen before any is lowered.
  llvm::DenseSet<Operation *> near_;
  llvm::DenseMap<Operation *, device::Scope> messages_; ///< how far sends and receives order memory
  const GpuTarget &target_;
  bool isRecorded_;
  SmallVector<Value> launch_; ///< by abi::LaunchWord
  unsigned parameters_ = 0;
  SmallVector<DictionaryAttr>
      requests_; ///< of symmetric memory, one for each argument behind these
  SmallVector<DictionaryAttr> copySteps_; ///< of the copy engines' program
  bool hasWorkspace_ = false, hasCopies_ = false;
  SmallVector<Value> inboxes_; ///< the words of each
  bool onlyInboxes_ = false;   ///< no other symmetric memory
  Value epoch_, notes_, boxShift_;
  int64_t copiesSite_ = 0; ///< of the wait for the copy engines of all ranks
  Value signalShift_;
  std::string role_; ///< the running one, behind those around it
  SmallVector<std::string> outerRoles_;
  SmallVector<Attribute> requirements_, sites_;
  int64_t barriers_ = 0, nextBarrier_ = 0;
};

class DistToDevice : public impl::DistToDeviceBase<DistToDevice> {
public:
  using DistToDeviceBase::DistToDeviceBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const GpuTarget *target = targetNamed(targetName, function);
    if (!target ||
        (!function.isExternal() && failed(FunctionLowering(function, *target, recorded).run())))
      signalPassFailure();
  }
};

} // namespace
} // namespace ditron::gpu
