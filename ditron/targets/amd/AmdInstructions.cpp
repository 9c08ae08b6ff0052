// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/amd/AmdInstructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using LLVM::AtomicOrdering;

namespace ditron::amd {

StringRef syncScope(ScopeName scope) {
  return llvm::StringSwitch<StringRef>(scope)
      .Case("cta", "workgroup")
      .Case("gpu", "agent")
      .Default("");
}

Value Instructions::i32(int64_t value) { return b_.create<arith::ConstantIntOp>(loc_, value, 32); }

Value Instructions::globalPointer(Value address) {
  return b_.create<LLVM::IntToPtrOp>(loc_, LLVM::LLVMPointerType::get(b_.getContext(), 1), address);
}

Value Instructions::intrinsic(StringRef name, Type result, ArrayRef<Value> operands) {
  return b_.create<LLVM::CallIntrinsicOp>(loc_, TypeRange(result), b_.getStringAttr(name), operands)
      .getResult(0);
}

void Instructions::effect(StringRef name) {
  b_.create<LLVM::CallIntrinsicOp>(loc_, TypeRange(), b_.getStringAttr(name), ValueRange());
}

//===-- This thread ---------------------------------------------------------------------------===//

Value Instructions::thread() { return b_.create<ROCDL::ThreadIdXOp>(loc_, b_.getI32Type()); }
Value Instructions::block() { return b_.create<ROCDL::BlockIdXOp>(loc_, b_.getI32Type()); }

// The first of the implicit arguments that follow the kernel's own (code object version 5).
Value Instructions::blocks() {
  auto constants = LLVM::LLVMPointerType::get(b_.getContext(), 4);
  Value implicit = intrinsic("llvm.amdgcn.implicitarg.ptr", constants, {});
  return b_.create<LLVM::LoadOp>(loc_, b_.getI32Type(), implicit, /*alignment=*/4u,
                                 /*isVolatile=*/false, /*isNonTemporal=*/false,
                                 /*isInvariant=*/true);
}

Value Instructions::uniform(Value value) {
  return intrinsic("llvm.amdgcn.readfirstlane", value.getType(), {value});
}

Value Instructions::wordFromLane(Value word, int64_t lane) {
  Value number = b_.create<arith::ConstantIntOp>(loc_, lane, 32);
  return intrinsic("llvm.amdgcn.readlane", word.getType(), {word, number});
}

Value Instructions::exchangeInRow(Value word, int64_t mask) {
  // How DPP moves lanes: within quads by four numbers of two bits, within a row of 16 in turn.
  constexpr int64_t kSwapPairs = 0xB1, kSwapHalves = 0x4E, kReverseQuad = 0x1B, kTurnBy8 = 0x128;
  int64_t control = mask == 1   ? kSwapPairs
                    : mask == 2 ? kSwapHalves
                    : mask == 3 ? kReverseQuad
                    : mask == 8 ? kTurnBy8
                                : 0;
  if (control == 0)
    return nullptr;
  constexpr int64_t kAllRows = 0xF, kAllBanks = 0xF;
  Value bound = b_.create<arith::ConstantIntOp>(loc_, 1, 1);
  return intrinsic("llvm.amdgcn.update.dpp", word.getType(),
                   {word, word, i32(control), i32(kAllRows), i32(kAllBanks), bound});
}

// Within 32 lanes LDS hardware permutes by a pattern in the instruction, beyond by addresses.
Value Instructions::shuffleWord(Value word, int64_t mask) {
  Type type = word.getType(), i32Type = b_.getI32Type();
  if (type != i32Type)
    word = b_.create<arith::BitcastOp>(loc_, i32Type, word);
  Value result = exchangeInRow(word, mask);
  constexpr int64_t kSwizzled = 32, kKeepAll = 0x1F, kXorShift = 10;
  if (!result && mask < kSwizzled) {
    result =
        intrinsic("llvm.amdgcn.ds.swizzle", i32Type, {word, i32(kKeepAll | mask << kXorShift)});
  } else if (!result) {
    Value low = intrinsic("llvm.amdgcn.mbcnt.lo", i32Type, {i32(-1), i32(0)});
    Value lane = intrinsic("llvm.amdgcn.mbcnt.hi", i32Type, {i32(-1), low});
    Value other = b_.create<arith::XOrIOp>(loc_, lane, i32(mask));
    Value place = b_.create<arith::ShLIOp>(loc_, other, i32(2));
    result = intrinsic("llvm.amdgcn.ds.bpermute", i32Type, {place, word});
  }
  return type == i32Type ? result : b_.create<arith::BitcastOp>(loc_, type, result);
}

void Instructions::barrier(bool) {
  fence(AtomicOrdering::release, "cta");
  effect("llvm.amdgcn.s.barrier");
  fence(AtomicOrdering::acquire, "cta");
}

void Instructions::stay() {
  b_.create<LLVM::InlineAsmOp>(
      loc_, TypeRange(), ValueRange(), "; a branch", "", /*has_side_effects=*/true,
      /*is_align_stack=*/false,
      LLVM::AsmDialectAttr::get(b_.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

void Instructions::exit() { effect("llvm.amdgcn.endpgm"); }

//===-- Global memory -------------------------------------------------------------------------===//

/// The type of so many values in one access.
static Type accessType(ArrayRef<Value> values) {
  Type type = values[0].getType();
  if (values.size() == 1)
    return type;
  return VectorType::get({static_cast<int64_t>(values.size())}, type);
}

static Value joined(OpBuilder &b, mlir::Location loc, ArrayRef<Value> values) {
  if (values.size() == 1)
    return values[0];
  return b.create<vector::FromElementsOp>(loc, cast<VectorType>(accessType(values)), values);
}

static unsigned bytesOf(ArrayRef<Value> values) {
  return static_cast<unsigned>(values.size()) * values[0].getType().getIntOrFloatBitWidth() / 8;
}

SmallVector<Value> Instructions::loadGlobal(Value address, int64_t bytes, Value mask,
                                            ArrayRef<Value> otherwise, Place place) {
  Type type = accessType(otherwise);
  auto load = [&] {
    return b_.create<LLVM::LoadOp>(loc_, type, globalPointer(address), static_cast<unsigned>(bytes),
                                   /*isVolatile=*/false,
                                   /*isNonTemporal=*/false,
                                   /*isInvariant=*/place != Place::here);
  };
  Value loaded;
  if (matchPattern(mask, m_One())) {
    loaded = load();
  } else {
    auto branch = b_.create<scf::IfOp>(loc_, TypeRange(type), mask, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    b_.create<scf::YieldOp>(loc_, ValueRange(load()));
    b_.setInsertionPointToStart(branch.elseBlock());
    b_.create<scf::YieldOp>(loc_, joined(b_, loc_, otherwise));
    loaded = branch.getResult(0);
  }
  if (otherwise.size() == 1)
    return {loaded};
  SmallVector<Value> values;
  for (size_t n = 0; n < otherwise.size(); ++n)
    values.push_back(b_.create<vector::ExtractOp>(loc_, loaded, static_cast<int64_t>(n)));
  return values;
}

SmallVector<Value> Instructions::loadStrong(Value address, int64_t bytes, Value mask,
                                            ArrayRef<Value> otherwise) {
  auto branch = b_.create<scf::IfOp>(loc_, TypeRange(ValueRange(otherwise)), mask, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.elseBlock());
  b_.create<scf::YieldOp>(loc_, otherwise);
  b_.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> words;
  unsigned each = static_cast<unsigned>(bytes) / static_cast<unsigned>(otherwise.size());
  for (auto [n, one] : llvm::enumerate(otherwise)) {
    Value behind = b_.create<arith::ConstantIntOp>(loc_, n * each, 64);
    Value from = b_.create<arith::AddIOp>(loc_, address, behind);
    words.push_back(b_.create<LLVM::LoadOp>(loc_, one.getType(), globalPointer(from), each,
                                            /*isVolatile=*/false, /*isNonTemporal=*/false,
                                            /*isInvariant=*/false, LLVM::AtomicOrdering::monotonic,
                                            "agent"));
  }
  b_.create<scf::YieldOp>(loc_, words);
  return SmallVector<Value>(branch.getResults());
}

void Instructions::storeStrong(Value address, ArrayRef<Value> values, Value mask) {
  auto branch = b_.create<scf::IfOp>(loc_, mask, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  for (auto [n, value] : llvm::enumerate(values)) {
    unsigned each = value.getType().getIntOrFloatBitWidth() / 8;
    Value behind = b_.create<arith::ConstantIntOp>(loc_, n * each, 64);
    Value to = b_.create<arith::AddIOp>(loc_, address, behind);
    b_.create<LLVM::StoreOp>(loc_, value, globalPointer(to), each, /*isVolatile=*/false,
                             /*isNonTemporal=*/false, LLVM::AtomicOrdering::monotonic, "agent");
  }
}

void Instructions::storeGlobal(Value address, ArrayRef<Value> values, Value mask) {
  OpBuilder::InsertionGuard guard(b_);
  if (!matchPattern(mask, m_One())) {
    auto branch = b_.create<scf::IfOp>(loc_, mask, /*withElseRegion=*/false);
    b_.setInsertionPointToStart(branch.thenBlock());
  }
  b_.create<LLVM::StoreOp>(loc_, joined(b_, loc_, values), globalPointer(address), bytesOf(values));
}

// Through registers, byte by byte where the end of what is read lies within: done when it returns.
void Instructions::copyAsync(Value shared, Value address, int64_t bytes, Value count) {
  auto isWhole = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, count, i32(bytes));
  auto branch = b_.create<scf::IfOp>(loc_, isWhole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  Value yes = b_.create<arith::ConstantIntOp>(loc_, 1, 1);
  SmallVector<Value> zeros(static_cast<size_t>(bytes / 4), i32(0));
  SmallVector<Value> words = loadGlobal(address, bytes, yes, zeros);
  b_.create<LLVM::StoreOp>(loc_, joined(b_, loc_, words), shared, static_cast<unsigned>(bytes));
  b_.setInsertionPointToStart(branch.elseBlock());
  Value zero = b_.create<arith::ConstantIntOp>(loc_, 0, 8);
  for (int64_t n = 0; n < bytes; ++n) {
    Value exists = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::sgt, count, i32(n));
    Value from =
        b_.create<arith::AddIOp>(loc_, address, b_.create<arith::ConstantIntOp>(loc_, n, 64));
    Value byte = loadGlobal(from, 1, exists, zero)[0];
    Value to = b_.create<LLVM::GEPOp>(loc_, shared.getType(), b_.getI8Type(), shared,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(n)});
    b_.create<LLVM::StoreOp>(loc_, byte, to, 1u);
  }
}

//===-- Other cores and ranks -----------------------------------------------------------------===//

Value Instructions::load(Value address, AtomicOrdering ordering, ScopeName scope) {
  return b_.create<LLVM::LoadOp>(loc_, b_.getI64Type(), globalPointer(address), /*alignment=*/8u,
                                 /*isVolatile=*/false, /*isNonTemporal=*/false,
                                 /*isInvariant=*/false, ordering, syncScope(scope));
}

void Instructions::store(Value address, Value value, AtomicOrdering ordering, ScopeName scope) {
  b_.create<LLVM::StoreOp>(loc_, value, globalPointer(address), /*alignment=*/8u,
                           /*isVolatile=*/false, /*isNonTemporal=*/false, ordering,
                           syncScope(scope));
}

Value Instructions::loadAcquire(Value address, ScopeName scope) {
  return load(address, AtomicOrdering::acquire, scope);
}
Value Instructions::loadRelaxed(Value address, ScopeName scope) {
  return load(address, AtomicOrdering::monotonic, scope);
}
void Instructions::storeRelease(Value address, Value value, ScopeName scope) {
  store(address, value, AtomicOrdering::release, scope);
}
void Instructions::storeRelaxed(Value address, Value value, ScopeName scope) {
  store(address, value, AtomicOrdering::monotonic, scope);
}

void Instructions::raise(Value address, StringRef mode, Value value, AtomicOrdering ordering,
                         ScopeName scope) {
  auto kind = mode == "max" ? LLVM::AtomicBinOp::umax : LLVM::AtomicBinOp::add;
  b_.create<LLVM::AtomicRMWOp>(loc_, kind, globalPointer(address), value, ordering,
                               syncScope(scope));
}
void Instructions::raiseRelease(Value address, StringRef mode, Value value, ScopeName scope) {
  raise(address, mode, value, AtomicOrdering::release, scope);
}
void Instructions::raiseRelaxed(Value address, StringRef mode, Value value, ScopeName scope) {
  raise(address, mode, value, AtomicOrdering::monotonic, scope);
}

Value Instructions::addAcquireRelease(Value address, Value value, ScopeName scope) {
  return b_.create<LLVM::AtomicRMWOp>(loc_, LLVM::AtomicBinOp::add, globalPointer(address), value,
                                      AtomicOrdering::acq_rel, syncScope(scope));
}

Value Instructions::incrementAcquireRelease(Value address, Value last, ScopeName scope) {
  return b_.create<LLVM::AtomicRMWOp>(loc_, LLVM::AtomicBinOp::uinc_wrap, globalPointer(address),
                                      last, AtomicOrdering::acq_rel, syncScope(scope));
}

Value Instructions::countArrival(Value address, Value last, Value mask, ScopeName scope) {
  return where(mask, i32(0), [&]() -> Value {
    return b_.create<LLVM::AtomicRMWOp>(loc_, LLVM::AtomicBinOp::uinc_wrap, globalPointer(address),
                                        last, AtomicOrdering::monotonic, syncScope(scope));
  });
}

Value Instructions::loadWhere(Value address, Value mask, Value otherwise, ScopeName scope) {
  return where(mask, otherwise, [&] { return loadRelaxed(address, scope); });
}

Value Instructions::where(Value mask, Value otherwise, llvm::function_ref<Value()> value) {
  auto branch = b_.create<scf::IfOp>(loc_, TypeRange{otherwise.getType()}, mask, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  b_.create<scf::YieldOp>(loc_, value());
  b_.setInsertionPointToStart(branch.elseBlock());
  b_.create<scf::YieldOp>(loc_, otherwise);
  return branch.getResult(0);
}

Value Instructions::holdsInWarp(Value condition) {
  Value yes = b_.create<arith::ConstantIntOp>(loc_, 1, 1);
  Value fails = b_.create<arith::XOrIOp>(loc_, condition, yes);
  Value lanes = intrinsic("llvm.amdgcn.ballot.i64", b_.getI64Type(), {fails});
  return b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, lanes,
                                  b_.create<arith::ConstantIntOp>(loc_, 0, 64));
}

// Its instructions wait for loads in order.
void Instructions::need(Value) { fence(AtomicOrdering::acq_rel, "gpu"); }

void Instructions::storePacket(Value address, ArrayRef<Value> words, Value mask) {
  auto type = VectorType::get({static_cast<int64_t>(words.size())}, b_.getI32Type());
  Value packet = b_.create<vector::FromElementsOp>(loc_, type, words);
  if (!mask)
    mask = b_.create<arith::ConstantIntOp>(loc_, 1, 1);
  auto branch = b_.create<scf::IfOp>(loc_, mask);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  b_.create<LLVM::StoreOp>(loc_, packet, globalPointer(address), 16u, /*isVolatile=*/true);
}

SmallVector<Value> Instructions::loadPacket(Value address, Value mask) {
  auto type = VectorType::get({4}, b_.getI32Type());
  auto load = [&]() -> Value {
    return b_.create<LLVM::LoadOp>(loc_, type, globalPointer(address), 16u, /*isVolatile=*/true);
  };
  Value packet =
      mask ? where(mask, b_.create<arith::ConstantOp>(loc_, b_.getZeroAttr(type)), load) : load();
  SmallVector<Value> words;
  for (int64_t n = 0; n < 4; ++n)
    words.push_back(b_.create<vector::ExtractOp>(loc_, packet, n));
  return words;
}

void Instructions::fence(AtomicOrdering ordering, ScopeName scope) {
  b_.create<LLVM::FenceOp>(loc_, ordering, syncScope(scope));
}
void Instructions::fence(ScopeName scope) { fence(AtomicOrdering::acq_rel, scope); }

Value Instructions::time() {
  Value ticks = intrinsic("llvm.amdgcn.s.memrealtime", b_.getI64Type(), {});
  return b_.create<arith::MulIOp>(
      loc_, ticks, b_.create<arith::ConstantIntOp>(loc_, chip_.clockNanoseconds, 64));
}

void Instructions::report(Value status, int64_t word, int64_t number, ArrayRef<Value> values) {
  SmallVector<Value> words{b_.create<arith::ConstantIntOp>(loc_, number, 64)};
  words.append(values.begin(), values.end());
  for (Value value : words) {
    Value place = b_.create<LLVM::GEPOp>(loc_, status.getType(), b_.getI64Type(), status,
                                         ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(word++)});
    b_.create<LLVM::StoreOp>(loc_, value, place, 8u);
  }
}

} // namespace ditron::amd
