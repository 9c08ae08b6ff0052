// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a step of a decoder does beside the library's kernels.
#pragma once
#include "ditron/kernels/kernels.h"
#include "model/Architecture.h"

namespace generate {

/// turn-and-append(qkv[T,(N+2*G)*D], positions[T], sequences[T], pages[B,L], cosines[M,E], sines[M,E],
/// queryNorm[D], keyNorm[D], eps) -> keys[P,G,S,D], values[P,G,S,D], q[T,N,D]: turns the heads of
/// queries and keys by the angles of the position (rope), and puts the new keys and values at that
/// place of the caches, which are of this type as q is, as paged-append does. Models with head norms
/// normalise the heads first: only then there are queryNorm, keyNorm and eps. A tile has `heads` of them.
ditron::Kernel turnAndAppend(const Architecture &model, ditron::DType type, int heads);
/// turn-and-attend(qkv[T,(N+2*G)*D], ..., eps, scale) -> keys[P,G,S,D], values[P,G,S,D], o[T,N,ceil(L/p)+1,D],
/// sizes[T,N,ceil(L/p)+1]: the same and attention to parts, for up to `rows` rows of any sequences. The first part are
/// the new keys of the row's sequence, which no task reads from the cache; part n + 1 are keys of earlier steps, in p
/// pages from page n * p on. Parts are those of paged-attention, which `config` is one of: a part of it is a block of p
/// pages, by products of tiles of D elements. CompileError unless it takes as many heads of queries as share one of
/// keys, or where `rows` or the block is below 1; more rows, or a page of more positions than config.n, end the launch.
ditron::Kernel turnAndAttend(const Architecture &model, ditron::DType type,
                             const ditron::kernels::DecodeAttentionConfig &config, int rows);
/// round-normed(x[B,K], gain[K], eps) -> y[B,K]: rows x, normalised, in bf16.
ditron::Kernel roundNormed(const Architecture &model);
/// start-norm(x[B,K], gain[K]) -> scaled[B,K], squares[B,ceil(K/part)]: what gemv takes where the norm
/// of its rows was started: x * gain in bf16, and the sums of the squares of parts of x.
ditron::Kernel startNorm(int part);
/// add-over-ranks(x[B,N], residual[B,N]) -> y[B,N]: the sum of every rank's x, and the residual. All
/// ranks have the same bits. `width` elements of a row travel at a time.
ditron::Kernel addOverRanks(int width);
/// One that starts a norm takes gain[N] too, and gives what start-norm does of y, of parts of `width`
/// elements.
ditron::Kernel addOverRanksAndStartNorm(int width);
/// join-logits(x[W,V/R]) -> y[W,V]: the columns of all R ranks, in their order, on every rank. `width` of
/// them travel at a time.
ditron::Kernel joinLogits(int64_t vocabulary, int width);

} // namespace generate
