// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/TensorMemory.h"
#include "ditron/runtime/Copy.h"
#include "ditron/runtime/Memory.h"
#include "ditron/runtime/device/Device.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sizes.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::runtime {

namespace {

std::string describeShape(DType type, const std::vector<int64_t> &shape) {
  return fmt::format("{}[{}]", name(type), fmt::join(shape, ", "));
}

/// Number of bytes of a dense tensor. CompileError where a size is negative or the product
/// overflows.
size_t checkedBytes(DType type, const std::vector<int64_t> &shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] < 0)
      throw CompileError(fmt::format("tensor {}: size {} of dimension {} is negative",
                                     describeShape(type, shape), shape[d], d));
  std::vector<int64_t> factors = shape;
  factors.push_back(int64_t(byteSize(type)));
  if (std::optional<int64_t> bytes = checkedProduct(factors))
    return size_t(*bytes);
  throw CompileError(
      fmt::format("tensor {}: its bytes do not fit 63 bits", describeShape(type, shape)));
}

/// CompileError for what Tensor() makes.
void requireMemory(const Tensor &tensor) {
  if (!tensor.data() && tensor.elements() > 0)
    throw CompileError("a tensor without memory is read or written: expected one that is made by "
                       "own, borrow or Context::tensor");
}

std::vector<int64_t> denseStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  return strides;
}

} // namespace

Tensor Tensor::own(DType type, std::vector<int64_t> shape) {
  return own(nullptr, type, std::move(shape));
}

Tensor Tensor::own(std::shared_ptr<Device> device, DType type, std::vector<int64_t> shape) {
  size_t bytes = std::max<size_t>(checkedBytes(type, shape), 1);
  std::string what = fmt::format("tensor {}", describeShape(type, shape));
  Tensor tensor;
  tensor.type_ = type;
  tensor.owner_ = device ? device->allocate(bytes, what) : allocateHost(bytes, what);
  tensor.device_ = std::move(device);
  tensor.data_ = tensor.owner_.get();
  tensor.strides_ = denseStrides(shape);
  tensor.shape_ = std::move(shape);
  return tensor;
}

Tensor Tensor::borrow(void *data, DType type, std::vector<int64_t> shape,
                      std::vector<int64_t> strides) {
  return borrow(nullptr, data, type, std::move(shape), std::move(strides));
}

Tensor Tensor::borrow(std::shared_ptr<Device> device, void *data, DType type,
                      std::vector<int64_t> shape, std::vector<int64_t> strides) {
  if (checkedBytes(type, shape) > 0 && !data)
    throw CompileError(fmt::format("tensor {}: its memory is null", describeShape(type, shape)));
  if (strides.empty())
    strides = denseStrides(shape);
  if (strides.size() != shape.size())
    throw CompileError(fmt::format("tensor {}: {} strides for {} dimensions",
                                   describeShape(type, shape), strides.size(), shape.size()));
  Tensor tensor;
  tensor.type_ = type;
  tensor.device_ = std::move(device);
  tensor.data_ = data;
  tensor.shape_ = std::move(shape);
  tensor.strides_ = std::move(strides);
  return tensor;
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t size : shape_)
    count *= size;
  return count;
}

bool Tensor::contiguous() const {
  if (elements() == 0)
    return true;
  int64_t dense = 1;
  for (size_t d = shape_.size(); d-- > 0;) {
    if (shape_[d] != 1 && strides_[d] != dense)
      return false;
    dense *= shape_[d];
  }
  return true;
}

void *Tensor::address(const std::vector<int64_t> &index) const {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d)
    offset += index[d] * strides_[d];
  return static_cast<std::byte *>(data_) + offset * int64_t(byteSize(type_));
}

bool Tensor::isHostAccessible() const { return !device_ || device_->isHostAccessible(); }

