// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/functions/Epilogues.h"
#include <cmath>

namespace ditron::kernels {

Tile activate(Activation activation, const Tile &x) {
  switch (activation) {
  case Activation::relu:
    return maximum(x, 0);
  case Activation::silu:
    return x * sigmoid(x);
  case Activation::gelu:
    return x * (erf(x * std::sqrt(0.5)) + 1) * 0.5;
  case Activation::none:
    break;
  }
  return x;
}

} // namespace ditron::kernels
