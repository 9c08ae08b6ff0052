// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/MicroKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

void MicroKernel::emit(const Block &block, const Terms &terms, Value rows, const Right &right,
                       Value result) {
  SmallVector<Value> registers;
  forEach(block, [&](Value i, Value j, int64_t width, size_t) {
    registers.push_back(
        v_.create<vector::LoadOp>(products_.sumsOf(width), result, ValueRange{i, j}));
  });
  Value by = v_.index(products_.factors());
  auto loop = v_.create<scf::ForOp>(terms.first, terms.end, by, registers,
                                    [&](OpBuilder &, mlir::Location, Value k, ValueRange carried) {
                                      v_.create<scf::YieldOp>(step(block, rows, right, k, carried));
                                    });
  forEach(block, [&](Value i, Value j, int64_t, size_t n) {
    v_.create<vector::StoreOp>(loop.getResult(n), result, ValueRange{i, j});
  });
}

void MicroKernel::forEach(const Block &block,
                          const std::function<void(Value, Value, int64_t, size_t)> &visit) {
  size_t n = 0;
  for (int64_t i = 0; i < block.height; ++i) {
    Value at = offset(block.row, i);
    int64_t j = 0;
    for (int64_t width : block.widths) {
      visit(at, offset(block.column, j), width, n++);
      j += width;
    }
  }
}

SmallVector<Value> MicroKernel::step(const Block &block, Value rows, const Right &right, Value k,
                                     ValueRange carried) {
  SmallVector<Value> columns, next;
  int64_t j = 0;
  for (int64_t width : block.widths) {
    columns.push_back(right(k, j, width));
    j += width;
  }
  for (int64_t i = 0; i < block.height; ++i) {
    Value row = offset(block.row, i);
    for (auto [n, width] : llvm::enumerate(block.widths)) {
      Value x = products_.repeat(rows, {row, k}, width);
      next.push_back(products_.multiplyAdd(x, columns[n], carried[next.size()]));
    }
  }
  return next;
}

Value MicroKernel::offset(Value base, int64_t by) {
  return by == 0 ? base : v_.create<arith::AddIOp>(base, v_.index(by)).getResult();
}

} // namespace ditron::cpu
