// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/LoopCarry.h"
#include "ditron/device/Order.h"
#include "ditron/lang/Trace.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron {
using namespace detail;

//===-- Loops ---------------------------------------------------------------------------------===//

LoopBase::LoopBase(Location where) : where_(where) {}

void LoopBase::opened(Handle op) {
  if (op_ && !done_)
    throw CompileError(
        "a loop over this range stands inside of another one over it: make a range for each",
        where_);
  op_ = op;
  done_ = false;
  auto *loop = static_cast<Operation *>(op.impl);
  Block &body = loop->getRegion(0).front();
  OpBuilder &builder = Trace::current(where_).builder();
  if (body.mightHaveTerminator())
    builder.setInsertionPoint(body.getTerminator());
  else
    builder.setInsertionPointToEnd(&body);
}

void LoopBase::close() {
  Trace &trace = Trace::current(where_);
  trace.builder().setInsertionPointAfter(static_cast<Operation *>(op_.impl));
  done_ = true;
}

LoopBase::~LoopBase() {
  if (!op_ || done_)
    return;
  Trace &trace = Trace::current(where_);
  trace.leftOpen(where_);
  trace.builder().setInsertionPointAfter(static_cast<Operation *>(op_.impl));
}

range::range(Index end, Location where) : range(0, end, 1, where) {}
range::range(Index end, Location where, bool isInAnyOrder) : range(0, end, 1, where) {
  isInAnyOrder_ = isInAnyOrder;
}
range::range(Index first, Index end, Location where) : range(first, end, 1, where) {}
range::range(Index first, Index end, Index step, Location where)
    : Loop(where), first_(first), end_(end), step_(step) {
  if (step.isConstant() && step.constant() < 1)
    throw CompileError(fmt::format("range: step is {}, expected 1 or more", step.constant()),
                       where);
}

range inAnyOrder(Index end, Location where) { return range(end, where, /*isInAnyOrder=*/true); }

void range::open() {
  Trace &trace = Trace::current(where());
  Value first = trace.value(first_, where()), end = trace.value(end_, where());
  Value step = trace.value(step_, where());
  auto loop = trace.create<scf::ForOp>(where(), first, end, step);
  if (isInAnyOrder_)
    loop->setAttr(device::kReorderableAttr, trace.builder().getUnitAttr());
  opened({loop.getOperation()});
  item_ = wrap(loop.getInductionVar());
}

void TilesLoopBase::open() {
  Trace &trace = Trace::current(where());
  SmallVector<Value> extents;
  for (const Index &extent : extents_)
    extents.push_back(trace.value(extent, where()));
  if (!order_.name || !device::findOrder<int64_t>(order_.name) || order_.parameter < 1)
    throw CompileError(fmt::format("tiles: order '{}' with parameter {}: known orders are {}, the "
                                   "parameter is 1 or more",
                                   order_.name ? order_.name : "", order_.parameter,
                                   device::orderNames()),
                       where());
  // A grid of more than two dimensions is sharded by its leading one: [R, M, N].
  auto sharded = extents_.size() > 2 ? device::ShardedAxis::batch : device::ShardedAxis::rows;
  auto order = device::OrderAttr::get(trace.context(), order_.name, order_.parameter, sharded,
                                      device::MeshAxis::world);
  if (order_.rowsTogether < 1 || order_.columnsTogether < 1 || order_.sharers < 1)
    throw CompileError(
        fmt::format(
            "tiles: {} rows and {} columns of tiles together, shared by {}: needs 1 or more",
            order_.rowsTogether, order_.columnsTogether, order_.sharers),
        where());
  auto loop = trace.create<device::TilesOp>(where(), extents, trace.value(elements_, where()),
                                            trace.builder().getI64IntegerAttr(height_), order);
  if (order_.rowsTogether * order_.columnsTogether * order_.sharers > 1)
    loop->setAttr(device::kTogetherAttr,
                  trace.builder().getDenseI64ArrayAttr(
                      {order_.rowsTogether, order_.columnsTogether, order_.sharers}));
  Block &body = loop.getBody().emplaceBlock();
  for (size_t d = 0; d < extents.size(); ++d)
    coords_[d] = wrap(body.addArgument(trace.builder().getIndexType(), loop.getLoc()));
  opened({loop.getOperation()});
}

