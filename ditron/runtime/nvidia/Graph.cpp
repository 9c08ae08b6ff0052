// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/Graph.h"

namespace ditron::runtime::nvidia {

/// Other calls of the driver are allowed while a stream is captured:
/// CU_STREAM_CAPTURE_MODE_RELAXED.
static constexpr int kRelaxed = 2;

/// What `body` put into a stream, as a graph of the driver.
static void *capture(const Gpu &device, const Stream &stream,
                     const std::function<void(const Stream &)> &body) {
  const Cuda &cuda = device.use();
  DITRON_CUDA(cuda, cuStreamBeginCapture_v2, stream.handle(), kRelaxed);
  void *graph = nullptr;
  try {
    body(stream);
  } catch (...) {
    cuda.cuStreamEndCapture(stream.handle(), &graph);
    if (graph)
      cuda.cuGraphDestroy(graph);
    throw;
  }
  DITRON_CUDA(cuda, cuStreamEndCapture, stream.handle(), &graph);
  return graph;
}

Graph::Graph(std::shared_ptr<Gpu> device, const std::function<void(const Stream &)> &body)
    : device_(std::move(device)) {
  Stream stream(device_);
  void *graph = capture(*device_, stream, body);
  const Cuda &cuda = device_->use();
  int status = cuda.cuGraphInstantiateWithFlags(&executable_, graph, 0);
  cuda.cuGraphDestroy(graph);
  cuda.check(status, "cuGraphInstantiateWithFlags");
  // Now, not in the first launch, where other ranks may wait.
  status = cuda.cuGraphUpload(executable_, stream.handle());
  if (status != 0)
    cuda.cuGraphExecDestroy(executable_);
  cuda.check(status, "cuGraphUpload");
}

Graph::~Graph() { device_->use().cuGraphExecDestroy(executable_); }

void Graph::launch(const Stream &stream) const {
  DITRON_CUDA(device_->use(), cuGraphLaunch, executable_, stream.handle());
}

} // namespace ditron::runtime::nvidia
