// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/Dot.h"
#include "ditron/targets/cpu/emission/MicroKernel.h"
#include "ditron/targets/cpu/emission/RowKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::cpu {

/// The block that wastes least of a tile of m rows: acc, one row of rhs and one element of lhs in
/// registers.
static RegisterBlock chooseBlock(int64_t m, int64_t n, int64_t lanes, int64_t registers) {
  int64_t vectors = std::clamp<int64_t>((n + lanes - 1) / lanes, 1, 2);
  int64_t most = std::max<int64_t>(1, (registers - vectors - 1) / vectors);
  RegisterBlock best{1, vectors};
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

/// Columns for all rows of a tile at once, as many as the registers hold; none if there are many rows.
static RegisterBlock chooseDirect(int64_t m, int64_t n, int64_t lanes, int64_t registers) {
  constexpr int64_t kMost = 8;
  for (int64_t vectors = kMost; vectors > 0; vectors /= 2)
    if (m * vectors + vectors + 1 <= registers && (vectors == 1 || (vectors - 1) * lanes < n))
      return {m, vectors};
  return {0, 0};
}

/// Of each pair of rows, to hide the latency of the additions. Results do not depend on how many rows
/// there are: sums of all blocks are added in the same order.
static constexpr int64_t kSums = 4;

/// The block of rows of both sides with the fewest reads a product: its sums, and a vector of each
/// row.
static RegisterBlock chooseRows(int64_t m, int64_t n, int64_t sums, int64_t registers) {
  RegisterBlock best{1, 1};
  if (m == 1) // memory sets the pace: one row of rhs after the other
    return best;
  double bestCost = 1e30;
  for (int64_t columns : {8, 4, 2, 1})
    for (int64_t rows = 1; rows <= std::min<int64_t>(m, 8); ++rows) {
      if (columns > n || sums * rows * columns + rows + 1 > registers)
        continue;
      int64_t blocks = (m + rows - 1) / rows;
      double cost = static_cast<double>(blocks * (rows + columns)) / static_cast<double>(columns);
      if (cost < bestCost) {
        bestCost = cost;
        best = {rows, columns};
      }
    }
  return best;
}

/// Of lhs, up to which products of rows by rows are worth more than packing rhs.
static constexpr int64_t kFewRows = 64;

Value rowsOfRight(core::DotOp op, int64_t lanes) {
  auto transpose = op.getRhs().getDefiningOp<core::TransposeOp>();
  if (!transpose || !transpose->hasOneUse() || transpose->getBlock() != op->getBlock())
    return {};
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  auto rank = static_cast<int64_t>(permutation.size());
  for (int64_t d = 0; d + 2 < rank; ++d)
    if (permutation[d] != d)
      return {};
  bool isSwapped = permutation[rank - 1] == rank - 2;
  Value rows = transpose.getSource();
  bool isWorthwhile = tileOf(rows).getShape().back() >= lanes &&
                      tileOf(op.getResult()).getShape().end()[-2] <= kFewRows;
  return isSwapped && isWorthwhile ? rows : Value();
}

DotLowering::DotLowering(VectorBuilder &v, TileBuffers &buffers, const ViewReads &reads,
                         TileEmitter &emitter, core::DotOp op)
    : v_(v), buffers_(buffers), reads_(reads), emitter_(emitter), op_(op),
      source_(tileOf(op.getLhs()).getElementType()),
      element_(tileOf(op.getResult()).getElementType()),
      m_(tileOf(op.getResult()).getShape().end()[-2]), n_(tileOf(op.getResult()).getShape().back()),
      depth_(tileOf(op.getLhs()).getShape().back()), lanes_(v.lanesOf(element_)),
      right_(buffers.has(op.getRhs()) ? Value() : rowsOfRight(op, lanes_)) {
  int64_t registers = v.target.registers, sums = std::min(kSums, depth_ / lanes_);
  RegisterBlock direct = chooseDirect(m_, n_, lanes_, registers);
  isDirect_ = !right_ && direct.rows > 0;
  block_ = right_      ? chooseRows(m_, n_, sums, registers)
           : isDirect_ ? direct
                       : chooseBlock(m_, n_, lanes_, registers);
}

/// How far a dimension (2 rows, 1 columns, from the end) of an operand reaches into its view.
static Value knownExtent(VectorBuilder &v, const Access *access, int64_t fromEnd, int64_t whole) {
  if (!access)
    return v.index(whole);
  size_t d = access->sizes.size() - fromEnd;
  Value rest = v.create<arith::SubIOp>(access->sizes[d], access->start[d]);
  Value zero = v.index(0);
  Value all = v.index(whole);
  return v.create<arith::MaxSIOp>(v.create<arith::MinSIOp>(rest, all), zero);
}

/// The matrix of one batch of a buffer.
static Value matrixOf(VectorBuilder &v, Value buffer, ValueRange batch) {
  if (batch.empty())
    return buffer;
  auto type = cast<MemRefType>(buffer.getType());
  ArrayRef<int64_t> matrix = type.getShape().take_back(2);
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end());
  SmallVector<OpFoldResult> sizes(batch.size(), v.b.getIndexAttr(1));
  SmallVector<OpFoldResult> strides(type.getRank(), v.b.getIndexAttr(1));
  offsets.append(2, v.b.getIndexAttr(0));
  for (int64_t extent : matrix)
    sizes.push_back(v.b.getIndexAttr(extent));
  auto view = cast<MemRefType>(
      memref::SubViewOp::inferRankReducedResultType(matrix, type, offsets, sizes, strides));
  return v.create<memref::SubViewOp>(view, buffer, offsets, sizes, strides);
}

