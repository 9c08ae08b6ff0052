// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel library: functions that make kernels. A kernel is a value: compile it with a Context
// and launch it. Element types are those of the inputs; the signature in front of each function is
// the kernel's. Sums and products accumulate in f32 (integers in i32), also across ranks, and in
// a fixed order: results are bitwise the same run after run.
#pragma once
#include "ditron/heuristics/GemmTile.h"
#include "ditron/lang/Kernel.h"

namespace ditron::kernels {

//===-- One device ----------------------------------------------------------------------------===//

struct VectorAddConfig {
  int tile = 1024; ///< elements
};
/// vector-add(x[N], y[N]) -> z[N]: z = x + y.
Kernel vectorAdd(DType type, const VectorAddConfig &config = {});

/// What is applied to a product before it is rounded: gelu is the one with erf.
enum class Activation { none, relu, silu, gelu };

using heuristics::GemmTile;
using heuristics::PairedTile;
using heuristics::Pairs;

/// How much of its inputs a product looks at: all of it, or as much as tensor cores multiply at
/// full speed: for f32 10 bits of mantissa (Precision::tf32), for 8-bit floats fast accumulation
/// (Precision::fastAccum). Other types know no difference.
enum class Accuracy { full, fast };

struct GemmConfig : PairedTile {
  bool transB = false; ///< B is given transposed, K-major: B[N,K]
  bool bias = false;   ///< adds bias[N]
  Activation activation = Activation::none;
  bool residual = false; ///< adds residual[M,N]
  bool scale = false;    ///< multiplies by a scalar
  Accuracy accuracy = Accuracy::full;
  int parts = 1;      ///< of K, which cores multiply apart before their sums are added
  int workers = 0;    ///< that all steps of all tiles are divided among (stream-K); 0: it is not so
  bool packs = false; ///< operands are copied to rows of whole 16 bytes before they are multiplied
};
/// gemm(A[M,K], B[K,N]) -> C[M,N]: C = activation(scale * A * B + bias) + residual, where the
/// configuration has them: the arguments bias[N], residual[M,N] and scale (f32), in this order,
/// stand behind B. With transB, gemm(A[M,K], B[N,K]) -> C[M,N] is A times the transposed B, as
/// layers of networks hold it. C, bias and residual are of i32 for i8, of bf16 for 8-bit floats,
/// else of A's type; all is done in f32 and rounded once. Integers take nothing but the product.
/// With several parts of K, workers, or packed operands, every rank of a context launches it, since
/// these take symmetric memory.
Kernel gemm(DType type, const GemmConfig &config = {});
/// batched-gemm(A[B,M,K], W[B,K,N]) -> C[B,M,N]: B products side by side, as above with one bias[N]
/// and with residual[B,M,N]; with transB W[B,N,K].
Kernel batchedGemm(DType type, const GemmConfig &config = {});

/// grouped-gemm(A[T,K], W[G,N,K], counts[G]) -> C[T,N]: rows of A in G groups, one after another,
/// times the transposed weights of their group: the experts of a mixture. counts (i32) is read when
/// the kernel runs: group g has counts[g] rows, 0 or more, together at most T (other counts end the
/// launch with a CompileError); rows of C behind the last group are not written. C is of i32 for
/// i8, of bf16 for 8-bit floats, else of A's type.
Kernel groupedGemm(DType type, const GemmTile &tile = {});

/// What one number of a scaled operand stands for.
enum class Scaling { tensor, rows };

struct Fp8GemmConfig : PairedTile {
  Scaling scaling = Scaling::tensor; ///< one scale an operand, or one a row of it
  Accuracy accuracy = Accuracy::fast;
};
/// fp8-gemm(A[M,K], B[N,K], scaleA[1], scaleB[1]) -> C[M,N]: C = (A * scaleA) * (B * scaleB)^T in
/// bf16, of operands in an 8-bit float format with scales in f32, in memory since the launch before
/// may have made them. By rows scaleA[M] and scaleB[N] have one for each row of A and of B.
Kernel fp8Gemm(DType type, const Fp8GemmConfig &config = {});

/// The tile of a kernel that works on whole rows. A row that fits the tile's width is read once.
struct RowConfig {
  int rows = 4, width = 1024;
};
/// softmax(x[T,H]) -> y[T,H]: y = exp(x - max) / sum(exp(x - max)) of each row. A row of nothing
/// but -infinity gives NaN.
Kernel softmax(DType type, const RowConfig &config = {});
/// rms-norm(x[T,H], w[H], eps) -> y[T,H]: y = x / sqrt(mean(x * x) + eps) * w of each row.
Kernel rmsNorm(DType type, const RowConfig &config = {});
/// layer-norm(x[T,H], w[H], b[H], eps) -> y[T,H]: y = (x - mean) / sqrt(variance + eps) * w + b of
/// each row, the variance being the mean of the squared distances from the mean.
Kernel layerNorm(DType type, const RowConfig &config = {});
/// silu-mul(x[T,2*H]) -> y[T,H]: y = silu(gate) * up, where gate is the left half of x and up the
/// right one.
Kernel siluMul(DType type, const RowConfig &config = {});

/// Which two elements of a head are turned together: i and i + H, or 2 * i and 2 * i + 1, as models
/// in GGUF of Llama's architecture have them.
enum class RopePairs { halves, adjacent };

struct RopeConfig {
  int heads = 8, width = 64; ///< the tile: heads of a token, and pairs of each
  RopePairs pairs = RopePairs::halves;
};
/// rope(x[T,N,2*H], positions[T], cosines[P,H], sines[P,H]) -> y[T,N,2*H]: rotary embedding of N
/// heads of T tokens, with half-split pairing: element i < H of a head is rotated with element i +
/// H,
///   y[i] = x[i] * cos - x[i + H] * sin,   y[i + H] = x[i + H] * cos + x[i] * sin,
/// where cos and sin are element i of row positions[t] (i32) of the tables, which are of f32.
/// With adjacent pairs these are the elements 2 * i and 2 * i + 1.
/// Positions are offsets into the tables, of any order and start: those of sequences that are
/// packed, or that go on from a cache. One that is not below P ends the launch with a CompileError.
Kernel rope(DType type, const RopeConfig &config = {});

struct AttentionConfig {
  int m = 64, n = 64; ///< queries of a tile, and keys that a step takes
  int d = 128;        ///< at least the head's dimension: D is padded to it
  bool causal = false;
};
/// flash-attention(q[T,N,D], k[S,G,D], v[S,G,D], qStarts[B+1], kStarts[B+1], scale) -> o[T,N,D]:
/// o = softmax(scale * q * k^T) * v of each of N heads of B sequences, packed one after another:
/// sequence b has the queries qStarts[b] to qStarts[b+1] and the keys kStarts[b] to kStarts[b+1]
/// (i32, read when the kernel runs, ascending from 0 or more to at most T and S; where they are
/// not, or D is above config.d, the launch ends with a CompileError). Queries of head n meet keys
/// of head n * G / N; N is a multiple of G. Causal: the last query of a sequence sees all of its
/// keys, each one before it a key less. A query that sees no key gives 0; rows of o in no sequence
/// are not written. The softmax and the sums are in f32, weights are rounded to the type of v.
Kernel flashAttention(DType type, const AttentionConfig &config = {});

//===-- A step of a decoder -------------------------------------------------------------------===//

/// Where the rows of W are that give gates: nowhere, before those of what they gate, or in turn with
/// them.
enum class Gated { none, halves, pairs };

/// How weights are stored (functions/PackedWeights.h): one number each, in rows; in blocks of 32 with a scale, as formats
/// Q8_0 and Q4_1 of GGUF; or 8 rows by 32 terms behind one another, as tensor cores take them, of one number each or of Q8_0.
enum class WeightFormat { plain, q8_0, q4_1, blocked, blockedQ8_0 };

/// What is of f32 beside weights of fewer bits.
enum class Wide {
  no,      ///< nothing
  yes,     ///< x, gain, residual and y; x * gain is rounded to W's type
  exact,   ///< these, and the products
  results, ///< residual and y
};

/// How x is normalised in front of a product.
enum class RowNorm {
  no,
  yes,     ///< x / sqrt(mean(x * x) + eps) * gain
  started, ///< x has been multiplied by its gain, and the sums of its squares are there
};

/// When a residual is asked for.
enum class Residual {
  none,
  behind, ///< asked for behind the products; by elements, and where rows of W are long, in front of them
  early, ///< in front of them, in registers until they are done
};
struct GemvConfig {
  int m = 1, n = 16;                  ///< the tile of y
  int k = 1024;                       ///< terms that a step adds; of packed weights whole blocks
  Gated gated = Gated::none;          ///< y = silu(gate) * up of two products
  RowNorm rms = RowNorm::no;          ///< of x
  int part = 8;                       ///< elements of x that have one of the sums of squares
  Residual residual = Residual::none; ///< adds residual[B,N]
  bool startsNorm = false;            ///< starts the norm of y: for the product behind it
  bool byElements = false;            ///< products are sums of elements, not of tiles; m is 1
  bool summed = false; ///< over the ranks, each of which has a part of the terms; not gated
  int sharers = 1;     ///< cores that share the terms of a tile, where they can (Order::sharedBy)
  int together = 1;    ///< tiles of y that a core computes together: of one sharer, not by elements
  bool isLong = false; ///< rows of W stream through a megakernel
  Wide wide = Wide::no;
  WeightFormat format = WeightFormat::plain;
};
/// gemv(x[B,K], W[N,K], scales[N,G], minima[N,G], gain[K], squares[B,ceil(K/part)], eps, residual[B,N],
/// nextGain[N]) -> y[B,N], scaled[B,N], nextSquares[B,ceil(N/n)]:
/// y = x * W^T + residual for few rows x. With rms, x is x / sqrt(mean(x * x) + eps) * gain; where the
/// norm was started, x is what was multiplied by the gain already, and squares are the sums of the
/// squares of parts of what it was before. Gated, W has 2*N rows, gates and what they gate in halves
/// or in pairs, and y = silu(gate) * up. Summed, x * W^T is added over the ranks, in their order, before
/// the residual is: all ranks have the same bits of it. A product that starts a norm gives y * nextGain in the type
/// of x, and the sums of the squares of the tiles of y. The arguments behind W are those that the
/// configuration asks for. x, gain, residual and y are of W's type, unless they are wide; squares are
/// of f32; y may be residual.
/// Packed it is called packed-gemv, and W is of i8 with scales in f16: q8-0 has W[N,K], q4-1 W[N,K/2] with minima in f16. x, gain,
/// residual and y are of the kernel's type, and products are taken in f32.
/// Blocked it is called blocked-gemv, with W[J,G,8,32] and x[B,32*G], residual[B,8*J], y[B,8*J]: W[j,g,r,t] is term
/// 32 * g + t of row 8 * j + r. Tiles have whole blocks, and gates are not in pairs. With blocks=q8-0 W is of i8 with
/// scales[J,8*G] in f16. Where rows are long and m is 8 or less, x is multiplied with the i8 and sums of 32 terms with
/// their scale; else weights are rounded to the type of the products.
Kernel gemv(DType type, const GemvConfig &config = {});

/// The tile of a kernel that appends: elements of a head.
struct CacheAppendConfig {
  int width = 128;
};
/// cache-append(k[B,G,D], v[B,G,D], positions[B]) -> keys[B,G,S,D], values[B,G,S,D]: row
/// positions[b] (i32) of each head of sequence b is written, and nothing else. A position that is not
/// below S ends the launch with a CompileError.
Kernel cacheAppend(DType type, const CacheAppendConfig &config = {});

/// paged-append(k[T,G,D], v[T,G,D], positions[T], sequences[T], pages[B,L]) -> keys[P,G,S,D],
/// values[P,G,S,D]: the same in pages of S positions. Row t is of sequence sequences[t], whose
/// position p is row p % S of page pages[b, p / S] (all i32, read when the kernel runs). Rows at
/// position -1 are left out; no two others are at one place. What the table or the pool has not ends
/// the launch with a CompileError.
Kernel pagedAppend(DType type, const CacheAppendConfig &config = {});

struct DecodeAttentionConfig {
  int m = 8, n = 64; ///< at least the heads of queries that share keys, and keys of a tile
  int d = 128;       ///< at least the head's dimension: D is padded to it
  int block =
      0; ///< tiles of keys that are a part, which is attended to apart; 0: there is one part
  bool byElements = false; ///< products are sums of elements, not of tiles; keys are in parts
  int warps = 4;           ///< that read keys together; kernels may have more or fewer
  bool apart = false;      ///< the results are those of parts; else they are joined
  bool flat = false;       ///< o of paged-attention is [T,N*D]; not apart
};
/// decode-attention(q[B,N,D], keys[B,G,S,D], values[B,G,S,D], positions[B], scale) -> o[B,N,D]:
/// o = softmax(scale * q * keys^T) * values of one query a sequence: that of sequence b sees the keys
/// 0 to positions[b] (i32, read when the kernel runs), as cache-append leaves them. Queries of head n
/// meet keys of head n * G / N; N is a multiple of G. Apart, with P parts of the keys, the results
/// are o[B,N,P,D] and sizes[B,N,P], both of f32: each part's o, and the logarithm to base 2 of its sum
/// of weights, which are powers of e. That is the lowest number where a part has no keys; its o is not
/// written. A position that is not below S, D above config.d or N above config.m * G end the launch
/// with a CompileError.
Kernel decodeAttention(DType type, const DecodeAttentionConfig &config = {});

/// paged-attention(q[T,N,D], keys[P,G,S,D], values[P,G,S,D], positions[T], sequences[T], pages[B,L],
/// scale) -> o[T,N,D]: the same over a cache in pages, as paged-append leaves it: query t sees the
/// keys 0 to positions[t] of sequence sequences[t], none at position -1, where o is 0. A page is a
/// tile of keys: S is at most config.n. Flat, o is [T,N*D].
Kernel pagedAttention(DType type, const DecodeAttentionConfig &config = {});

struct CombineAttentionConfig {
  int parts = 8, d = 128; ///< parts that are joined at a time; at least D
  bool flat = false;      ///< the heads of a sequence are one row
};
/// combine-attention(x[B,N,P,D], sizes[B,N,P]) -> o[B,N,D]: attention over all keys, of that over
/// each of P parts as decode-attention leaves them; o is of the kernel's type. Parts without keys are
/// the last ones. Flat, o is [B,N*D]. D above config.d ends the
/// launch with a CompileError.
Kernel combineAttention(DType type, const CombineAttentionConfig &config = {});

struct EmbedConfig {
  int width = 1024;  ///< elements of a row that a tile has; of a packed table whole blocks
  bool wide = false; ///< y is of f32
  WeightFormat format = WeightFormat::plain;
};
/// embed(ids[T], table[V,H]) -> y[T,H]: row t of y is row ids[t] (i32) of the table. One that is not
/// below V ends the launch with a CompileError. Of a table in blocks of q8-0 it is packed-embed,
/// with table[V,H] of i8 and scales[V,G] of f16 behind it, and y is of the kernel's type.
Kernel embed(DType type, const EmbedConfig &config = {});

struct ArgmaxConfig {
  int width = 1024; ///< elements of a tile
  int block = 0; ///< tiles of a row that are a part, which one core looks at; 0: there is one part
  bool apart = false; ///< the results are those of parts; else they are joined
};
/// argmax(x[B,V]) -> ids[B]: where the largest element of each row is (i32), the first of equal ones. Apart,
/// with P parts of a row, the results are values[B,P] and places[B,P]: each part's largest element, and
/// where in the row its first one is (i32). A row with NaN may have none: then its place is the largest i32.
Kernel argmax(DType type, const ArgmaxConfig &config = {});

struct CombineArgmaxConfig {
  int parts = 128; ///< of a row, that are looked at together
};
/// combine-argmax(values[B,P], places[B,P]) -> ids[B]: argmax of rows, of that of each of P parts as argmax
/// leaves them.
Kernel combineArgmax(DType type, const CombineArgmaxConfig &config = {});

//===-- Moving data between ranks -------------------------------------------------------------===//

/// What moves, or is summed, at a time.
struct ChunkConfig {
  int rows = 16, columns = 4096;
};
/// How cores hand over data.
enum class Protocol {
  simple, ///< put, then notify
  ll      ///< low latency: in inboxes, each access with a flag, for small messages
};
/// And what moves it.
struct TransferConfig : ChunkConfig {
  bool copyEngines = false;             ///< they move data beside the cores
  Protocol protocol = Protocol::simple; ///< of cores
  int chunks = 1;                       ///< of a shard, that copy engines send one by one
  int senders = 0;                      ///< cores that only send; 0: all send and receive, in turn
  int batch = 1;                        ///< chunks, one below the other, that cores send at a time
  bool stagger = false; ///< half of the cores begin later: others receive as they send
};
/// all-gather(x[M,N]) -> y[R*M,N]: y is every rank's x, rank after rank.
Kernel allGather(DType type, const TransferConfig &config = {});
/// reduce-scatter(x[R*M,N]) -> y[M,N]: y is the sum over the ranks of rows rank*M.. of their x:
/// the own ones first, then those of the next rank, and so on.
Kernel reduceScatter(DType type, const TransferConfig &config = {});

struct AllReduceConfig : TransferConfig {
  /// Every rank sums shards of the rows, then all gather them: less traffic, one more exchange. In
  /// one shot, every rank sends everything to all.
  bool twoShot = true;
};
/// all-reduce(x[M,N]) -> y[M,N]: y is the sum of every rank's x.
Kernel allReduce(DType type, const AllReduceConfig &config = {});
struct BroadcastConfig : TransferConfig {
  int root = 0; ///< a rank; another number ends the launch with a CompileError
  /// Cores of the root send each of the others a part, which that rank sends on to the rest: less traffic from the
  /// root, one more trip.
  bool twoShot = false;
};
/// broadcast(x[M,N]) -> y[M,N]: y is the root's x. Every rank has an x, of which only the root's is
/// read.
Kernel broadcast(DType type, const BroadcastConfig &config = {});

struct SendReceiveConfig : TransferConfig {
  bool ring = true; ///< the last rank sends to the first
};
/// send-recv(x[M,N]) -> y[M,N]: y is the x of the rank before this one. Without a ring the last rank
/// sends nowhere, and the y of the first one is not written.
Kernel sendReceive(DType type, const SendReceiveConfig &config = {});

/// dense-all-to-all(x[R*M,N]) -> y[R*M,N]: rows r*M.. of x go to rank r, and rows s*M.. of y come
/// from rank s.
Kernel denseAllToAll(DType type, const TransferConfig &config = {});
/// all-to-all(x[T,H], counts[R]) -> y[R*T,H], received[R]: the first counts[0] rows of x go to rank
/// 0, the next counts[1] to rank 1, and so on; rows from rank s arrive at y[s*T..], received[s] of
/// them, and the rest of that part is undefined. Counts are 0 or more, together at most T; what is
/// beyond is not sent.
Kernel allToAll(DType type, const ChunkConfig &config = {});

//===-- Products across ranks -----------------------------------------------------------------===//

/// A product with its epilogue, and how it is spread.
struct FusedGemmConfig : GemmConfig {
  int commCores = 1;        ///< cores that move data, of those of a rank
  int chunkRows = 8;        ///< rows that move at a time: of ag-gemm's A
  bool copyEngines = false; ///< they move data, and all cores multiply
  int chunks = 1;           ///< of a shard, that copy engines send one by one
  bool narrowPartials =
      false; ///< sums of a rank travel in C's type, and are added in the accumulator's
  /// All cores move data, and send what they have at once: few and small transfers, no overlap. Only
  /// then operands may be packed, K may have parts in gemm-ar, and there may be workers, whose tiles
  /// have rows of all ranks.
  bool isDirect = false;
};
/// ag-gemm(A[M,K], B[K,N]) -> C[R*M,N]: the product of every rank's A with this rank's B, rows
/// multiplied while others are under way. The configuration's epilogue is gemm's, with
/// residual[R*M,N]; with transB the operand is B[N,K].
Kernel allGatherGemm(DType type, const FusedGemmConfig &config = {});
/// gemm-rs(A[R*M,K], B[K,N]) -> C[M,N]: the sum over the ranks of rows rank*M.. of their A * B; K
/// is the rank's part of the summed dimension. Sums travel in the accumulator's type. The epilogue
/// is done once, to the whole sum, by the owner of the rows: with bias[N] and residual[M,N].
Kernel gemmReduceScatter(DType type, const FusedGemmConfig &config = {});
/// gemm-ar(A[M,K], B[K,N]) -> C[M,N]: the sum of every rank's A * B; K is the rank's part. The
/// epilogue is done to the whole sum, by one rank for each tile, with its own bias[N] and
/// residual[M,N]: ranks have the same.
Kernel gemmAllReduce(DType type, const FusedGemmConfig &config = {});

/// The tile of a product, and who moves rows.
struct ExpertGemmConfig : GemmTile {
  /// Cores of a rank that move rows, while the others multiply what is there; 0: all do, and then all
  /// multiply, those of a group together.
  int commCores = 1;
};
/// expert-gemm(A[T,K], W[G,N,K], counts[R*G]) -> C[R*T,N]: grouped-gemm of the rows that all ranks send
/// to this rank's groups: the experts of a mixture. Rows of A are sorted by group, first those of rank
/// 0, and counts has the number of each. In C the rows of a group stand together, those of rank 0
/// first; rows behind the last group are not written. Counts are 0 or more, together at most T.
Kernel expertGemm(DType type, const ExpertGemmConfig &config = {});

//===-- Attention across ranks ----------------------------------------------------------------===//

struct RingAttentionConfig : AttentionConfig {
  int commCores = 1;        ///< cores that move keys and values, of those of a rank
  bool copyEngines = false; ///< they move them, and all cores compute
  bool ring = true;         ///< from neighbour to neighbour, or from each rank to all others
};
/// ring-attention(q[T,N,D], k[S,G,D], v[S,G,D], qStarts[B+1], kStarts[B+1], scale) -> o[T,N,D]:
/// flash-attention of a rank's queries and the R*S keys of all ranks, of which each has S rows, rank
/// after rank. kStarts count in all of them, up to R*S: of one sequence of which rank r has queries
/// r*T to (r+1)*T, the causal form has kStarts 0 and (r+1)*T, and else 0 and R*S.
Kernel ringAttention(DType type, const RingAttentionConfig &config = {});

} // namespace ditron::kernels
