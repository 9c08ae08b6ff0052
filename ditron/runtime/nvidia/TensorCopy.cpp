// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/TensorCopy.h"
#include <functional>

namespace ditron::runtime::nvidia {

namespace {

using Run = std::function<void(int64_t to, int64_t from, int64_t bytes)>;

/// Calls `run` with the byte offsets of each run of elements that are neighbours in both tensors.
class Runs {
public:
  Runs(const Tensor &to, const Tensor &from, const Run &run) : to_(to), from_(from), run_(run) {
    runBytes_ = static_cast<int64_t>(byteSize(to.dtype()));
    elementBytes_ = runBytes_;
    for (inner_ = to.dims(); inner_ > 0; --inner_) {
      auto dim = static_cast<size_t>(inner_ - 1);
      int64_t stride = runBytes_ / elementBytes_;
      bool isDense = to.strides()[dim] == stride && from.strides()[dim] == stride;
      if (to.shape()[dim] != 1 && !isDense)
        break;
      runBytes_ *= to.shape()[dim];
    }
  }

  void walk() {
    if (to_.elements() > 0)
      walk(0, 0, 0);
  }

private:
  void walk(int dim, int64_t to, int64_t from) {
    if (dim == inner_)
      return run_(to * elementBytes_, from * elementBytes_, runBytes_);
    auto at = static_cast<size_t>(dim);
    for (int64_t n = 0; n < to_.shape()[at]; ++n)
      walk(dim + 1, to + n * to_.strides()[at], from + n * from_.strides()[at]);
  }

  const Tensor &to_, &from_;
  const Run &run_;
  int inner_; ///< dimensions from here on are within a run
  int64_t runBytes_, elementBytes_;
};

} // namespace

void copyTensor(const Gpu &device, const Stream &stream, const Tensor &to, const Tensor &from) {
  const Cuda &cuda = device.use();
  auto toAddress = reinterpret_cast<uint64_t>(to.data());
  auto fromAddress = reinterpret_cast<uint64_t>(from.data());
  bool toHost = to.isHostAccessible(), fromHost = from.isHostAccessible();
  Run run = [&](int64_t toOffset, int64_t fromOffset, int64_t bytes) {
    uint64_t target = toAddress + uint64_t(toOffset), source = fromAddress + uint64_t(fromOffset);
    if (toHost)
      DITRON_CUDA(cuda, cuMemcpyDtoHAsync_v2, reinterpret_cast<void *>(target), source,
                  size_t(bytes), stream.handle());
    else if (fromHost)
      DITRON_CUDA(cuda, cuMemcpyHtoDAsync_v2, target, reinterpret_cast<const void *>(source),
                  size_t(bytes), stream.handle());
    else
      DITRON_CUDA(cuda, cuMemcpyDtoDAsync_v2, target, source, size_t(bytes), stream.handle());
  };
  Runs(to, from, run).walk();
}

} // namespace ditron::runtime::nvidia
