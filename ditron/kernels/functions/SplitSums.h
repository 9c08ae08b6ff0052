// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of products whose summed dimension is divided among cores. Each core leaves the
// sum of its part of K in memory; whoever stores a tile of the result waits for all parts of it and
// adds them in a fixed order. There is no barrier: tiles are added while others are multiplied.
#pragma once
#include "ditron/kernels/FusedGemm.h"
#include "ditron/kernels/functions/Products.h"

namespace ditron::kernels {

/// Columns that are added at a time: runs of 128 bytes of f32. What is added is narrower than what is
/// multiplied, so that all cores add.
inline constexpr int kAddedColumns = 32;

/// The sums of `parts` parts of K, of one or more senders, each of whom has all parts: [senders,
/// parts, M, N] of P, with rows of whole 16 bytes.
template <class T, class P> class SplitSums {
public:
  /// `self`: which of the senders this rank is.
  SplitSums(const GemmConfig &cfg, Index M, Index N, Index senders, Index self)
      : cfg_(cfg), added_(cfg), N_(N), senders_(senders), self_(self),
        summands_(symmetric<P>({senders, cfg.parts, M, packedColumns<P>(N)}, "summands")),
        arrived_(signals({ceilDiv(M, cfg.m), ceilDiv(N, cfg.n)}, "arrived")) {
    added_.n = evenRows(cfg.n, kAddedColumns);
  }

  /// The tile that is added at a time.
  const GemmConfig &added() const { return added_; }
  const Symmetric<P, 4> &summands() const { return summands_; }
  const SignalArray<2, false> &arrived() const { return arrived_; }

  /// Multiplies all tiles of all parts, once `ready()` says that the operands are there.
  /// share(p, i, j) lets those who add know that a tile of a part is there.
  void multiply(const View<T, 2, Access::read> &A, const View<T, 2, Access::read> &B,
                const auto &ready, const auto &share) const {
    auto a = A.tiled(cfg_.m, cfg_.k);
    auto room = summands_.at(self_);
    auto mine = room.tiled(cfg_.m, cfg_.n);
    auto tiles = room.slice(2, 0, N_).tiled(cfg_.m, cfg_.n); // those with columns of the result
    for (auto [p, i, j] : tiles.tiles(tileOrder(cfg_))) {
      ready();
      mine(p, i, j) = cast<P>(productBy(cfg_, a, i, B, j, Steps(a.cols(), p, cfg_.parts)));
      share(p, i, j);
    }
  }
  /// Tile (i, j) of the sums, in tiles of added(): sender after sender, part after part.
  Tile total(Index i, Index j) const {
    wait(arrived_(i, j / (cfg_.n / added_.n)), senders_ * cfg_.parts);
    auto parts = summands_.tiled(added_.m, added_.n);
    Var total = zeros<Accumulator<T>>(added_.m, added_.n);
    for (auto s : range(senders_))
      for (int p = 0; p < cfg_.parts; ++p)
        total += cast<Accumulator<T>>(parts(s, p, i, j));
    return total;
  }

private:
  GemmConfig cfg_, added_;
  Index N_, senders_, self_;
  Symmetric<P, 4> summands_;
  SignalArray<2, false> arrived_;
};

} // namespace ditron::kernels
