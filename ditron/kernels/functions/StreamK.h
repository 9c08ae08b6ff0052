// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of products whose steps, of all tiles one after the other, are divided evenly
// among workers (stream-K). All of them read as many bytes of B, whatever the shape.
//
//   tile       0           1           2           3
//   steps   |-----------|-----------|-----------|-----------|
//   worker  |---0----|---1----|---2----|---3----|---4----|5 ...
//
// The worker that has a tile's first step owns the tile, and takes it last. Every other one sends
// what it has of the tile to the owner's inbox, and takes it first: so the sums are there when the
// owner wants them.
#pragma once
#include "ditron/kernels/functions/Products.h"
#include "ditron/lang/Inbox.h"

namespace ditron::kernels {

template <class T> class StreamK {
public:
  /// Of a product [M,N] with `K` terms.
  StreamK(const GemmConfig &cfg, Index M, Index N, Index K)
      : cfg_(cfg), columns_(ceilDiv(N, cfg.n)), steps_(ceilDiv(K, cfg.k)),
        all_(ceilDiv(M, cfg.m) * columns_ * steps_),
        box_(inbox<Accumulator<T>>({cfg.workers}, {cfg.m, cfg.n}, "fragments")) {}

  /// whole(i, j, sum) takes tile (i, j) of the product, on the core of its owner, once `ready()` says
  /// that the operands are there. A worker waits for those behind it alone, and a core takes the
  /// last one first: so any number of cores will do.
  void multiply(const View<T, 2, Access::read> &A, const View<T, 2, Access::read> &B,
                const auto &ready, const auto &whole) const {
    auto a = A.tiled(cfg_.m, cfg_.k);
    for (auto [x] : grid({cfg_.workers})) {
      Index worker = cfg_.workers - 1 - x;
      Index first = firstOf(worker), last = firstOf(worker + 1);
      for (auto tile : range(first / steps_, ceilDiv(last, steps_))) {
        Index before = tile * steps_;
        Index begin = max(first - before, 0), end = min(last - before, steps_);
        Index i = tile / columns_, j = tile % columns_;
        ready();
        Tile sum = productBy(cfg_, a, i, B, j, Steps(begin, end));
        auto own = [&] { whole(i, j, sum + fragments(worker, workerOf(before + steps_ - 1))); };
        when(begin > 0, [&] { send(sum, box_.on(rank())(worker)); }, own);
      }
    }
  }

private:
  /// The sum of what the workers behind `owner`, up to `last`, have of a tile: of the last one first,
  /// who sent before all others.
  Tile fragments(Index owner, Index last) const {
    Var total = zeros<Accumulator<T>>(cfg_.m, cfg_.n);
    for (auto n : range(last - owner))
      total += receive(box_(last - n));
    return total;
  }
  /// The first step of a worker.
  Index firstOf(Index worker) const { return worker * all_ / cfg_.workers; }
  /// The worker of a step.
  Index workerOf(Index step) const { return ceilDiv((step + 1) * cfg_.workers, all_) - 1; }

  GemmConfig cfg_;
  Index columns_, steps_, all_;
  InboxArray<1, false> box_;
};

} // namespace ditron::kernels
