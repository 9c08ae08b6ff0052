// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/support/DType.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ditron::runtime {

class Device;

/// A tensor: an element type, a shape and a stride per dimension over memory that it owns (and
/// shares with its copies) or borrows, of the host or of a device. Copies are shallow. A size may
/// be 0: then there are no elements.
class Tensor {
public:
  Tensor() = default;

  /// A dense row-major tensor with memory of its own, 64-byte aligned, contents undefined.
  /// CompileError where a size is negative; RuntimeError naming the bytes asked for and available
  /// where there is not enough memory.
  static Tensor own(DType type, std::vector<int64_t> shape);
  /// The same in the memory of a device.
  static Tensor own(std::shared_ptr<Device> device, DType type, std::vector<int64_t> shape);

  /// A view of the caller's memory, which must outlive every copy of the tensor. `strides` count
  /// elements and may be anything, also zero or negative; without them the memory is dense and
  /// row-major. CompileError where a size is negative, the counts of sizes and strides differ, or
  /// `data` is null though there are elements.
  static Tensor borrow(void *data, DType type, std::vector<int64_t> shape,
                       std::vector<int64_t> strides = {});
  /// The same for memory of a device.
  static Tensor borrow(std::shared_ptr<Device> device, void *data, DType type,
                       std::vector<int64_t> shape, std::vector<int64_t> strides = {});

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
  /// Whose memory it is; null: the host's.
  const Device *device() const { return device_.get(); }
  /// Whether the host may touch the elements: it is the host's memory, or a device's that shares
  /// it. Launches that write it have to be waited for.
  bool isHostAccessible() const;

  /// The element with all indices zero, an address of the device's memory.
  void *data() const { return data_; }
  /// The same for the host, typed. CompileError where T is not the element type, or the host may
  /// not touch the elements.
  template <class T> T *as() const {
    checkType(kDType<T>);
    checkHost();
    return static_cast<T *>(data_);
  }

  /// Address of an element. Indices are not checked.
  void *address(const std::vector<int64_t> &index) const;
  /// An element as a double, and back (see support/DType.h for the rounding). They wait for nothing: launches
  /// that write the tensor have to be waited for. CompileError where the host may not touch it, or there is no such
  /// element.
  double at(const std::vector<int64_t> &index) const;
  void set(const std::vector<int64_t> &index, double value);

  /// A dense row-major copy with memory of its own, of the host. Comes behind what was enqueued on
  /// the device's default stream, and throws the error of a launch that failed there.
  Tensor toHost() const;
  /// Takes the elements of another tensor of this type and shape, wherever it is. Comes behind what
  /// was enqueued on the default stream of the device of either. CompileError where type or shape
  /// differ.
  void copyFrom(const Tensor &source) const;
  /// Gives all elements this value, wherever they are. Comes behind what was enqueued, as copyFrom.
  void fill(double value) const;
  /// A dense row-major copy with memory of its own, where this one is.
  Tensor clone() const;
  /// The part [begin, begin + size) of one dimension, sharing the memory. CompileError outside. It
  /// may be empty.
  Tensor slice(int dim, int64_t begin, int64_t size) const;
  /// The same elements, in row-major order, in another shape, sharing the memory. CompileError where
  /// they do not lie dense, or the shape has another number of them.
  Tensor reshape(std::vector<int64_t> shape) const;
  /// "bf16[128, 64]"
  std::string describe() const;

private:
  void checkType(DType wanted) const;
  void checkHost() const;
  void checkIndex(const std::vector<int64_t> &index) const;

  DType type_ = DType::f32;
  std::vector<int64_t> shape_, strides_;
  void *data_ = nullptr;
  std::shared_ptr<std::byte> owner_;
  std::shared_ptr<Device> device_;
};

} // namespace ditron::runtime