void Tensor::checkIndex(const std::vector<int64_t> &index) const {
  if (index.size() != shape_.size())
    throw CompileError(fmt::format("an element of {} has {} indices, expected {}", describe(),
                                   index.size(), shape_.size()));
  for (size_t d = 0; d < index.size(); ++d)
    if (index[d] < 0 || index[d] >= shape_[d])
      throw CompileError(fmt::format("index {} of dimension {} of {}: expected 0 to {}", index[d],
                                     d, describe(), shape_[d] - 1));
}

double Tensor::at(const std::vector<int64_t> &index) const {
  checkHost();
  checkIndex(index);
  return loadElement(type_, address(index));
}

void Tensor::set(const std::vector<int64_t> &index, double value) {
  checkHost();
  checkIndex(index);
  storeElement(type_, address(index), value);
}

void Tensor::copyFrom(const Tensor &source) const {
  requireMemory(*this);
  requireMemory(source);
  if (type_ != source.type_ || shape_ != source.shape_)
    throw CompileError(
        fmt::format("{} is copied to {}: expected equal ones", source.describe(), describe()));
  if (source.device_ && source.device_ != device_ && device_)
    return copyFrom(source.toHost());
  if (const std::shared_ptr<Device> &device = device_ ? device_ : source.device_)
    device->stream().copy(*this, source);
  else
    copyStrided(data_, source.data_, {byteSize(type_), shape_, source.strides_, strides_});
}

void Tensor::fill(double value) const {
  Tensor repeated = own(type_, {1});
  repeated.set({0}, value);
  repeated.shape_ = shape_;
  repeated.strides_.assign(shape_.size(), 0);
  // No copy of a device reads one element again and again.
  copyFrom(isHostAccessible() ? repeated : repeated.toHost());
}

Tensor Tensor::toHost() const {
  Tensor copy = own(type_, shape_);
  copy.copyFrom(*this);
  return copy;
}

Tensor Tensor::clone() const {
  Tensor copy = own(device_, type_, shape_);
  copy.copyFrom(*this);
  return copy;
}

Tensor Tensor::slice(int dim, int64_t begin, int64_t size) const {
  if (dim < 0 || dim >= dims())
    throw CompileError(
        fmt::format("slice of dimension {} of {}: it has {}", dim, describe(), dims()));
  int64_t whole = shape_[size_t(dim)];
  if (begin < 0 || size < 0 || begin > whole - size)
    throw CompileError(fmt::format("slice of {} from {} on of dimension {} of {}: expected a part "
                                   "of [0, {})",
                                   size, begin, dim, describe(), whole));
  Tensor part = *this;
  part.data_ =
      static_cast<std::byte *>(data_) + begin * strides_[size_t(dim)] * int64_t(byteSize(type_));
  part.shape_[size_t(dim)] = size;
  return part;
}

Tensor Tensor::reshape(std::vector<int64_t> shape) const {
  checkedBytes(type_, shape);
  Tensor other = *this;
  other.shape_ = std::move(shape);
  other.strides_ = denseStrides(other.shape_);
  if (other.elements() != elements())
    throw CompileError(fmt::format("reshape of {} to {}: expected a shape of {} elements, found {}",
                                   describe(), other.describe(), elements(), other.elements()));
  if (!contiguous())
    throw CompileError(
        fmt::format("reshape of {}: its elements do not lie dense in row-major order, "
                    "expected a tensor that is contiguous()",
                    describe()));
  return other;
}

std::string Tensor::describe() const { return describeShape(type_, shape_); }

void Tensor::checkHost() const {
  requireMemory(*this);
  if (!isHostAccessible())
    throw CompileError(fmt::format("{} is in the memory of {}: toHost() copies it to the host's",
                                   describe(), device_->name()));
}

void Tensor::checkType(DType wanted) const {
  if (wanted != type_)
    throw CompileError(fmt::format("tensor {} read as {}", describe(), ditron::name(wanted)));
}

} // namespace ditron::runtime
