// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/Context.h"
#include "formats/Blocks.h"
#include <cstdint>
#include <vector>

namespace generate {

using ditron::Tensor;

/// How a matrix of weights is held in memory: as numbers, or as the file has it, in blocks of 32 with
/// a scale and perhaps a minimum, each of these in a tensor of its own; or as numbers, or q80, in blocks of rows (Blocks.h).
enum class Storage : uint8_t { plain, q80, q41, blocked, blockedQ80 };

/// A matrix [N,K] of weights, in the memory of a device.
struct Matrix {
  Storage storage = Storage::plain;
  Tensor
      values; ///< [N,K] in f32, f16, bf16 or i8; two in a byte where they have 4 bits; blocked [N/8,K/32,8,32]
  Tensor scales = {}, minima = {}; ///< [N,K/32]; blocked [N/8,K/4]
  int64_t rows = 0, columns = 0;

  /// Whether there is a number for each weight.
  bool isOfNumbers() const { return storage == Storage::plain || storage == Storage::blocked; }
  bool isInBlocks() const { return storage == Storage::blocked || storage == Storage::blockedQ80; }
  /// Whether it is multiplied with rows in bf16.
  bool takesBf16() const {
    return storage == Storage::blockedQ80 ||
           (isOfNumbers() && values.dtype() == ditron::DType::bf16);
  }
};

/// What a rank has of a matrix.
enum class Cut { none, rows, columns };

/// Reads weights into the memory of a rank's device.
class Loader {
public:
  explicit Loader(const ditron::Context &ctx) : ctx_(ctx) {}

  /// A vector, or a matrix, in f32.
  Tensor tensor(const StoredTensor &stored) const;
  /// This rank's parts of matrices of one width, one below the other. As they are stored where all of
  /// them are in f16, in bf16, or in blocks that are one Storage (of Q5_0 and Q4_0, too); otherwise in bf16 on a GPU where
  /// all are in blocks, and in f32.
  Matrix matrix(const std::vector<const StoredTensor *> &parts, Cut cut = Cut::none) const;
  /// A matrix whose rows are taken by number: as it is stored in f16 or bf16, in bf16 on a GPU where it is in blocks,
  /// in f32 otherwise.
  Tensor table(const StoredTensor &stored) const;

private:
  struct Part;
  std::vector<Part> cutParts(const std::vector<const StoredTensor *> &parts, Cut cut) const;
  Tensor plain(const std::vector<Part> &parts) const;
  Matrix inBlocks(const std::vector<Part> &parts, Storage storage) const;

  const ditron::Context &ctx_;
};

} // namespace generate
