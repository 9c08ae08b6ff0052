// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/TensorCopy.h"
#include "ditron/runtime/nvidia/Copy2D.h"
#include <functional>
#include <limits>

namespace ditron::runtime::nvidia {

namespace {

/// Elements that are neighbours in both tensors, and as many again at equal distances: all in bytes.
struct Rows {
  int64_t width, height = 1, toPitch = 0, fromPitch = 0;
};
using Run = std::function<void(int64_t to, int64_t from, const Rows &rows)>;

/// Calls `run` with the byte offsets of the first of such rows.
class Runs {
public:
  Runs(const Tensor &to, const Tensor &from, const Run &run) : to_(to), from_(from), run_(run) {
    elementBytes_ = rows_.width = static_cast<int64_t>(byteSize(to.dtype()));
    for (inner_ = to.dims(); inner_ > 0; --inner_) {
      auto dim = static_cast<size_t>(inner_ - 1);
      int64_t stride = rows_.width / elementBytes_;
      bool isDense = to.strides()[dim] == stride && from.strides()[dim] == stride;
      if (to.shape()[dim] != 1 && !isDense)
        break;
      rows_.width *= to.shape()[dim];
    }
    for (int dim = 0; dim < inner_; ++dim)
      takeRows(dim);
  }

  void walk() {
    if (to_.elements() > 0)
      walk(0, 0, 0);
  }

private:
  /// Takes a dimension as that of rows if it has more than the one before, and the driver takes its strides.
  void takeRows(int dim) {
    constexpr int64_t kMostPitch = std::numeric_limits<int32_t>::max();
    auto at = static_cast<size_t>(dim);
    Rows rows{rows_.width, to_.shape()[at], to_.strides()[at] * elementBytes_,
              from_.strides()[at] * elementBytes_};
    auto isTaken = [&](int64_t pitch) { return pitch >= rows.width && pitch <= kMostPitch; };
    if (rows.height > rows_.height && isTaken(rows.toPitch) && isTaken(rows.fromPitch)) {
      rows_ = rows;
      ofRows_ = dim;
    }
  }

  void walk(int dim, int64_t to, int64_t from) {
    if (dim == inner_)
      return run_(to * elementBytes_, from * elementBytes_, rows_);
    auto at = static_cast<size_t>(dim);
    for (int64_t n = 0; n < (dim == ofRows_ ? 1 : to_.shape()[at]); ++n)
      walk(dim + 1, to + n * to_.strides()[at], from + n * from_.strides()[at]);
  }

  const Tensor &to_, &from_;
  const Run &run_;
  int inner_; ///< dimensions from here on are within a row
  int ofRows_ = -1;
  int64_t elementBytes_;
  Rows rows_;
};

} // namespace

void copyTensor(const Gpu &device, const Stream &stream, const Tensor &to, const Tensor &from) {
  const Cuda &cuda = device.use();
  auto toAddress = reinterpret_cast<uint64_t>(to.data());
  auto fromAddress = reinterpret_cast<uint64_t>(from.data());
  bool toHost = to.isHostAccessible(), fromHost = from.isHostAccessible();
  Run run = [&](int64_t toOffset, int64_t fromOffset, const Rows &rows) {
    uint64_t target = toAddress + uint64_t(toOffset), source = fromAddress + uint64_t(fromOffset);
    auto bytes = size_t(rows.width);
    if (rows.height > 1) {
      Copy2D copy{Copy2D::Side::at(source, size_t(rows.fromPitch), fromHost),
                  Copy2D::Side::at(target, size_t(rows.toPitch), toHost), bytes,
                  size_t(rows.height)};
      DITRON_CUDA(cuda, cuMemcpy2DAsync_v2, &copy, stream.handle());
    } else if (toHost)
      DITRON_CUDA(cuda, cuMemcpyDtoHAsync_v2, reinterpret_cast<void *>(target), source, bytes,
                  stream.handle());
    else if (fromHost)
      DITRON_CUDA(cuda, cuMemcpyHtoDAsync_v2, target, reinterpret_cast<const void *>(source), bytes,
                  stream.handle());
    else
      DITRON_CUDA(cuda, cuMemcpyDtoDAsync_v2, target, source, bytes, stream.handle());
  };
  Runs(to, from, run).walk();
}

} // namespace ditron::runtime::nvidia
