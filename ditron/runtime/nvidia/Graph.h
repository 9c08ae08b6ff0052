// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that are recorded once and launched together from then on: a CUDA graph.
//
//   Graph graph(device, [&](const Stream &stream) {
//     first.launch({A, B, C}, stream);
//     second.launch({C, D}, stream);
//   });
//   graph.launch(stream); // with the arguments that were recorded; as often as wanted
#pragma once
#include "ditron/runtime/nvidia/Gpu.h"
#include <functional>

namespace ditron::runtime::nvidia {

class Graph {
public:
  /// Records what `body` launches and copies on the stream that it is given, which runs nothing of
  /// it. Kernels may be compiled and loaded meanwhile. RuntimeError with the driver's words where
  /// `body` does what cannot be recorded, such as waiting for the stream.
  Graph(std::shared_ptr<Gpu> device, const std::function<void(const Stream &)> &body);
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  /// Launches all of it; asynchronous. What the recorded launches use has to be there still: the
  /// programs and the memory.
  void launch(const Stream &stream) const;

private:
  std::shared_ptr<Gpu> device_;
  void *executable_ = nullptr;
};

} // namespace ditron::runtime::nvidia
