// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-tiles-to-threads: tiles become the registers of one thread, or shared memory; see
// ThreadLowering.h.
//
//   %a = tile.load %A[%i] : memref<?xf32, ...> -> tensor<256xf32, #tile.layout<"(64 : ..., 4 :
//   1@reg)">> %b = math.exp %a : tensor<256xf32, ...>
// becomes
//   %words:4 = (the target's access of 16 bytes) ...
//   %a = vector.from_elements %words#0, ... : vector<4xf32>
//   %b = math.exp %a : vector<4xf32>
//
// test/targets/gpu/tiles-to-threads.mlir shows it.
#include "ditron/core/Place.h"
#include "ditron/support/Error.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_TILESTOTHREADS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

int64_t convertBytes(core::ConvertLayoutOp op);
int64_t reduceBytes(Operation *op);
int64_t receiveBytes(ReceiveAllOp op);

int64_t momentaryBytes(Operation *op) {
  if (auto receive = dyn_cast<ReceiveAllOp>(op))
    return receiveBytes(receive);
  if (auto convert = dyn_cast<core::ConvertLayoutOp>(op))
    return convertBytes(convert);
  if (isa<core::ReduceOp, core::ReduceIndexOp, core::ScanOp, ReduceTogetherOp>(op))
    return reduceBytes(op);
  return 0;
}

