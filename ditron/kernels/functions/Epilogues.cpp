// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/functions/Epilogues.h"
#include <cmath>

namespace ditron::kernels {

std::string signatureOf(const GemmConfig &config, const std::string &operands,
                        const std::string &result) {
  return operands + (config.bias ? ", bias[N]" : ", -") +
         (config.residual ? ", residual" + result : ", -") + (config.scale ? ", scale" : ", -") +
         ") -> C" + result;
}

void checkEpilogue(DType type, const GemmConfig &config, const char *kernel) {
  bool isPlain =
      !config.bias && !config.residual && !config.scale && config.activation == Activation::none;
  if (!isFloat(type) && !isPlain)
    throw CompileError(std::string(kernel) + ": a product of " + std::string(name(type)) +
                       " takes no bias, residual, scale or activation");
}

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
