// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions and host helpers that several kernels share. Not part of the public surface.
#pragma once
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>

namespace ditron::kernels {

//===-- Element types -------------------------------------------------------------------------===//

/// The element types a kernel is made for.
template <class... T> struct Types {
  static std::vector<DType> list() { return {kDType<T>...}; }

  /// fn.template operator()<T>() for the host type of `type`; CompileError if it is none of these.
  template <class Fn> static Kernel dispatch(DType type, const char *kernel, const Fn &fn) {
    std::optional<Kernel> result;
    ((kDType<T> == type ? void(result.emplace(fn.template operator()<T>())) : void()), ...);
    if (result)
      return *result;
    std::string known;
    ((known += (known.empty() ? "" : ", ") + std::string(name(kDType<T>))), ...);
    throw CompileError(std::string(kernel) + ": no variant for " + std::string(name(type)) +
                       ", expected one of " + known);
  }
};
using Floats = Types<f32, f16, bf16>;
using Numbers = Types<f32, f16, bf16, i32, i64>;
using Any = Types<f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64>;
using Sums = Types<f32, f16, bf16, i32>;
using DotTypes = Types<f32, f16, bf16, f8e4m3, f8e5m2, i8>;

/// What sums and products are accumulated in: f32 for floats; i32 for narrow integers.
template <class T> struct AccumulatorOf {
  using type = f32;
};
template <> struct AccumulatorOf<i8> {
  using type = i32;
};
template <> struct AccumulatorOf<i16> {
  using type = i32;
};
template <> struct AccumulatorOf<i32> {
  using type = i32;
};
template <> struct AccumulatorOf<i64> {
  using type = i64;
};
template <class T> using Accumulator = typename AccumulatorOf<T>::type;

/// The element type of a product of T: T itself, i32 of i8, and bf16 of the 8-bit floats.
template <class T> struct ProductOf {
  using type = T;
};
template <> struct ProductOf<i8> {
  using type = i32;
};
template <> struct ProductOf<f8e4m3> {
  using type = bf16;
};
template <> struct ProductOf<f8e5m2> {
  using type = bf16;
};
template <class T> using Product = typename ProductOf<T>::type;

//===-- Device functions ----------------------------------------------------------------------===//

/// What a product of T looks at.
template <class T> Precision precisionOf(Accuracy accuracy) {
  if (accuracy == Accuracy::full || (kDType<T> != DType::f32 && byteSize(kDType<T>) > 1))
    return Precision::ieee;
  if (kDType<T> == DType::f32)
    return Precision::tf32;
  return isFloat(kDType<T>) ? Precision::shortSums : Precision::ieee;
}

/// Tile (i, j) of a * b, in the accumulator's type.
template <class T, Access accessA, Access accessB>
Tile product(const Tiled<T, 2, 2, accessA> &a, Index i, const Tiled<T, 2, 2, accessB> &b, Index j,
             Accuracy accuracy = Accuracy::full) {
  Var acc = zeros<Accumulator<T>>(a.height(), b.width());
  for (auto k : range(a.cols()))
    acc += dot(a(i, k), b(k, j), precisionOf<T>(accuracy));
  return acc;
}

/// Tile (i, j) of a * b transposed: rows of both are multiplied, as they lie in memory.
template <class T, Access accessA, Access accessB>
Tile productOfRows(const Tiled<T, 2, 2, accessA> &a, Index i, const Tiled<T, 2, 2, accessB> &b,
                   Index j, Accuracy accuracy = Accuracy::full) {
  Var acc = zeros<Accumulator<T>>(a.height(), b.height());
  for (auto k : range(a.cols()))
    acc += dot(a(i, k), transpose(b(j, k)), precisionOf<T>(accuracy));
  return acc;
}

/// The sum over the ranks, in their order, of tile (i, j) of `parts`, whose leading dimension
/// counts them.
template <class T, Access access>
Tile sumOverRanks(const Tiled<T, 3, 2, access> &parts, Index i, Index j) {
  Var total = zeros<Accumulator<T>>(parts.height(), parts.width());
  for (auto r : range(numRanks()))
    total += cast<Accumulator<T>>(parts(r, i, j));
  return total;
}

/// The same of tiles that lie on the ranks: from(r) is rank r's, fetched into `incoming`.
template <class T, Access access>
Tile fetchSum(const auto &from, const TileRef<T, access> &incoming) {
  Var total = zeros<T>(static_cast<int>(incoming.shape[0]), static_cast<int>(incoming.shape[1]));
  for (auto r : range(numRanks())) {
    get(from(r), incoming);
    total += incoming;
  }
  return total;
}

/// Roles of `commCores` cores and of the rest; with 0, both are all cores: one role after the
/// other.
inline std::array<Role, 2> splitRoles(int commCores) {
  if (commCores > 0)
    return splitCores(commCores);
  return {Role(0, numCores()), Role(0, numCores())};
}

/// activation(x), x in f32.
Tile activate(Activation activation, const Tile &x);

/// Block `number` of a list of parts whose sizes (scalars of i32) are known only at run time, each
/// cut into blocks of `height` rows, the last ones ragged: which part it is, where that part
/// starts, and which of its blocks. part is parts, the number of them, where the list has fewer
/// blocks. A size below 0 ends the launch.
struct Block {
  Index part, first, inPart;
};
Block findBlock(Index number, Index parts, int height, const std::function<Tile(Index)> &sizeOf);

/// At least as many blocks as any list of so many parts has, of so many rows in all.
Index mostBlocks(Index rows, Index parts, int height);

//===-- Configurations ------------------------------------------------------------------------===//

/// The smallest power of two that covers `extent`, at most `most`: the extent of a tile.
inline int64_t fit(int64_t extent, int64_t most) {
  return std::min(most, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))));
}

