// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/kernels.h"
#include "model/Architecture.h"
#include "model/Matrix.h"
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace generate {

/// What a product has around it.
struct ProductOptions {
  bool rms = false; ///< x is normalised
  int part = 0; ///< above 0: the norm of x was started, with a sum of squares for as many elements
  bool next = false;     ///< starts the norm of what comes behind
  bool gated = false;    ///< the upper half of W gates the lower one
  bool residual = false; ///< something is added
  bool summed = false;   ///< over the ranks, each of which has columns of W
  bool rounded = false;  ///< x is in bf16, and what a gated product gives
  bool streamed = false; ///< W comes through a megakernel on end
};

/// The library's kernels, with the tiles that are good for a problem on this device. Each is made
/// once.
class Library {
public:
  explicit Library(const ditron::Context &ctx);

  /// Whether rows of a model whose matrices are all in bf16 are rounded to that: tensor cores take
  /// them so, and all cores read them.
  bool rounds() const { return isOfGpu(); }
  bool isOfGpu() const { return target_.isGpu(); }
  /// Whether a megakernel streams weights in blocks faster than in rows.
  bool streamsBlocks() const { return target_.isGpu() && target_.hasWarpgroups; }
  /// W times each of `rows` rows. Products are of f32, but for x in bf16.
  const ditron::Kernel &product(const Matrix &W, int64_t rows, const ProductOptions &options);
  /// How many elements of a product have one sum of squares, where it starts a norm.
  int partOf(const Matrix &W, int64_t rows, const ProductOptions &options);
  /// Rows of a table of this width and type, by number; in f32, unless they stay as they are.
  const ditron::Kernel &rows(ditron::DType type, int64_t width, int64_t rows, bool stay = false);
  /// Over a cache of this type in pages of `pageSize` positions: parts of the keys and their sizes, which
  /// joinParts makes rows of heads of. Beside weights that stream, a task has more warps and takes more keys, of
  /// several rows two or three times as many.
  const ditron::Kernel &attention(const Architecture &model, ditron::DType type, int64_t pageSize,
                                  int64_t rows, bool streams);
  /// Over the same cache, for so many rows: all keys of a head at a time, and rows of heads as results. Null
  /// where that does not keep a GPU busy.
  const ditron::Kernel *wholeAttention(const Architecture &model, ditron::DType type,
                                       int64_t pageSize, int64_t rows);
  /// How so many rows attend to parts beside weights that stream, where a part is of whole pages, by products of tiles
  /// of a head's elements; else nothing.
  std::optional<ditron::kernels::DecodeAttentionConfig>
  partsOfPages(const Architecture &model, ditron::DType type, int64_t pageSize, int64_t rows);
  const ditron::Kernel &joinParts(const Architecture &model, ditron::DType type);
  /// Of parts of the rows of logits, which combineArgmax joins.
  const ditron::Kernel &argmax(int64_t rows, int64_t vocabulary);
  const ditron::Kernel &combineArgmax(int64_t rows, int64_t vocabulary);
  /// Columns of this number of rows that travel to other ranks at a time: a part for each core, at most 8 KB.
  int widthOverRanks(int64_t rows, int64_t columns) const;
  /// Heads that are turned together: on a GPU many, so that few tasks turn all of them.
  int headsOfTile(const Architecture &model) const;

private:
  /// A variant of a kernel, and what it is made of.
  struct Made {
    ditron::kernels::Config config;
    ditron::Kernel kernel;
  };
  const Made &make(const std::string &name, const ditron::Dimensions &dims,
                   const std::string &config = "", ditron::DType type = ditron::DType::f32);
  const ditron::Kernel &get(const std::string &name, const ditron::Dimensions &dims,
                            const std::string &config = "",
                            ditron::DType type = ditron::DType::f32) {
    return make(name, dims, config, type).kernel;
  }
  const Made &makeProduct(const Matrix &W, int64_t rows, const ProductOptions &options);
  const Made &makeArgmax(int64_t rows, int64_t vocabulary);
  const Made &makeAttention(const Architecture &model, ditron::DType type, int64_t pageSize,
                            const std::string &choices);

  int64_t cores_;
  ditron::DeviceTraits target_;
  /// By name, type and configuration.
  std::map<std::tuple<std::string, ditron::DType, std::string>, Made> made_;
};

} // namespace generate
