// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dot on a CPU core, after the panel-and-register blocking of Goto and van de Geijn ("Anatomy of
// High-Performance Matrix Multiplication", 2008): rhs is packed into panels as wide as the
// micro-kernel, so that one panel stays in the first-level cache while all of lhs, rows one after
// another in the second-level cache, passes by; the micro-kernel keeps rows x columns of the result
// in vector registers over the whole depth.
//
//   for each panel of `columns` of rhs:       packed[depth][columns]
//     for each `rows` rows of lhs:            rows[rows][depth]
//       registers = acc; for k: registers += rows[:, k] x packed[k, :]; result = registers
//
// Operands read from the edge of a view are zero beyond it: the loops stop at the last row of lhs,
// column of rhs and k that hold anything.
#include "ditron/targets/cpu/transforms/TileLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

namespace {

using Block = TileLowering::RegisterBlock;

/// The block that wastes least of a tile of m rows: acc, one row of rhs and one element of lhs in
/// registers.
Block chooseBlock(int64_t m, int64_t n, int64_t lanes, int64_t registers) {
  int64_t vectors = std::clamp<int64_t>((n + lanes - 1) / lanes, 1, 2);
  int64_t most = std::max<int64_t>(1, (registers - vectors - 1) / vectors);
  Block best{1, vectors};
  double bestCost = 1e30;
  for (int64_t rows = 1; rows <= most; ++rows) {
    int64_t blocks = (m + rows - 1) / rows;
    double cost = static_cast<double>(blocks) * (static_cast<double>(rows * vectors) + vectors + 1);
    if (cost < bestCost) {
      bestCost = cost;
      best.rows = rows;
    }
  }
  return best;
}

} // namespace

/// The inner loops of one panel of rhs; emitted once for each static width.
class DotEmitter {
public:
  DotEmitter(OpBuilder &b, mlir::Location loc, Type element) : b(b), loc(loc), element(element) {}

  Value multiplyAdd(Value x, Value y, Value acc) {
    if (isa<FloatType>(element))
      return b.create<vector::FMAOp>(loc, x, y, acc);
    return b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, x, y), acc);
  }

  /// result[row.., column..] += rows[row.., 0..depth] x panel[0..depth, ..].
  void microKernel(Value rows, Value panel, Value result, Value row, Value column, Value depth,
                   int64_t height, ArrayRef<int64_t> widths) {
    SmallVector<Value> registers;
    forEach(row, column, height, widths, [&](Value i, Value j, int64_t width, size_t) {
      registers.push_back(b.create<vector::LoadOp>(loc, vectorOf(width), result, ValueRange{i, j}));
    });
    Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
    Value one = b.create<arith::ConstantIndexOp>(loc, 1);
    auto loop = b.create<scf::ForOp>(loc, zero, depth, one, registers,
                                     [&](OpBuilder &, mlir::Location, Value k, ValueRange carried) {
                                       b.create<scf::YieldOp>(
                                           loc, step(rows, panel, row, k, height, widths, carried));
                                     });
    forEach(row, column, height, widths, [&](Value i, Value j, int64_t, size_t n) {
      b.create<vector::StoreOp>(loc, loop.getResult(n), result, ValueRange{i, j});
    });
  }

