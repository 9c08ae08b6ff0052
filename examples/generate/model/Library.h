// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/kernels/Registry.h"
#include "model/Architecture.h"
#include "model/Matrix.h"
#include <map>
#include <string>
#include <tuple>

namespace generate {

/// What a product has around it.
struct ProductOptions {
  bool rms = false;      ///< x is normalised
  bool gated = false;    ///< the upper half of W gates the lower one
  bool residual = false; ///< something is added
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
  bool rounds() const { return target_.isGpu(); }
  /// W times each of `rows` rows. Products are of f32, but for x in bf16.
  const ditron::Kernel &product(const Matrix &W, int64_t rows, const ProductOptions &options);
  /// Rows in f32 of a table of this width and type, by number.
  const ditron::Kernel &rows(ditron::DType type, int64_t width, int64_t rows);
  /// Over a cache of this type in pages of `pageSize` positions: parts of the keys and their sizes, which
  /// joinParts makes rows of heads of.
  const ditron::Kernel &attention(const Architecture &model, ditron::DType type, int64_t pageSize);
  const ditron::Kernel &joinParts(const Architecture &model, ditron::DType type);
  const ditron::Kernel &argmax(int64_t rows, int64_t vocabulary);

private:
  const ditron::Kernel &get(const std::string &name, const ditron::Dimensions &dims,
                            const std::string &config = "",
                            ditron::DType type = ditron::DType::f32);

  int64_t cores_;
  ditron::DeviceTraits target_;
  /// By name, type and configuration.
  std::map<std::tuple<std::string, ditron::DType, std::string>, ditron::Kernel> made_;
};

} // namespace generate
