// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/Order.h"

namespace ditron::device {

std::string orderNames() {
  std::string names;
  for (const Order<int64_t> &order : kOrders<int64_t>)
    names.append(names.empty() ? "" : ", ").append(order.name);
  return names;
}

} // namespace ditron::device