private:
  VectorType vectorOf(int64_t width) const { return VectorType::get({width}, element); }

  void forEach(Value row, Value column, int64_t height, ArrayRef<int64_t> widths,
               const std::function<void(Value, Value, int64_t, size_t)> &visit) {
    size_t n = 0;
    for (int64_t i = 0; i < height; ++i) {
      Value at = offset(row, i);
      int64_t j = 0;
      for (int64_t width : widths) {
        visit(at, offset(column, j), width, n++);
        j += width;
      }
    }
  }

  SmallVector<Value> step(Value rows, Value panel, Value row, Value k, int64_t height,
                          ArrayRef<int64_t> widths, ValueRange carried) {
    SmallVector<Value> columns, next;
    int64_t j = 0;
    for (int64_t width : widths) {
      Value at = b.create<arith::ConstantIndexOp>(loc, j);
      columns.push_back(b.create<vector::LoadOp>(loc, vectorOf(width), panel, ValueRange{k, at}));
      j += width;
    }
    for (int64_t i = 0; i < height; ++i) {
      Value x = b.create<memref::LoadOp>(loc, rows, ValueRange{offset(row, i), k});
      for (auto [n, width] : llvm::enumerate(widths)) {
        Value repeated = b.create<vector::BroadcastOp>(loc, vectorOf(width), x);
        next.push_back(multiplyAdd(repeated, columns[n], carried[next.size()]));
      }
    }
    return next;
  }

  Value offset(Value base, int64_t by) {
    return by == 0 ? base
                   : b.create<arith::AddIOp>(loc, base, b.create<arith::ConstantIndexOp>(loc, by));
  }

  OpBuilder &b;
  mlir::Location loc;
  Type element;
};

/// How far dimension `dim` (-2 rows, -1 columns) of an operand reaches into its view.
static Value knownExtent(OpBuilder &b, mlir::Location loc, const Access *access, int64_t fromEnd,
                         int64_t whole) {
  if (!access)
    return b.create<arith::ConstantIndexOp>(loc, whole);
  size_t d = access->sizes.size() - fromEnd;
  Value rest = b.create<arith::SubIOp>(loc, access->sizes[d], access->start[d]);
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
  Value all = b.create<arith::ConstantIndexOp>(loc, whole);
  return b.create<arith::MaxSIOp>(loc, b.create<arith::MinSIOp>(loc, rest, all), zero);
}

/// What the lowering of one dot shares between its steps.
struct TileLowering::DotPlan {
  core::DotOp op;
  Type source, element; ///< of the operands, and of the accumulator
  int64_t m, n, depth, lanes;
  Block block;
  Value rows;       ///< lhs: memref<rows x depth>
  Value panel;      ///< a panel of rhs: memref<depth x columns>
  Value out;        ///< the matrix that accumulates
  Value blocks;     ///< of rows of lhs that hold something but zero
  Value knownDepth; ///< k up to which both operands do
  At batch;

  At at(Value i, Value j) const {
    At result(batch);
    result.append({i, j});
    return result;
  }
};

