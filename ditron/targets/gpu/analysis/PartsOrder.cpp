// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/PartsOrder.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <vector>

namespace ditron::gpu {

int64_t withPadding(int64_t items) {
  return items + items / PartsOrder::kPadded * PartsOrder::kPadding;
}

/// Of the first warp, that leaves its parts and collects all.
static int64_t passesOf(const PartsOrder &order, const Distribution &left,
                        const Distribution &result, int64_t warps, int64_t lanes) {
  auto access = [&](const Distribution &tile, int64_t reg, int64_t warp, int64_t items) {
    return bankPasses(lanes, items * PartsOrder::kItemBytes, [&](int64_t lane) {
      int64_t item = tile.number(0, lane, reg) * order.element + warp * order.warp;
      return order.place(item) * PartsOrder::kItemBytes;
    });
  };
  int64_t passes = 0, run = result.run(order.registers);
  for (int64_t reg = 0; reg < left.registers(); reg += order.registers)
    passes += access(left, reg, 0, order.registers);
  for (int64_t reg = 0; reg < result.registers(); reg += run)
    for (int64_t warp = 0; warp < warps; warp += order.warps)
      passes += access(result, reg, warp, run * order.warps);
  return passes;
}

PartsOrder chooseOrder(const Distribution &left, const Distribution &result, int64_t warps,
                       int64_t lanes) {
  constexpr int64_t kWidest = 4; // items of an access
  PartsOrder together{.element = warps, .warp = 1}, apart{.element = 1, .warp = result.size()};
  together.warps = std::min(kWidest, warps & -warps);
  apart.registers = left.run(kWidest);
  if (warps == 1)
    return together;
  std::vector<PartsOrder> orders{together, apart};
  // The places of a thread and of its registers have no bit in common then: padding adds up.
  if (llvm::isPowerOf2_64(static_cast<uint64_t>(result.size() * warps)))
    for (PartsOrder order : {together, apart})
      for (order.padded = PartsOrder::kPadded; order.padded <= 8 * PartsOrder::kPadded;
           order.padded *= 2)
        orders.push_back(order);
  return *std::ranges::min_element(
      orders, {}, [&](const PartsOrder &one) { return passesOf(one, left, result, warps, lanes); });
}

} // namespace ditron::gpu
