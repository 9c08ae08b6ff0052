// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/Context.h"
#include "model/Matrix.h"
#include "model/ModelFile.h"
#include <functional>
#include <memory>
#include <vector>

namespace generate {

/// The weights of a layer, in the memory of a device. Matrices that the same values are multiplied
/// with lie one below the other.
struct LayerWeights {
  Tensor attentionNorm, queryNorm, keyNorm, feedForwardNorm;
  Matrix qkv, attentionOutput, gateUp, down;
};

struct Weights {
  Tensor embedding, finalNorm;
  Matrix head;
  std::vector<LayerWeights> layers;
  Tensor cosines, sines; ///< of rope's angles: by position and pair
  /// The same with other matrices, for steps of many rows; null: these.
  std::shared_ptr<const Weights> ofManyRows;

  static constexpr int64_t kFewRows = 8;
  /// Those that a step of this number of rows takes.
  const Weights &forRows(int64_t rows) const {
    return rows > kFewRows && ofManyRows ? *ofManyRows : *this;
  }
  /// Makes the tables for so many positions.
  void addAngles(const ditron::Context &ctx, const Architecture &model, int64_t positions);
  /// The head and those of the layers.
  std::vector<const Matrix *> matrices() const;
  /// Whether all are multiplied with rows in bf16.
  bool takeBf16() const;
};

/// Reads and converts this rank's weights, and makes the tables for so many positions. `progress` is called
/// with the layers done so far. RuntimeError naming the tensor that is missing or of a
/// wrong shape. Ranks share heads and the rows of feed-forward layers: each has rows of the matrices
/// that make them, and columns of those that take them.
Weights loadWeights(
    const ditron::Context &ctx, const ModelFile &file, int64_t positions,
    const std::function<void(int64_t)> &progress = [](int64_t) {});

} // namespace generate
