// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/MicroKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

Value MicroKernel::multiplyAdd(Value x, Value y, Value acc) {
  if (isa<FloatType>(element_))
    return v_.create<vector::FMAOp>(x, y, acc);
  return v_.create<arith::AddIOp>(v_.create<arith::MulIOp>(x, y), acc);
}

void MicroKernel::emit(Value rows, const Right &right, Value result, Value row, Value column,
                       Value depth, int64_t height, ArrayRef<int64_t> widths) {
  SmallVector<Value> registers;
  forEach(row, column, height, widths, [&](Value i, Value j, int64_t width, size_t) {
    registers.push_back(v_.create<vector::LoadOp>(vectorOf(width), result, ValueRange{i, j}));
  });
  Value zero = v_.index(0), one = v_.index(1);
  auto loop = v_.create<scf::ForOp>(
      zero, depth, one, registers, [&](OpBuilder &, mlir::Location, Value k, ValueRange carried) {
        v_.create<scf::YieldOp>(step(rows, right, row, k, height, widths, carried));
      });
  forEach(row, column, height, widths, [&](Value i, Value j, int64_t, size_t n) {
    v_.create<vector::StoreOp>(loop.getResult(n), result, ValueRange{i, j});
  });
}

void MicroKernel::forEach(Value row, Value column, int64_t height, ArrayRef<int64_t> widths,
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

SmallVector<Value> MicroKernel::step(Value rows, const Right &right, Value row, Value k,
                                     int64_t height, ArrayRef<int64_t> widths, ValueRange carried) {
  SmallVector<Value> columns, next;
  int64_t j = 0;
  for (int64_t width : widths) {
    columns.push_back(right(k, j, width));
    j += width;
  }
  for (int64_t i = 0; i < height; ++i) {
    Value x = v_.create<memref::LoadOp>(rows, ValueRange{offset(row, i), k});
    for (auto [n, width] : llvm::enumerate(widths)) {
      Value repeated = v_.create<vector::BroadcastOp>(vectorOf(width), x);
      next.push_back(multiplyAdd(repeated, columns[n], carried[next.size()]));
    }
  }
  return next;
}

Value MicroKernel::offset(Value base, int64_t by) {
  return by == 0 ? base : v_.create<arith::AddIOp>(base, v_.index(by)).getResult();
}

} // namespace ditron::cpu