/// The matrix of one batch of a buffer.
static Value matrixOf(OpBuilder &b, mlir::Location loc, Value buffer, ValueRange batch) {
  if (batch.empty())
    return buffer;
  auto type = cast<MemRefType>(buffer.getType());
  ArrayRef<int64_t> matrix = type.getShape().take_back(2);
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end());
  SmallVector<OpFoldResult> sizes(batch.size(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  offsets.append(2, b.getIndexAttr(0));
  for (int64_t extent : matrix)
    sizes.push_back(b.getIndexAttr(extent));
  auto view = cast<MemRefType>(
      memref::SubViewOp::inferRankReducedResultType(matrix, type, offsets, sizes, strides));
  return b.create<memref::SubViewOp>(loc, view, buffer, offsets, sizes, strides);
}

Value TileLowering::emitFactor(const DotPlan &plan, Value operand, Value i, Value j,
                               int64_t lanes) {
  return convert(emit(operand, plan.at(i, j), lanes), plan.source, plan.element,
                 core::Rounding::nearest_even, false);
}

/// The access of an operand that is read from a view where it is used, with zeros beyond it.
const Access *TileLowering::edgeOf(Value operand) {
  auto load = operand.getDefiningOp<core::LoadOp>();
  if (!load || buffers_.count(operand) || load.getPadding())
    return nullptr;
  return &accesses_.at(load);
}

void TileLowering::packRows(const DotPlan &plan) {
  Value used = mul(plan.blocks, index(plan.block.rows));
  used = b_.create<arith::MinSIOp>(loc_, used, index(plan.m));
  int64_t full = plan.depth / plan.lanes * plan.lanes, rest = plan.depth - full;
  Value lhs = core::DotOp(plan.op).getLhs();
  forRange(index(0), used, 1, [&](Value i) {
    forRange(index(0), index(full), plan.lanes, [&](Value k) {
      storeBuffer(emitFactor(plan, lhs, i, k, plan.lanes), plan.rows, {i, k});
    });
    if (rest)
      storeBuffer(emitFactor(plan, lhs, i, index(full), rest), plan.rows, {i, index(full)});
  });
}

void TileLowering::multiplyPanel(const DotPlan &plan, Value column, ArrayRef<int64_t> widths) {
  forRange(index(0), plan.knownDepth, 1, [&](Value k) {
    int64_t j = 0;
    for (int64_t width : widths) {
      Value part = emitFactor(plan, core::DotOp(plan.op).getRhs(), k, add(column, index(j)), width);
      storeBuffer(part, plan.panel, {k, index(j)});
      j += width;
    }
  });
  DotEmitter emitter(b_, loc_, plan.element);
  int64_t height = plan.block.rows, whole = plan.m / height, rest = plan.m % height;
  Value wholeBlocks = b_.create<arith::MinSIOp>(loc_, plan.blocks, index(whole));
  forRange(index(0), mul(wholeBlocks, index(height)), height, [&](Value row) {
    emitter.microKernel(plan.rows, plan.panel, plan.out, row, column, plan.knownDepth, height,
                        widths);
  });
  if (rest == 0)
    return;
  Value reaches =
      b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::sgt, plan.blocks, index(whole));
  auto branch = b_.create<scf::IfOp>(loc_, reaches, false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  emitter.microKernel(plan.rows, plan.panel, plan.out, index(whole * height), column,
                      plan.knownDepth, rest, widths);
}

void TileLowering::multiplyMatrix(DotPlan &plan) {
  const Access *lhs = edgeOf(plan.op.getLhs()), *rhs = edgeOf(plan.op.getRhs());
  Value knownRows = knownExtent(b_, loc_, lhs, 2, plan.m);
  plan.knownDepth = b_.create<arith::MinSIOp>(loc_, knownExtent(b_, loc_, lhs, 1, plan.depth),
                                              knownExtent(b_, loc_, rhs, 2, plan.depth));
  plan.blocks = b_.create<arith::CeilDivSIOp>(loc_, knownRows, index(plan.block.rows));
  packRows(plan);
  SmallVector<int64_t> full(plan.block.vectors, plan.lanes), last;
  int64_t width = plan.block.vectors * plan.lanes, fullColumns = plan.n / width * width;
  Value knownColumns = knownExtent(b_, loc_, rhs, 1, plan.n);
  Value end = b_.create<arith::MinSIOp>(loc_, knownColumns, index(fullColumns));
  forRange(index(0), end, width, [&](Value column) { multiplyPanel(plan, column, full); });
  for (int64_t left = plan.n - fullColumns; left > 0; left -= plan.lanes)
    last.push_back(std::min(left, plan.lanes));
  if (!last.empty())
    multiplyPanel(plan, index(fullColumns), last);
}

void TileLowering::lowerDot(core::DotOp op, Value result) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  ArrayRef<int64_t> shape = type.getShape();
  DotPlan plan;
  plan.op = op;
  plan.source = lhs.getElementType();
  plan.element = type.getElementType();
  plan.m = shape.end()[-2];
  plan.n = shape.back();
  plan.depth = lhs.getShape().back();
  plan.lanes = lanesOf(plan.element);
  plan.block = chooseBlock(plan.m, plan.n, plan.lanes, target_.registers);
  if (buffers_.lookup(op.getAcc()) != result)
    fill(op.getAcc(), result);
  int64_t mark = scratch_.mark();
  plan.rows = allocate({plan.m, plan.depth}, plan.element);
  plan.panel = allocate({plan.depth, plan.block.vectors * plan.lanes}, plan.element);
  forEachElement(shape.drop_back(2), [&](const At &batch) {
    plan.batch = batch;
    plan.out = matrixOf(b_, loc_, result, batch);
    multiplyMatrix(plan);
  });
  scratch_.release(mark);
}

} // namespace ditron::cpu