Value DotLowering::emitFactor(Value operand, Value i, Value j, int64_t lanes, Coverage coverage) {
  At at(batch_);
  at.append({i, j});
  return v_.convert(emitter_.emit(operand, at, lanes, coverage), source_, element_,
                    core::Rounding::nearest_even, false);
}

/// The access of an operand that is read from a view where it is used, with zeros beyond it.
const Access *DotLowering::edgeOf(Value operand) const {
  auto load = operand.getDefiningOp<core::LoadOp>();
  if (!load || buffers_.has(operand) || load.getPadding())
    return nullptr;
  return &reads_.at(load);
}

void DotLowering::packRows() {
  Value used = v_.mul(blocks_, v_.index(block_.rows));
  used = v_.create<arith::MinSIOp>(used, v_.index(m_));
  int64_t full = depth_ / lanes_ * lanes_, rest = depth_ - full;
  Value lhs = op_.getLhs();
  whereWhole(v_, reads_.of(lhs, buffers_), tileOf(lhs).getShape(), [&](Coverage coverage) {
    auto pack = [&](Value i, Value k, int64_t lanes) {
      v_.storeBuffer(emitFactor(lhs, i, k, lanes, coverage), rows_, {i, k});
    };
    v_.forRange(v_.index(0), used, 1, [&](Value i) {
      v_.forRange(v_.index(0), v_.index(full), lanes_, [&](Value k) { pack(i, k, lanes_); });
      if (rest)
        pack(i, v_.index(full), rest);
    });
  });
}

void DotLowering::packPanel(Value column, ArrayRef<int64_t> widths) {
  Value rhs = op_.getRhs();
  whereWhole(v_, reads_.of(rhs, buffers_), tileOf(rhs).getShape(), [&](Coverage coverage) {
    v_.forRange(v_.index(0), knownDepth_, 1, [&](Value k) {
      int64_t j = 0;
      for (int64_t width : widths) {
        Value part = emitFactor(rhs, k, v_.add(column, v_.index(j)), width, coverage);
        v_.storeBuffer(part, panel_, {k, v_.index(j)});
        j += width;
      }
    });
  });
}

/// Some columns of the result, with part of rhs in a panel or where it lies.
void DotLowering::multiplyPanel(Value out, Value column, ArrayRef<int64_t> widths) {
  MicroKernel kernel(v_, element_);
  auto multiply = [&](const MicroKernel::Right &right) {
    forEachBlock([&](Value row, int64_t height) {
      kernel.emit(rows_, right, out, row, column, knownDepth_, height, widths);
    });
  };
  if (!isDirect_) {
    packPanel(column, widths);
    return multiply([&](Value k, int64_t j, int64_t width) {
      return v_.loadBuffer(panel_, {k, v_.index(j)}, width);
    });
  }
  Value rhs = op_.getRhs();
  whereWhole(v_, reads_.of(rhs, buffers_), tileOf(rhs).getShape(), [&](Coverage coverage) {
    multiply([&](Value k, int64_t j, int64_t width) {
      return emitFactor(rhs, k, v_.add(column, v_.index(j)), width, coverage);
    });
  });
}

/// Blocks of rows of lhs that hold something.
void DotLowering::forEachBlock(const std::function<void(Value row, int64_t height)> &visit) {
  int64_t height = block_.rows, whole = m_ / height, rest = m_ % height;
  Value wholeBlocks = v_.create<arith::MinSIOp>(blocks_, v_.index(whole));
  v_.forRange(v_.index(0), v_.mul(wholeBlocks, v_.index(height)), height,
              [&](Value row) { visit(row, height); });
  if (rest == 0)
    return;
  Value reaches = v_.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, blocks_, v_.index(whole));
  auto branch = v_.create<scf::IfOp>(reaches, false);
  OpBuilder::InsertionGuard guard(v_.b);
  v_.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  visit(v_.index(whole * height), rest);
}

void DotLowering::multiplyMatrix(Value out) {
  const Access *lhs = edgeOf(op_.getLhs()), *rhs = edgeOf(right_ ? right_ : op_.getRhs());
  Value knownRows = knownExtent(v_, lhs, 2, m_);
  knownDepth_ = v_.create<arith::MinSIOp>(knownExtent(v_, lhs, 1, depth_),
                                          knownExtent(v_, rhs, right_ ? 1 : 2, depth_));
  blocks_ = v_.create<arith::CeilDivSIOp>(knownRows, v_.index(block_.rows));
  packRows();
  if (right_)
    multiplyByRows(out);
  else
    multiplyByColumns(out);
}