//===-- Branches ------------------------------------------------------------------------------===//

void when(BoolOperand condition, const std::function<void()> &then) {
  Trace &trace = Trace::current(condition.where);
  checkBody(then, "when", condition.where);
  auto branch = trace.create<scf::IfOp>(condition.where, unwrap(condition.value.handle()),
                                        /*withElseRegion=*/false);
  traceInto(trace, branch.thenBlock(), then);
}

void when(BoolOperand condition, const std::function<void()> &then,
          const std::function<void()> &otherwise) {
  Trace &trace = Trace::current(condition.where);
  checkBody(then, "when", condition.where);
  checkBody(otherwise, "when", condition.where);
  auto branch = trace.create<scf::IfOp>(condition.where, unwrap(condition.value.handle()),
                                        /*withElseRegion=*/true);
  traceInto(trace, branch.thenBlock(), then);
  traceInto(trace, branch.elseBlock(), otherwise);
}

void require(BoolOperand condition, std::string_view message,
             std::initializer_list<IndexOperand> values) {
  Trace &trace = Trace::current(condition.where);
  SmallVector<Value> numbers;
  for (const IndexOperand &value : values)
    numbers.push_back(trace.value(value.value, condition.where));
  trace.create<core::RequireOp>(condition.where, unwrap(condition.value.handle()),
                                trace.builder().getStringAttr(message), numbers);
}

//===-- Variables -----------------------------------------------------------------------------===//

static Handle declare(Trace &trace, Value initial, Location where) {
  auto type = core::VarType::get(trace.context(), initial.getType());
  return wrap(trace.create<core::VarOp>(where, type, initial));
}

Handle detail::declareVar(Operand initial) {
  return declare(Trace::current(initial.where()), unwrap(initial.read().handle()), initial.where());
}

Handle detail::declareVar(IndexOperand initial) {
  Trace &trace = Trace::current(initial.where);
  return declare(trace, trace.value(initial.value, initial.where), initial.where);
}

static Value get(Handle var, Location where) {
  auto type = cast<core::VarType>(unwrap(var).getType());
  return Trace::current(where).create<core::GetOp>(where, type.getValueType(), unwrap(var));
}

Tile detail::readTile(Handle var, Location where) { return Tile(wrap(get(var, where))); }
Index detail::readIndex(Handle var, Location where) { return Index(wrap(get(var, where))); }

void detail::writeVar(Handle var, Operand value) {
  Location where = value.where();
  Trace &trace = Trace::current(where);
  Type type = cast<core::VarType>(unwrap(var).getType()).getValueType();
  auto shaped = dyn_cast<RankedTensorType>(type);
  std::vector<int64_t> shape;
  if (shaped)
    shape = shaped.getShape();
  DType dtype = dtypeOf(getElementTypeOrSelf(type));
  Tile tile = value.isNumber() ? splat(dtype, shape, value.number(), where) : value.read();
  if (tile.dtype() != dtype)
    throw CompileError(fmt::format("the variable holds {} but is given {}: cast it", name(dtype),
                                   name(tile.dtype())),
                       where);
  if (!shaped && !tile.shape().empty())
    throw CompileError("the variable holds a scalar but is given a tile", where);
  Value fitted = tile.shape() == shape ? unwrap(tile.handle())
                                       : unwrap(broadcast({tile, where}, shape).handle());
  trace.create<core::SetOp>(where, unwrap(var), fitted);
}

void detail::writeVar(Handle var, IndexOperand value) {
  Trace &trace = Trace::current(value.where);
  trace.create<core::SetOp>(value.where, unwrap(var), trace.value(value.value, value.where));
}

} // namespace ditron
