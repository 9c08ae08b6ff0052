// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/emit/PtxInstructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron::nvidia {

/// "{$3, $4}", or "$3" of a single one.
static std::string operandList(size_t first, size_t count) {
  std::string text;
  for (size_t n = 0; n < count; ++n)
    text += fmt::format("{}${}", n ? ", " : "", first + n);
  return count == 1 ? text : "{" + text + "}";
}

/// ".v4", or nothing of a single one.
static std::string vectorSuffix(size_t count) {
  return count == 1 ? "" : fmt::format(".v{}", count);
}

/// "r,r,r,": `count` operands of one constraint.
static std::string repeated(const char *constraint, size_t count) {
  std::string text;
  for (size_t n = 0; n < count; ++n)
    text += std::string(constraint) + ",";
  return text;
}

/// Numbers of the results that operands are tied to.
static std::string tied(size_t count) {
  std::string text;
  for (size_t n = 0; n < count; ++n)
    text += fmt::format("{},", n);
  return text;
}

SmallVector<Value> Instructions::assemble(StringRef text, StringRef constraints,
                                          ArrayRef<Value> operands, TypeRange results,
                                          bool hasEffects) {
  Type type = LLVM::LLVMVoidType::get(b_.getContext());
  if (results.size() == 1)
    type = results[0];
  else if (results.size() > 1)
    type = LLVM::LLVMStructType::getLiteral(b_.getContext(), llvm::to_vector(results));
  auto op = b_.create<LLVM::InlineAsmOp>(
      loc_, results.empty() ? TypeRange() : TypeRange(type), operands, text, constraints.rtrim(','),
      hasEffects, /*is_align_stack=*/false,
      LLVM::AsmDialectAttr::get(b_.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  if (results.size() <= 1)
    return SmallVector<Value>(op->getResults());
  SmallVector<Value> values;
  for (size_t n = 0; n < results.size(); ++n)
    values.push_back(b_.create<LLVM::ExtractValueOp>(loc_, op->getResult(0), n));
  return values;
}

//===-- This thread ---------------------------------------------------------------------------===//

Value Instructions::thread() { return b_.create<NVVM::ThreadIdXOp>(loc_, b_.getI32Type()); }
Value Instructions::block() { return b_.create<NVVM::BlockIdXOp>(loc_, b_.getI32Type()); }
Value Instructions::blocks() { return b_.create<NVVM::GridDimXOp>(loc_, b_.getI32Type()); }

Value Instructions::uniform(Value value) { return wordFromLane(value, 0); }

Value Instructions::wordFromLane(Value word, int64_t lane) {
  auto constant = [&](int64_t n) { return b_.create<arith::ConstantIntOp>(loc_, n, 32); };
  return b_.create<NVVM::ShflOp>(loc_, b_.getI32Type(), constant(-1), word, constant(lane),
                                 constant(31), NVVM::ShflKind::idx, UnitAttr());
}

void Instructions::meetInWarp() {
  b_.create<NVVM::SyncWarpOp>(loc_, b_.create<arith::ConstantIntOp>(loc_, -1, 32));
}

//===-- Global memory -------------------------------------------------------------------------===//

// A register of 8 bits does not exist: such an element travels in one of 16.
SmallVector<Value> Instructions::loadAs(StringRef how, Value address, int64_t bytes, Value mask,
                                        ArrayRef<Value> otherwise, bool hasEffects) {
  size_t count = otherwise.size();
  bool isByte = bytes == 1;
  SmallVector<Value> operands(otherwise);
  if (isByte)
    operands[0] = b_.create<arith::ExtUIOp>(loc_, b_.getI16Type(), operands[0]);
  SmallVector<Type> types(count, operands[0].getType());
  operands.append({mask, address});
  const char *output = bytes < 4 ? "=h" : "=r";
  std::string text =
      fmt::format("@${} ld{}{}.b{} {}, [${}];", 2 * count, how.str(), vectorSuffix(count),
                  bytes < 4 ? 8 * bytes : 32, operandList(0, count), 2 * count + 1);
  SmallVector<Value> values =
      assemble(text, repeated(output, count) + tied(count) + "b,l", operands, types, hasEffects);
  if (isByte)
    values[0] = b_.create<arith::TruncIOp>(loc_, b_.getI8Type(), values[0]);
  return values;
}

SmallVector<Value> Instructions::loadGlobal(Value address, int64_t bytes, Value mask,
                                            ArrayRef<Value> otherwise, Place place) {
  return loadAs(place == Place::anywhere ? ".global.nc" : ".global", address, bytes, mask,
                otherwise, /*hasEffects=*/place == Place::here);
}

SmallVector<Value> Instructions::loadStrong(Value address, int64_t bytes, Value mask,
                                            ArrayRef<Value> otherwise) {
  return loadAs(".relaxed.gpu.global", address, bytes, mask, otherwise, /*hasEffects=*/true);
}

void Instructions::storeGlobal(Value address, ArrayRef<Value> values, Value mask) {
  storeAs(".global", address, values, mask);
}

void Instructions::storeStrong(Value address, ArrayRef<Value> values, Value mask) {
  storeAs(".relaxed.gpu.global", address, values, mask);
}

void Instructions::storeAs(StringRef how, Value address, ArrayRef<Value> values, Value mask) {
  size_t count = values.size();
  SmallVector<Value> operands{mask, address};
  unsigned bits = values[0].getType().getIntOrFloatBitWidth();
  operands.append(values.begin(), values.end());
  if (bits == 8)
    operands[2] = b_.create<arith::ExtUIOp>(loc_, b_.getI16Type(), operands[2]);
  std::string text = fmt::format("@$0 st{}{}.b{} [$1], {};", how.str(), vectorSuffix(count), bits,
                                 operandList(2, count));
  assemble(text, "b,l," + repeated(bits < 32 ? "h" : "r", count), operands, {});
}

void Instructions::prefetch(Value address, Value mask) {
  assemble("@$0 prefetch.global.L2 [$1];", "b,l", {mask, address}, {});
}

//===-- Shared memory and barriers ------------------------------------------------------------===//

void Instructions::copyAsync(Value shared, Value address, int64_t bytes, Value count) {
  const char *cached = bytes == 16 ? "cg" : "ca"; // those of 16 bytes pass by the first cache
  assemble(fmt::format("cp.async.{}.shared.global [$0], [$1], {}, $2;", cached, bytes), "r,l,r",
           {shared, address, count}, {});
}

void Instructions::commitCopies() { assemble("cp.async.commit_group;", "", {}, {}); }

void Instructions::waitCopies(int64_t pending) {
  assemble(fmt::format("cp.async.wait_group {};", pending), "~{memory}", {}, {});
}

void Instructions::barrier(bool ofAll) {
  constexpr int kOfConsumers = 1, kOfRegion = 15; // at 0 the other warps of the CTA may wait
  int64_t threads = ofAll ? threads_.all : threads_.computing;
  if (threads == 0)
    b_.create<NVVM::Barrier0Op>(loc_);
  else
    assemble(fmt::format("bar.sync {}, {};", ofAll ? kOfRegion : kOfConsumers, threads),
             "~{memory}", {}, {});
}

void Instructions::arriveAtBarrier(Value number, int64_t threads) {
  assemble(fmt::format("bar.arrive $0, {};", threads), "r,~{memory}", {number}, {});
}

void Instructions::fenceShared() {
  assemble("fence.proxy.async.shared::cta;", "~{memory}", {}, {});
}

Value Instructions::shuffleWord(Value word, int64_t mask) {
  Type i32 = b_.getI32Type();
  auto constant = [&](int64_t n) {
    return b_.create<LLVM::ConstantOp>(loc_, i32, b_.getI32IntegerAttr(static_cast<int32_t>(n)));
  };
  return b_.create<NVVM::ShflOp>(loc_, word.getType(), constant(-1), word, constant(mask),
                                 constant(31), NVVM::ShflKind::bfly, UnitAttr());
}

//===-- Tensor cores --------------------------------------------------------------------------===//

SmallVector<Value, 4> Instructions::loadMatrices(Value shared, bool transposed) {
  SmallVector<Type> words(4, b_.getI32Type());
  std::string text = fmt::format("ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {}, [$4];",
                                 transposed ? ".trans" : "", operandList(0, 4));
  SmallVector<Value> values = assemble(text, repeated("=r", 4) + "r,~{memory}", {shared}, words);
  return {values.begin(), values.end()};
}

SmallVector<Value, 4> Instructions::multiply(StringRef shape, StringRef types, ArrayRef<Value> a,
                                             ArrayRef<Value> b, ArrayRef<Value> c) {
  bool isFloat = c[0].getType().isF32();
  SmallVector<Type> results(4, c[0].getType());
  SmallVector<Value> operands(a);
  operands.append(b.begin(), b.end());
  operands.append(c.begin(), c.end());
  std::string text = fmt::format("mma.sync.aligned.{}.row.col.{} {}, {}, {}, {};", shape.str(),
                                 types.str(), operandList(0, 4), operandList(4, a.size()),
                                 operandList(4 + a.size(), b.size()), operandList(0, 4));
  std::string constraints =
      repeated(isFloat ? "=f" : "=r", 4) + repeated("r", a.size() + b.size()) + tied(4);
  SmallVector<Value> values = assemble(text, constraints, operands, results, /*hasEffects=*/false);
  return {values.begin(), values.end()};
}

Value Instructions::roundToTf32(Value bits) {
  return assemble("cvt.rna.tf32.f32 $0, $1;", "=r,r", {bits}, bits.getType(), false)[0];
}

void Instructions::report(Value status, int64_t word, int64_t number, ArrayRef<Value> values) {
  std::string text = fmt::format("st.global.b64 [$0+{}], {};", 8 * word, number);
  for (size_t n = 1; n <= values.size(); ++n)
    text += fmt::format("\n\tst.global.b64 [$0+{}], ${};", 8 * (word + int64_t(n)), n);
  SmallVector<Value> operands{status};
  operands.append(values.begin(), values.end());
  assemble(text, repeated("l", operands.size()) + "~{memory}", operands, {});
}

void Instructions::stay() { assemble("// a branch", "", {}, {}); }

void Instructions::exit() { assemble("exit;", "", {}, {}); }

void Instructions::stayRolled() { assemble(".pragma \"nounroll\";", "", {}, {}); }

//===-- TMA and mbarriers ---------------------------------------------------------------------===//

void Instructions::initBarrier(Value barrier, int64_t arrivals) {
  assemble(fmt::format("mbarrier.init.shared::cta.b64 [$0], {};", arrivals), "r,~{memory}",
           {barrier}, {});
}

void Instructions::dropBarrier(Value barrier) {
  assemble("mbarrier.inval.shared::cta.b64 [$0];", "r,~{memory}", {barrier}, {});
}

void Instructions::fenceBarriers() {
  assemble("fence.mbarrier_init.release.cluster;", "~{memory}", {}, {});
  assemble("fence.proxy.async.shared::cta;", "~{memory}", {}, {});
}

void Instructions::waitBarrier(Value barrier, Value parity) {
  assemble("{ .reg .pred done; again_${:uid}: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], "
           "$1; @done bra over_${:uid}; bra again_${:uid}; over_${:uid}: }",
           "r,r,~{memory}", {barrier, parity}, {});
}

void Instructions::waitEitherBarrier(Value barrier, Value parity, Value other, Value otherParity) {
  constexpr int64_t kWait = 40; // ns without a look at the other one
  assemble(
      fmt::format(
          "{{ .reg .pred done; again_${{:uid}}: mbarrier.try_wait.parity.shared::cta.b64 done, "
          "[$0], $1, {}; @done bra over_${{:uid}}; mbarrier.test_wait.parity.shared::cta.b64 "
          "done, [$2], $3; @done bra over_${{:uid}}; bra again_${{:uid}}; over_${{:uid}}: }}",
          kWait),
      "r,r,r,r,~{memory}", {barrier, parity, other, otherParity}, {});
}

Value Instructions::waitBarrierUnless(Value barrier, Value parity, Value word) {
  return assemble(
      "{ .reg .pred done; mov.u32 $0, 0; again_${:uid}: "
      "mbarrier.try_wait.parity.shared::cta.b64 done, [$1], $2; @done bra over_${:uid}; "
      "ld.volatile.shared.u32 $0, [$3]; setp.ne.u32 done, $0, 0; @done bra over_${:uid}; "
      "bra again_${:uid}; over_${:uid}: }",
      "=&r,r,r,r,~{memory}", {barrier, parity, word}, b_.getI32Type())[0];
}

void Instructions::copyInCluster(Value to, Value shared, int64_t bytes, Value barrier) {
  assemble(
      fmt::format("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$0], "
                  "[$1], {}, [$2];",
                  bytes),
      "r,r,r,~{memory}", {to, shared, barrier}, {});
}

void Instructions::waitBarrierOfCluster(Value barrier, Value parity) {
  assemble(
      "{ .reg .pred done; again_${:uid}: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
      "done, [$0], $1; @done bra over_${:uid}; bra again_${:uid}; over_${:uid}: }",
      "r,r,~{memory}", {barrier, parity}, {});
}

void Instructions::storeWord(Value shared, Value word) {
  assemble("st.volatile.shared.u32 [$0], $1;", "r,r,~{memory}", {shared, word}, {});
}

void Instructions::arrive(Value barrier, Value mask) {
  assemble("@$0 mbarrier.arrive.shared::cta.b64 _, [$1];", "b,r,~{memory}", {mask, barrier}, {});
}

// Plain, as one with the cluster's scope costs a fence of the whole device: what is released is
// the reading of a slot, whose product has been waited for.
void Instructions::arriveInCluster(Value barrier, Value mask) {
  assemble("@$0 mbarrier.arrive.shared::cluster.b64 _, [$1];", "b,r,~{memory}", {mask, barrier},
           {});
}

void Instructions::arriveExpecting(Value barrier, int64_t bytes) {
  assemble(fmt::format("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {};", bytes),
           "r,~{memory}", {barrier}, {});
}

void Instructions::arriveExpecting(Value barrier, Value bytes) {
  assemble("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}",
           {barrier, bytes}, {});
}

void Instructions::expect(Value barrier, Value bytes) {
  assemble("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], $1;", "r,r,~{memory}",
           {barrier, bytes}, {});
}

void Instructions::forgo(Value barrier, Value bytes) {
  assemble("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [$0], $1;", "r,r,~{memory}",
           {barrier, bytes}, {});
}

/// The policy of what leaves L2 first, as createpolicy makes it.
static constexpr int64_t kEvictFirst = 0x12F0000000000000;

void Instructions::copyTensor(Value shared, Value map, ArrayRef<Value> coords, Value barrier,
                              int64_t ctas, bool isReadOnce) {
  SmallVector<Value> operands{shared, map, barrier};
  operands.append(coords.begin(), coords.end());
  std::string place = operandList(3, coords.size()), to;
  if (ctas > 1) {
    to = fmt::format(", ${}", operands.size());
    operands.push_back(b_.create<arith::ConstantIntOp>(loc_, (int64_t(1) << ctas) - 1, 16));
  }
  if (isReadOnce) {
    to += fmt::format(", ${}", operands.size());
    operands.push_back(b_.create<arith::ConstantIntOp>(loc_, kEvictFirst, 64));
  }
  std::string text = fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::"
                                 "complete_tx::bytes{}{} [$0], [$1, {}], [$2]{};",
                                 coords.size(), ctas > 1 ? ".multicast::cluster" : "",
                                 isReadOnce ? ".L2::cache_hint" : "", place, to);
  assemble(text,
           "r,l,r," + repeated("r", coords.size()) + (ctas > 1 ? "h," : "") +
               (isReadOnce ? "l," : "") + "~{memory}",
           operands, {});
}

void Instructions::copyBulk(Value shared, Value address, int64_t bytes, Value barrier) {
  assemble(fmt::format("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], "
                       "[$1], {}, [$2];",
                       bytes),
           "r,l,r,~{memory}", {shared, address, barrier}, {});
}

void Instructions::copyBulkOnce(Value shared, Value address, Value bytes, Value barrier) {
  assemble(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [$0], "
      "[$1], $2, [$3], $4;",
      "r,l,r,r,l,~{memory}",
      {shared, address, bytes, barrier, b_.create<arith::ConstantIntOp>(loc_, kEvictFirst, 64)},
      {});
}

void Instructions::askBulk(Value address, Value bytes) {
  assemble("cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r,~{memory}", {address, bytes}, {});
}

void Instructions::fenceCopies() {
  assemble("fence.proxy.async.shared::cta;", "~{memory}", {}, {});
}

void Instructions::storeTensor(Value shared, Value map, ArrayRef<Value> coords, Value mask) {
  SmallVector<Value> operands{mask, shared, map};
  operands.append(coords.begin(), coords.end());
  std::string text =
      fmt::format("@$0 cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group [$2, {}], [$1];",
                  coords.size(), operandList(3, coords.size()));
  assemble(text, "b,r,l," + repeated("r", coords.size()) + "~{memory}", operands, {});
}

void Instructions::commitStores(Value mask) {
  assemble("@$0 cp.async.bulk.commit_group;", "b,~{memory}", {mask}, {});
}

void Instructions::waitStoresRead(int64_t pending, Value mask) {
  assemble(fmt::format("@$0 cp.async.bulk.wait_group.read {};", pending), "b,~{memory}", {mask},
           {});
}

void Instructions::waitStores() { assemble("cp.async.bulk.wait_group 0;", "~{memory}", {}, {}); }

void Instructions::meet(Value number, int64_t threads) {
  assemble(fmt::format("bar.sync $0, {};", threads), "r,~{memory}", {number}, {});
}

void Instructions::storeMatrices(Value shared, ArrayRef<Value> words) {
  SmallVector<Value> operands{shared};
  operands.append(words.begin(), words.end());
  assemble("stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};",
           "r,r,r,r,r,~{memory}", operands, {});
}

void Instructions::prefetchTensorMap(Value map) {
  assemble("prefetch.tensormap [$0];", "l,~{memory}", {map}, {});
}

//===-- Clusters ------------------------------------------------------------------------------===//

Value Instructions::clusterRank() {
  return assemble("mov.u32 $0, %cluster_ctarank;", "=r", {}, b_.getI32Type(), false)[0];
}

Value Instructions::mapToCta(Value shared, Value rank) {
  return assemble("mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", {shared, rank}, b_.getI32Type(),
                  false)[0];
}

void Instructions::meetInCluster(bool isWhole) {
  const char *aligned = isWhole ? ".aligned" : "";
  assemble(fmt::format("barrier.cluster.arrive.release{};", aligned), "~{memory}", {}, {});
  assemble(fmt::format("barrier.cluster.wait.acquire{};", aligned), "~{memory}", {}, {});
}

//===-- Warpgroups ----------------------------------------------------------------------------===//

void Instructions::takeRegisters(int64_t count) {
  assemble(fmt::format("setmaxnreg.inc.sync.aligned.u32 {};", count), "~{memory}", {}, {});
}

void Instructions::leaveRegisters(int64_t count) {
  assemble(fmt::format("setmaxnreg.dec.sync.aligned.u32 {};", count), "~{memory}", {}, {});
}

SmallVector<Value> Instructions::pass(StringRef text, ArrayRef<Value> values, bool isLast) {
  constexpr size_t kMost = 128; // operands of one piece of assembly
  if (values.empty())
    assemble(text, "~{memory}", {}, {});
  SmallVector<Value> results;
  for (size_t first = 0; first < values.size(); first += kMost) {
    ArrayRef<Value> part = values.slice(first, std::min(kMost, values.size() - first));
    bool isHere = isLast ? first + part.size() == values.size() : first == 0;
    SmallVector<Type> types(part.size(), part[0].getType());
    std::string registers = repeated(part[0].getType().isInteger(32) ? "=r" : "=f", part.size());
    results.append(assemble(isHere ? text : "// with them",
                            registers + tied(part.size()) + "~{memory}", part, types));
  }
  return results;
}

SmallVector<Value> Instructions::fenceProducts(ArrayRef<Value> values) {
  return pass("wgmma.fence.sync.aligned;", values, /*isLast=*/true);
}

void Instructions::commitProducts() {
  assemble("wgmma.commit_group.sync.aligned;", "~{memory}", {}, {});
}

SmallVector<Value> Instructions::waitProducts(int64_t pending, ArrayRef<Value> values) {
  return pass(fmt::format("wgmma.wait_group.sync.aligned {};", pending), values, /*isLast=*/false);
}

SmallVector<Value> Instructions::multiplyPanels(const PanelProduct &product, const Left &a,
                                                const Panels &b, bool isFirst,
                                                ArrayRef<Value> acc) {
  size_t count = acc.size();
  bool isInteger = acc[0].getType().isInteger(32), isShared = a.registers.empty();
  bool isHalf = product.type == "bf16" || product.type == "f16"; // others are K-major only
  SmallVector<Value> operands(a.registers.begin(), a.registers.end());
  if (isShared)
    operands.push_back(a.panels.descriptor);
  size_t ofLeft = operands.size();
  operands.push_back(b.descriptor);
  if (!isFirst)
    operands.append(acc.begin(), acc.end());
  SmallVector<Type> results(count, acc[0].getType());
  std::string order = isHalf && isShared ? fmt::format(", {}", a.panels.isKMajor ? 0 : 1) : "";
  if (isHalf)
    order += fmt::format(", {}", b.isKMajor ? 0 : 1);
  std::string text =
      fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{} {}, {}, ${}, {}{}{};",
                  product.columns, product.depth, isInteger ? "s32" : "f32", product.type.str(),
                  product.type.str(), operandList(0, count), operandList(count, ofLeft),
                  count + ofLeft, isFirst ? 0 : 1, isInteger ? "" : ", 1, 1", order);
  std::string constraints =
      repeated(isInteger ? "=r" : "=f", count) + repeated(isShared ? "l" : "r", ofLeft) + "l,";
  return assemble(text, constraints + (isFirst ? "" : tied(count)) + "~{memory}", operands,
                  results);
}