void DotLowering::multiplyByColumns(Value out) {
  SmallVector<int64_t> full(block_.vectors, lanes_), last;
  int64_t width = block_.vectors * lanes_, fullColumns = n_ / width * width;
  Value knownColumns = knownExtent(v_, edgeOf(op_.getRhs()), 1, n_);
  Value end = v_.create<arith::MinSIOp>(knownColumns, v_.index(fullColumns));
  v_.forRange(v_.index(0), end, width, [&](Value column) { multiplyPanel(out, column, full); });
  for (int64_t left = n_ - fullColumns; left > 0; left -= lanes_)
    last.push_back(std::min(left, lanes_));
  if (!last.empty())
    multiplyPanel(out, v_.index(fullColumns), last);
}

/// Rows of rhs in the compute type, for several blocks of rows of lhs.
void DotLowering::packRight(Value column, int64_t columns, Coverage coverage) {
  int64_t full = depth_ / lanes_ * lanes_;
  auto pack = [&](Value k, int64_t lanes) {
    for (int64_t j = 0; j < columns; ++j) {
      Value row = emitFactor(right_, v_.add(column, v_.index(j)), k, lanes, coverage);
      v_.storeBuffer(row, panel_, {v_.index(j), k});
    }
  };
  v_.forRange(v_.index(0), v_.index(full), lanes_, [&](Value k) { pack(k, lanes_); });
  if (depth_ > full)
    pack(v_.index(full), depth_ - full);
}

/// What is read from a view, or converted as it is read.
static bool isRead(Value tile) {
  auto cast = tile.getDefiningOp<core::CastOp>();
  return (cast ? cast.getSource() : tile).getDefiningOp<core::LoadOp>() != nullptr;
}

/// Part of a row of rhs. One that is computed takes so much of the core's window of instructions
/// that it does not look far ahead in memory: what is kAhead bytes further on is brought nearer.
Value DotLowering::emitRight(Value row, Value k, int64_t lanes, int64_t which, Coverage coverage) {
  constexpr int64_t kAhead = 8192;
  if (isRead(right_))
    return emitFactor(right_, row, k, lanes, coverage);
  At at(batch_);
  at.append({row, k});
  Value vector =
      emitter_.emitAhead(right_, at, lanes, coverage, std::max<int64_t>(1, kAhead / depth_), which);
  return v_.convert(vector, source_, element_, core::Rounding::nearest_even, false);
}

void DotLowering::multiplyRows(Value out, Value column, int64_t columns, Coverage coverage) {
  RowKernel kernel(v_, element_, lanes_);
  if (panel_)
    packRight(column, columns, coverage);
  auto right = [&](Value row, Value k, int64_t lanes, int64_t which) {
    if (!panel_)
      return emitRight(row, k, lanes, which, coverage);
    Value inPanel = v_.create<arith::SubIOp>(row, column);
    return v_.loadBuffer(panel_, {inPanel, k}, lanes);
  };
  forEachBlock([&](Value row, int64_t height) {
    int64_t step = std::min(kSums, depth_ / lanes_) * lanes_, full = depth_ / step * step;
    Value end = v_.index(full);
    if (coverage == Coverage::masked) {
      Value steps = v_.create<arith::CeilDivSIOp>(knownDepth_, v_.index(step));
      end = v_.create<arith::MinSIOp>(v_.mul(steps, v_.index(step)), end);
    }
    kernel.emit({row, column, height, columns}, {end, step, full, depth_}, rows_, right, out);
  });
}

void DotLowering::multiplyByRows(Value out) {
  int64_t columns = block_.vectors, full = n_ / columns * columns;
  Value knownRows = knownExtent(v_, edgeOf(right_), 2, n_);
  Accesses reads = reads_.of(right_, buffers_);
  whereWhole(v_, reads, tileOf(right_).getShape(), [&](Coverage coverage) {
    Value end = v_.create<arith::MinSIOp>(knownRows, v_.index(full));
    v_.forRange(v_.index(0), coverage == Coverage::whole ? v_.index(full) : end, columns,
                [&](Value column) { multiplyRows(out, column, columns, coverage); });
    for (int64_t column = full, count = columns; column < n_; column += count) {
      while (column + count > n_)
        count /= 2;
      multiplyRows(out, v_.index(column), count, coverage);
    }
  });
}

void DotLowering::addTo(Value result) {
  Scratch &scratch = buffers_.scratch();
  int64_t mark = scratch.mark();
  rows_ = buffers_.allocate({m_, depth_}, element_);
  if (!right_ && !isDirect_)
    panel_ = buffers_.allocate({depth_, block_.vectors * lanes_}, element_);
  else if (right_ && m_ > block_.rows)
    panel_ = buffers_.allocate({block_.vectors, depth_}, element_);
  v_.forEachElement(tileOf(op_.getResult()).getShape().drop_back(2), [&](const At &batch) {
    batch_ = batch;
    multiplyMatrix(matrixOf(v_, result, batch));
  });
  scratch.release(mark);
}

} // namespace ditron::cpu
