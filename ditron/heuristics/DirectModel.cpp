// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/DirectModel.h"

namespace ditron::heuristics {

namespace {

/// Of the bandwidth of cores between ranks, what kernels reach that also wait and notify.
constexpr double kOfCores = 0.6;
/// Of the bandwidth of memory, what copies of rows of single elements reach.
constexpr double kOfPacking = 0.3;
/// Of an exchange among the cores of a rank: what one has written, another one may read, s.
constexpr double kLocalSignal = 2e-6;

double packSeconds(const OverlapProblem &p, const Calibration &c) {
  double bytes = 2 * double(p.operandBytes) * double(p.K) * double(p.rows + p.N);
  return kLocalSignal + bytes / (kOfPacking * c.memoryBandwidth);
}

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
  double packed = choice.packs ? packSeconds(p, c) : 0;
  result.seconds = packed + product + result.transfer;
  result.stall = result.seconds - product;
  return result;
}

} // namespace ditron::heuristics