//===-- Other CTAs and ranks ------------------------------------------------------------------===//

Value Instructions::loadAcquire(Value address, StringRef scope) {
  return assemble(fmt::format("ld.acquire.{}.global.u64 $0, [$1];", scope.str()), "=l,l,~{memory}",
                  {address}, b_.getI64Type())[0];
}

Value Instructions::loadRelaxed(Value address, StringRef scope) {
  return assemble(fmt::format("ld.relaxed.{}.global.u64 $0, [$1];", scope.str()), "=l,l,~{memory}",
                  {address}, b_.getI64Type())[0];
}

void Instructions::storeRelease(Value address, Value value, StringRef scope) {
  assemble(fmt::format("st.release.{}.global.u64 [$0], $1;", scope.str()), "l,l,~{memory}",
           {address, value}, {});
}

void Instructions::storeRelaxed(Value address, Value value, StringRef scope) {
  assemble(fmt::format("st.relaxed.{}.global.u64 [$0], $1;", scope.str()), "l,l,~{memory}",
           {address, value}, {});
}

void Instructions::raiseRelease(Value address, StringRef mode, Value value, StringRef scope) {
  assemble(fmt::format("red.release.{}.global.{}.u64 [$0], $1;", scope.str(), mode.str()),
           "l,l,~{memory}", {address, value}, {});
}

