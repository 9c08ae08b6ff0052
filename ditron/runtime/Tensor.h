// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/support/DType.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ditron::runtime {

/// A host tensor: an element type, a shape and a stride per dimension over memory that it owns (and
/// shares with its copies) or borrows. Copies are shallow.
class Tensor {
public:
  Tensor() = default;

  /// A dense row-major tensor with memory of its own, 64-byte aligned, contents undefined.
  /// CompileError where a size is zero or negative; RuntimeError naming the bytes asked for and
  /// available where there is not enough memory.
  static Tensor own(DType type, std::vector<int64_t> shape);

  /// A view of the caller's memory, which must outlive every copy of the tensor. `strides` count
  /// elements and may be anything, also zero or negative; without them the memory is dense and
  /// row-major. CompileError where a size is zero or negative, the counts of sizes and strides
  /// differ, or `data` is null.
  static Tensor borrow(void *data, DType type, std::vector<int64_t> shape,
                       std::vector<int64_t> strides = {});

  DType dtype() const { return type_; }
  int dims() const { return int(shape_.size()); }
  const std::vector<int64_t> &shape() const { return shape_; }
  /// In elements, one a dimension.
  const std::vector<int64_t> &strides() const { return strides_; }
  /// Number of elements; 1 without dimensions.
  int64_t elements() const;
  /// Bytes of the elements, as if dense.
  size_t bytes() const { return size_t(elements()) * byteSize(type_); }
  /// Whether the elements lie dense in row-major order.
  bool contiguous() const;
  bool ownsMemory() const { return owner_ != nullptr; }

  /// The element with all indices zero.
  void *data() const { return data_; }
  /// The same, typed. CompileError where T is not the element type.
  template <class T> T *as() const {
    checkType(kDType<T>);
    return static_cast<T *>(data_);
  }

  /// Address of an element. Indices are not checked.
  void *address(const std::vector<int64_t> &index) const;
  /// An element as a double, and back (see support/DType.h for the rounding).
  double at(const std::vector<int64_t> &index) const;
  void set(const std::vector<int64_t> &index, double value);

  /// A dense row-major copy with memory of its own.
  Tensor clone() const;
  /// The part [begin, begin + size) of one dimension, sharing the memory. CompileError outside.
  Tensor slice(int dim, int64_t begin, int64_t size) const;
  /// "bf16[128, 64]"
  std::string describe() const;

private:
  void checkType(DType wanted) const;

  DType type_ = DType::f32;
  std::vector<int64_t> shape_, strides_;
  void *data_ = nullptr;
  std::shared_ptr<std::byte> owner_;
};

} // namespace ditron::runtime
