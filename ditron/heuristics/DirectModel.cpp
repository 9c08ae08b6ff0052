// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/DirectModel.h"

namespace ditron::heuristics {

namespace {

/// Of the bandwidth of cores between ranks, what kernels reach that also wait and notify.
constexpr double kOfCores = 0.6;
/// Bytes that a rank sends.
double sentBytes(const OverlapProblem &p, const DirectChoice &choice) {
  double others = double(p.ranks - 1), rows = double(p.rows);
  if (p.exchange == Exchange::gather)
    return others * rows / double(p.ranks) * double(p.K) * double(p.operandBytes);
  double sums = rows * double(p.N) * double(choice.sumBytes);
  return p.exchange == Exchange::reduceScatter ? others / double(p.ranks) * sums
                                               : others * double(choice.parts) * sums;
}

} // namespace

Prediction predictDirect(const OverlapProblem &p, const DirectChoice &choice, double product,
                         const Calibration &c) {
  Prediction result;
  result.product = product;
  double moved = sentBytes(p, choice) / (kOfCores * c.coreCopyBandwidth);
  result.transfer = p.ranks > 1 ? 2 * c.signalLatency + moved : 0;
  result.seconds = choice.packSeconds + product + result.transfer;
  result.stall = result.seconds - product;
  return result;
}

} // namespace ditron::heuristics