/// The parameters of a RowConfig, and a good choice: rows of H elements that fit are read once.
std::vector<ConfigParameter> rowParameters();
Config rowDefaults(const Problem &problem);
/// The same for a kernel that need not have a whole row.
Config elementDefaults(const Problem &problem);
RowConfig rowConfig(const Config &config);

/// The parameters of a ChunkConfig, and a good choice for a matrix of `rows` x `columns`, to move
/// it or to sum it.
std::vector<ConfigParameter> chunkParameters();
Config movedChunks(const Problem &problem, int64_t rows, int64_t columns);
Config summedChunks(int64_t rows, int64_t columns);
ChunkConfig chunkConfig(const Config &config);

/// Columns of A that ag-gemm sends at a time: contiguous runs that no cache holds twice.
inline constexpr int kChunkColumns = 4096;

/// The parameters of a FusedGemmConfig, and a good choice where a rank multiplies `rows` rows at a
/// time. `sums`: tiles of the result are also summed, by the cores that move data.
std::vector<ConfigParameter> fusedParameters();
Config fusedDefaults(const Problem &problem, int64_t rows, bool sums = false);
FusedGemmConfig fusedConfig(const Config &config);
std::vector<Dimensions> fusedTestShapes();
std::vector<CheckCase> fusedCheckCases();

/// The parameters m, n, k and group of a product, and a good choice for one of `rows` rows.
std::vector<ConfigParameter> gemmParameters();
/// What a tile of a product on a GPU is chosen for.
struct TileNeeds {
  Accuracy accuracy = Accuracy::full;
  int64_t step = 8; ///< what the widths of tiles for warpgroups are multiples of
  /// The terms of both operands lie side by side, as weights have them: what all but 16-bit floats
  /// need there.
  bool hasDenseTerms = false;
  int64_t most = INT64_MAX; ///< elements of a tile for warpgroups
  bool mayPair = true;      ///< registers are left for what pairs of cores need
};
PairedTile gemmTile(const Problem &problem, int64_t rows, const TileNeeds &needs = {});
/// For tiles that threads store: lanes exchange results for wide accesses in so many columns.
inline constexpr int64_t kExchangedColumns = 32;
/// The parameter of a tile's Pairs, and a tile with them.
ConfigParameter pairsParameter();
PairedTile pairedTile(const Config &config);
/// The order of the tiles of C.
Order tileOrder(const PairedTile &tile);
/// The parameter of a kernel's Accuracy.
ConfigParameter accuracyParameter();
GemmTile gemmTile(const Config &config);
/// Changes the tile of a configuration that has one with pairs.
void setTile(Config &config, const PairedTile &tile);

