// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Trace.h"
#include "ditron/core/ElementType.h"
#include "ditron/core/Place.h"
#include "ditron/support/SystemMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <atomic>
#include <fmt/format.h>
#include <utility>

using namespace mlir;

namespace ditron::detail {

static thread_local Trace *currentTrace = nullptr;
static thread_local Trace *newestTrace = nullptr; // of those that exist; it may not be current
static std::atomic<uint64_t> numberOfTraces = 0;

Trace::Trace(MLIRContext &context)
    : builder_(&context), number_(++numberOfTraces), around_(std::exchange(newestTrace, this)) {}

Trace::~Trace() { newestTrace = around_; }

Trace &Trace::current(Location where) {
  if (!currentTrace)
    throw CompileError("used outside of a kernel: run-time values exist only while a kernel's "
                       "lambda is traced",
                       where);
  currentTrace->at_ = where;
  return *currentTrace;
}

Trace *Trace::exchange(Trace *trace) { return std::exchange(currentTrace, trace); }

Handle Trace::wrap(Value value) {
  return {value.getAsOpaquePointer(), currentTrace ? currentTrace->number_ : 0};
}

Value Trace::unwrap(Handle handle) {
  for (Trace *trace = newestTrace; trace && handle; trace = trace->around_)
    if (trace->number_ == handle.trace)
      return Value::getFromOpaquePointer(handle.impl);
  if (!handle)
    return {};
  const char *problem = "a value of a kernel whose lambda has ended is used: run-time values exist "
                        "only while it is traced";
  throw currentTrace ? CompileError(problem, currentTrace->at_) : CompileError(problem);
}

mlir::Location Trace::locationOf(Location where) {
  return FileLineColLoc::get(context(), where.file_name(), where.line(), where.column());
}

void Trace::checkOperands(Operation *op, Location where) {
  for (Value operand : op->getOperands()) {
    Region *home = operand.getParentRegion();
    if (home->isAncestor(op->getParentRegion()))
      continue;
    if (home->getParentOfType<ModuleOp>() != op->getParentOfType<ModuleOp>())
      throw CompileError("a value of another kernel is used", where);
    throw CompileError(
        fmt::format(
            "a value that was made inside of a loop or branch, at {}, is used behind it: declare a "
            "Var in front, and assign to it inside",
            core::placeOf(operand.getLoc()).text()),
        where);
  }
}

Value Trace::constant(int64_t value, Location where) {
  return create<arith::ConstantIndexOp>(where, value);
}

Value Trace::value(Index index, Location where) {
  if (index.isConstant())
    return constant(index.constant(), where);
  at_ = where;
  return unwrap(index.handle());
}

Home::Home() {
  if (currentTrace)
    block_ = {currentTrace->builder().getInsertionBlock(), currentTrace->number()};
}

void Home::checkAssignment() const {
  if (!block_ || !currentTrace || currentTrace->number() != block_.trace)
    return;
  Block *here = currentTrace->builder().getInsertionBlock();
  Operation *around = here == block_.impl ? nullptr : here->getParentOp();
  while (around && around->getBlock() != block_.impl)
    around = around->getParentOp();
  if (around)
    throw CompileError(fmt::format(
        "{}: an Index or Bool from in front of this loop, branch or role is assigned to "
        "inside of it, which would happen once, while it is traced: declare a Var",
        core::placeOf(around->getLoc()).text()));
}

void checkBody(const std::function<void()> &body, const char *what, Location where) {
  if (!body)
    throw CompileError(fmt::format("{}: the body is an empty std::function", what), where);
}

void Trace::pushWaiver(std::string_view name, std::string_view reason) {
  auto entry = [&](const char *key, std::string_view text) {
    return builder_.getNamedAttr(key, builder_.getStringAttr(llvm::StringRef(text)));
  };
  waivers_.push_back(builder_.getDictionaryAttr({entry("name", name), entry("reason", reason)}));
}

void Trace::leftOpen(Location loop) { openLoops_.push_back(loop); }

void Trace::checkClosed() const {
  if (!openLoops_.empty())
    throw CompileError("a native break or return leaves this loop, whose body is traced once: use "
                       "when(condition, ...) inside of the body",
                       openLoops_.front());
}

mlir::Type elementType(MLIRContext *context, DType type) {
  return core::elementType(context, type);
}

DType dtypeOf(mlir::Type element) {
  if (std::optional<DType> known = core::dtypeOf(element))
    return *known;
  throw InternalError("an element type that the language does not have");
}

std::unique_ptr<MLIRContext> makeContext() {
  constexpr size_t kToTrace = size_t(16) << 20;
  requireAddressSpace(kToTrace, "tracing a kernel");
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<core::TileDialect, device::DistDialect, arith::ArithDialect,
                       func::FuncDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                       tensor::TensorDialect>();
  return context;
}

void traceInto(Trace &trace, Block *block, const std::function<void()> &body) {
  OpBuilder::InsertionGuard guard(trace.builder());
  if (block->mightHaveTerminator())
    trace.builder().setInsertionPoint(block->getTerminator());
  else
    trace.builder().setInsertionPointToEnd(block);
  body();
}

} // namespace ditron::detail
