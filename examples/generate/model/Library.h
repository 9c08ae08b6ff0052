// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/kernels/Registry.h"
#include "model/Architecture.h"
#include "model/Matrix.h"
#include <map>
#include <string>
#include <utility>

namespace generate {

/// What a product has around it.
struct ProductOptions {
  bool rms = false;      ///< x is normalised
  bool gated = false;    ///< the upper half of W gates the lower one
  bool residual = false; ///< something is added
};

/// The library's kernels, with the tiles that are good for a problem on this device. Each is made
/// once.
class Library {
public:
  explicit Library(const ditron::Context &ctx);

  /// W times each of `rows` rows.
  const ditron::Kernel &product(const Matrix &W, int64_t rows, const ProductOptions &options);
  /// Rows of a table of this width, by number.
  const ditron::Kernel &rows(int64_t width, int64_t rows);
  /// Over a cache in pages of `pageSize` positions: parts of the keys and their sizes, which
  /// joinParts makes rows of heads of.
  const ditron::Kernel &attention(const Architecture &model, int64_t pageSize);
  const ditron::Kernel &joinParts(const Architecture &model);
  const ditron::Kernel &argmax(int64_t rows, int64_t vocabulary);

private:
  const ditron::Kernel &get(const std::string &name, const ditron::Dimensions &dims,
                            const std::string &config = "");

  int64_t cores_;
  ditron::DeviceTraits target_;
  std::map<std::pair<std::string, std::string>, ditron::Kernel>
      made_; ///< by name and configuration
};

} // namespace generate