void Instructions::raiseRelaxed(Value address, StringRef mode, Value value, StringRef scope) {
  assemble(fmt::format("red.relaxed.{}.global.{}.u64 [$0], $1;", scope.str(), mode.str()),
           "l,l,~{memory}", {address, value}, {});
}

Value Instructions::addAcquireRelease(Value address, Value value, StringRef scope) {
  return assemble(fmt::format("atom.acq_rel.{}.global.add.u64 $0, [$1], $2;", scope.str()),
                  "=l,l,l,~{memory}", {address, value}, b_.getI64Type())[0];
}

Value Instructions::incrementAcquireRelease(Value address, Value last, StringRef scope) {
  return assemble(fmt::format("atom.acq_rel.{}.global.inc.u32 $0, [$1], $2;", scope.str()),
                  "=r,l,r,~{memory}", {address, last}, b_.getI32Type())[0];
}

Value Instructions::countArrival(Value address, Value last, Value mask, StringRef scope) {
  Value none = b_.create<arith::ConstantIntOp>(loc_, 0, 32);
  return assemble(fmt::format("@$2 atom.relaxed.{}.global.inc.u32 $0, [$3], $4;", scope.str()),
                  "=r,0,b,l,r,~{memory}", {none, mask, address, last}, b_.getI32Type())[0];
}