/// Elements of an extent that belong to no rank below `rank`, in equal parts of `size`, the last
/// ones smaller or empty: the part of this rank is view.slice(0, first, count).
struct Shard {
  Index first, count;
  Shard(Index rank, Index size, Index extent)
      : first(min(rank * size, extent)), count(min(size, extent - first)) {}
};

//===-- References ----------------------------------------------------------------------------===//

/// A sum in double, with what the criterion of accuracy needs: the same in float, and the sum of
/// absolute values.
struct ReferenceSum {
  double value = 0, magnitude = 0;
  float plain = 0;
  int64_t terms = 0;

  void add(double term) {
    value += term;
    magnitude += std::abs(term);
    plain += static_cast<float>(term);
    ++terms;
  }
  /// The whole sum times a factor, which is another rounding.
  void scaleBy(double factor) {
    value *= factor;
    magnitude *= std::abs(factor);
    plain *= static_cast<float>(factor);
    ++terms;
  }
  /// A sum of its own: what another rank adds.
  void add(const ReferenceSum &part) {
    value += part.value;
    magnitude += part.magnitude;
    plain += part.plain;
    terms += part.terms;
  }
  /// What short sums of 8-bit floats may lose of it: of each term 2^-8 of what terms are on
  /// average. Computed as tile.dot says, the farthest of two million random sums of 128 terms is
  /// off by 0.7 of that; test/kernels/CriterionTest.cpp draws some.
  void allowShortSums() {
    magnitude *= 1 + 32768 / static_cast<double>(std::max<int64_t>(terms, 1));
  }
  /// What products of operands rounded to tf32, ties either way, may lose of it: of each term 2^-9
  /// of what terms are on average.
  void allowTf32() { magnitude *= 1 + 16384 / static_cast<double>(std::max<int64_t>(terms, 1)); }
  /// a * b as one term; `plainA` and `plainB` are what is left of them where they are rounded
  /// first.
  void addProduct(double a, double b, double plainA, double plainB) {
    value += a * b;
    magnitude += std::abs(a * b);
    plain += static_cast<float>(plainA) * static_cast<float>(plainB);
    ++terms;
  }
  void addProduct(double a, double b) { addProduct(a, b, a, b); }
};

/// `value` rounded to `type`.
double roundTo(DType type, double value);

/// What activation(sum) + residual is to be as an element of `type`; integers are exact.
Expected expectedSum(const ReferenceSum &sum, DType type, Activation activation = Activation::none,
                     double residual = 0);

/// One element of a product of two inputs, as Product<T>: row `row` of argument 0 of `rank` by
/// column `column` of argument 1, whose row 0 is here `firstOfB`; K terms.
ReferenceSum productOf(const Inputs &in, int64_t rank, int64_t row, int64_t firstOfB,
                       int64_t column, int64_t K);

/// The same of row `row` of argument 0 by ofB(k), k = 0 .. K-1: what a product of this accuracy may
/// give.
ReferenceSum productWith(const Inputs &in, int64_t rank, int64_t row, int64_t K, Accuracy accuracy,
                         const std::function<double(int64_t)> &ofB);

/// Row `inputRow` of argument 0, summed over the ranks.
std::vector<Expected> sumOfRanks(const Case &run, const OutputRow &row, int64_t inputRow);
/// Row `inputRow` of every rank's argument 0 times its argument 1, summed over the ranks.
std::vector<Expected> sumOfProducts(const Case &run, const OutputRow &row, int64_t inputRow);

} // namespace ditron::kernels
