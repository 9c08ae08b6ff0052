// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/RegisterBlock.h"
#include <algorithm>

namespace ditron::cpu {

RegisterBlock chooseBlock(const ProductShape &shape) {
  auto [m, n, lanes, registers] = shape;
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

RegisterBlock chooseDirect(const ProductShape &shape) {
  constexpr int64_t kMost = 8;
  auto [m, n, lanes, registers] = shape;
  for (int64_t vectors = kMost; vectors > 0; vectors /= 2)
    if (m * vectors + vectors + 1 <= registers && (vectors == 1 || (vectors - 1) * lanes < n))
      return {m, vectors};
  return {0, 0};
}

RegisterBlock chooseRows(const ProductShape &shape, const RowReads &reads) {
  auto [m, n, lanes, registers] = shape;
  RegisterBlock best{1, 1};
  double bestCost = 1e30;
  for (int64_t columns : {8, 4, 2, 1})
    for (int64_t rows = 1; rows <= std::min<int64_t>(m, 8); ++rows) {
      if (columns > std::min(n, reads.mostColumns) || rows * columns + rows + 1 > registers)
        continue;
      int64_t blocks = (m + rows - 1) / rows;
      int64_t costOfBlock = (reads.isFar ? 2 * rows : rows) + columns;
      double cost = static_cast<double>(blocks * costOfBlock) / static_cast<double>(columns);
      if (cost < bestCost) {
        bestCost = cost;
        best = {rows, columns};
      }
    }
  return best;
}

RegisterBlock chooseHeld(const ProductShape &shape, int64_t vectorsOfRow) {
  constexpr int64_t kColumns = 4, kOther = 6; // a row of rhs, and lanes that are being added
  auto [m, n, lanes, registers] = shape;
  if (!isShortRow(vectorsOfRow) || m * vectorsOfRow + m + kOther > registers)
    return {0, 0};
  int64_t columns = kColumns;
  while (columns > n)
    columns /= 2;
  return {m, columns};
}

bool isShortRow(int64_t vectors) { return vectors <= 16; }

} // namespace ditron::cpu