Value Instructions::loadWhere(Value address, Value mask, Value otherwise, StringRef scope) {
  return assemble(fmt::format("@$2 ld.relaxed.{}.global.u64 $0, [$3];", scope.str()),
                  "=l,0,b,l,~{memory}", {otherwise, mask, address}, b_.getI64Type())[0];
}

Value Instructions::holdsInWarp(Value condition) {
  return assemble("vote.sync.all.pred $0, $1, 0xffffffff;", "=b,b,~{memory}", {condition},
                  b_.getI1Type())[0];
}

// A branch that nobody takes, since the value is not 0, waits for it.
void Instructions::need(Value value) {
  Value zero = b_.create<arith::ConstantIntOp>(loc_, 0, 64);
  Value isNone = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, value, zero);
  assemble("@$0 exit;", "b,~{memory}", {isNone}, {});
}

// A scalar of 128 bits is written as a whole. The words of a vector are accesses of their own.
void Instructions::storePacket(Value address, ArrayRef<Value> words, Value mask) {
  SmallVector<Value> operands{address};
  operands.append(words.begin(), words.end());
  std::string_view predicate;
  if (mask) {
    operands.push_back(mask);
    predicate = "@$5 ";
  }
  assemble(fmt::format("{{ .reg .b128 packet; .reg .b64 low, high; mov.b64 low, {{$1, $2}}; "
                       "mov.b64 high, {{$3, $4}}; mov.b128 packet, {{low, high}}; "
                       "{}st.relaxed.sys.global.b128 [$0], packet; }}",
                       predicate),
           mask ? "l,r,r,r,r,b,~{memory}" : "l,r,r,r,r,~{memory}", operands, {});
}