namespace {

bool touchesTiles(Operation *op) {
  auto isTileType = [](Type type) { return isTile(type); };
  return llvm::any_of(op->getOperandTypes(), isTileType) ||
         llvm::any_of(op->getResultTypes(), isTileType);
}

/// Where the program has an op; where it has one that uses it, if the op is a constant that was folded.
mlir::Location lineOf(Operation *op) {
  auto isKnown = [](Operation *one) { return core::placeOf(one->getLoc()).line > 0; };
  if (isKnown(op))
    return op->getLoc();
  for (Operation *user : op->getUsers())
    if (isKnown(user))
      return user->getLoc();
  return op->getLoc();
}

/// Tiles of too many registers for any thread, named before the assembler spills them.
LogicalResult checkRegisters(Operation *op, const Traits &chip) {
  for (Value tile : op->getResults()) {
    if (!isTile(tile) || isShared(tileOf(tile)))
      continue;
    VectorType vector = vectorOf(tileOf(tile));
    int64_t words = vector.getNumElements() * std::max(1u, vector.getElementTypeBitWidth() / 32);
    if (words <= chip.threadRegisters)
      continue;
    RankedTensorType type = tileOf(tile);
    return emitError(lineOf(op))
           << "a tile of " << RankedTensorType::get(type.getShape(), type.getElementType())
           << " takes " << words << " registers of a thread, expected at most "
           << chip.threadRegisters
           << ": fewer elements, or extents with larger powers of two in them";
  }
  return success();
}

/// Of several threads that hold an element, one adds it, and it alone knows the value before.
LogicalResult checkValuesBefore(core::AtomicAddOp op, int64_t threads) {
  if (op.getOld().use_empty() || !isHeldSeveralTimes(core::layoutOf(tileOf(op.getTile()))))
    return success();
  return op.emitError() << "the values before are used of a tile of "
                        << tileOf(op.getTile()).getNumElements()
                        << " elements, fewer than the core has threads; expected " << threads
                        << " or more";
}

/// Tiles that no thread can hold, at the line of the program: patterns could only fail.
LogicalResult checkTiles(func::FuncOp function, const Traits &chip) {
  int64_t threads = warpsOf(function.front().getTerminator()) * chip.lanes;
  WalkResult result = function.walk([&](Operation *op) {
    auto atomic = dyn_cast<core::AtomicAddOp>(op);
    bool isRefused =
        failed(checkRegisters(op, chip)) || (atomic && failed(checkValuesBefore(atomic, threads)));
    return isRefused ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

class TilesToThreads : public impl::TilesToThreadsBase<TilesToThreads> {
public:
  using TilesToThreadsBase::TilesToThreadsBase;

private:
  void runOnOperation() override {
    const GpuTarget *target = targetNamed(targetName, getOperation());
    if (!target)
      return signalPassFailure();
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    declareShared();
    for (func::FuncOp function : functions)
      if (failed(lower(function, *target)))
        return signalPassFailure();
    for (func::FuncOp function : functions)
      shareMemory(function);
  }

  /// Regions use the same shared memory, one after the other.
  static void shareMemory(func::FuncOp kernel) {
    int64_t most = kernel->getAttrOfType<IntegerAttr>(kSharedAttr).getInt();
    for (func::FuncOp region : regionsOf(kernel))
      most = std::max(most, region->getAttrOfType<IntegerAttr>(kSharedAttr).getInt());
    kernel->setAttr(kSharedAttr, Builder(kernel).getI64IntegerAttr(most));
  }

  /// A CTA's shared memory, whose size is given when the kernel is launched.
  void declareShared() {
    OpBuilder b = OpBuilder::atBlockBegin(getOperation().getBody());
    b.create<LLVM::GlobalOp>(getOperation().getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                             /*isConstant=*/false, LLVM::Linkage::External, kSharedSymbol,
                             Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
  }

  LogicalResult lower(func::FuncOp function, const GpuTarget &target) {
    if (failed(requireLayouts(function)) || failed(checkTiles(function, target.traits())))
      return failure();
    int64_t momentary = 0;
    function.walk([&](Operation *op) { momentary = std::max(momentary, momentaryBytes(op)); });
    function.walk([&](scf::IfOp branch) { keepBranch(branch, target); });
    SharedMemory shared(momentary);
    ThreadContext context = contextOf(function, target, shared);
    if (failed(convert(function, context)))
      return failure();
    int64_t most = target.traits().sharedBytes;
    if (shared.bytes() > most)
      return function.emitError() << "needs " << shared.bytes() << " bytes of shared memory, but "
                                  << target.name() << " has " << most
                                  << " for a core: expected smaller tiles, or fewer at a time";
    function->setAttr(kSharedAttr, Builder(function).getI64IntegerAttr(shared.bytes()));
    return success();
  }

  /// LLVM counts a vector as one value, and would compute both sides of a branch that is one
  /// operation of tiles: what has an effect stays behind the branch.
  static void keepBranch(scf::IfOp branch, const GpuTarget &target) {
    if (!llvm::any_of(branch.getResultTypes(), [](Type type) { return isTile(type); }))
      return;
    for (Region &region : branch->getRegions()) {
      OpBuilder b = OpBuilder::atBlockBegin(&region.front());
      if (isa<scf::YieldOp>(region.front().front()))
        continue;
      target.instructions(b, branch.getLoc())->stay();
    }
  }

  ThreadContext contextOf(func::FuncOp function, const GpuTarget &target, SharedMemory &shared) {
    OpBuilder b = OpBuilder::atBlockBegin(&function.front());
    mlir::Location loc = function.getLoc();
    auto instructions = target.instructions(b, loc);
    int64_t lanes = target.traits().lanes;
    Value thread = instructions->thread();
    auto constant = [&](int64_t n) { return b.create<arith::ConstantIntOp>(loc, n, 32); };
    Value lane = b.create<arith::AndIOp>(loc, thread, constant(lanes - 1));
    auto shift = static_cast<int64_t>(llvm::Log2_64(static_cast<uint64_t>(lanes)));
    Value warp = b.create<arith::ShRUIOp>(loc, thread, constant(shift));
    auto producers = function->getAttrOfType<IntegerAttr>(kProducerWarpsAttr);
    if (producers) // branches on it are known to be the whole warp's
      warp = instructions->uniform(warp);
    auto pointer = LLVM::LLVMPointerType::get(&getContext(), 3);
    Value base = b.create<LLVM::AddressOfOp>(loc, pointer, kSharedSymbol);
    return {.target = target,
            .warps = warpsOf(function.front().getTerminator()),
            .lanes = lanes,
            .producerWarps = producers ? producers.getInt() : 0,
            .ctaWarps = ctaWarpsOf(function),
            .shared = shared,
            .base = base,
            .lane = lane,
            .warp = warp};
  }

  LogicalResult convert(func::FuncOp function, const ThreadContext &context) {
    MLIRContext *mlirContext = &getContext();
    TypeConverter types;
    types.addConversion([](Type type) { return type; });
    types.addConversion(
        [](RingType ring) -> Type { return LLVM::LLVMPointerType::get(ring.getContext(), 3); });
    types.addConversion([](RankedTensorType tile) -> Type {
      if (isShared(tile))
        return LLVM::LLVMPointerType::get(tile.getContext(), 3);
      return vectorOf(tile);
    });
    ConversionTarget legal(*mlirContext);
    legal.addIllegalDialect<SimtDialect>();
    legal.addLegalOp<ShiftOp, ViewAtOp>(); // of views, which stay
    legal.markUnknownOpDynamicallyLegal([](Operation *op) {
      bool isScalarCast = isa<core::CastOp>(op);
      return !touchesTiles(op) && !isScalarCast && !isNarrowScalar(op);
    });
    RewritePatternSet patterns(mlirContext);
    addElementPatterns(patterns, types, context);
    addMemoryPatterns(patterns, types, context);
    addElementWaitPatterns(patterns, types, context);
    addPackedPatterns(patterns, types, context);
    addConvertPatterns(patterns, types, context);
    addReducePatterns(patterns, types, context);
    addDotPatterns(patterns, types, context);
    addRingPatterns(patterns, types, context);
    addRankPatterns(patterns, types, context);
    addRowPatterns(patterns, types, context);
    addMovePatterns(patterns, types, context);
    context.target.addThreadPatterns(types, legal, patterns, context);
    scf::populateSCFStructuralTypeConversions(types, patterns);
    return applyPartialConversion(function, legal, std::move(patterns));
  }
};

} // namespace
} // namespace ditron::gpu