// The last word, the flag, is made of all words, by a number that is 0 and that the assembler does not know: a launch
// has no CTAs in z. Where words are not used, the assembler reads the others one by one, even those of a scalar.
SmallVector<Value> Instructions::loadPacket(Value address, Value mask) {
  SmallVector<Type> words(4, b_.getI32Type());
  SmallVector<Value> operands{address};
  std::string where;
  if (mask) {
    operands.push_back(mask);
    where = "mov.b64 low, 0; mov.b128 packet, {low, low}; @$5 ";
  }
  return assemble("{ .reg .b128 packet; .reg .b64 low, high; .reg .b32 all, flag; " + where +
                      "ld.relaxed.sys.global.b128 packet, [$4]; mov.b128 {low, high}, packet; "
                      "mov.b64 {$0, $1}, low; mov.b64 {$2, flag}, high; mov.b32 all, %ctaid.z; "
                      "and.b32 all, all, $0; and.b32 all, all, $1; and.b32 all, all, $2; "
                      "or.b32 $3, flag, all; }",
                  mask ? "=r,=r,=r,=r,l,b,~{memory}" : "=r,=r,=r,=r,l,~{memory}", operands, words);
}

void Instructions::fence(StringRef scope) {
  assemble(fmt::format("fence.acq_rel.{};", scope.str()), "~{memory}", {}, {});
}

void Instructions::fenceAsyncProxy() { assemble("fence.proxy.async.global;", "~{memory}", {}, {}); }

void Instructions::waitForGridDependency() {
  assemble("griddepcontrol.wait;", "~{memory}", {}, {});
}

void Instructions::releaseGridDependents() {
  assemble("griddepcontrol.launch_dependents;", "~{memory}", {}, {});
}

Value Instructions::time() {
  return assemble("mov.u64 $0, %globaltimer;", "=l", {}, b_.getI64Type())[0];
}

} // namespace ditron::nvidia
