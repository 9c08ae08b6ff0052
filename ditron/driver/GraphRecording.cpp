// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/GraphRecording.h"
#include "ditron/support/Error.h"

namespace ditron {

static thread_local const runtime::Device *recorded = nullptr;

GraphRecording::GraphRecording(const runtime::Device &device) : before_(recorded) {
  recorded = &device;
}
GraphRecording::~GraphRecording() { recorded = before_; }

runtime::DeviceStream &ownStream(runtime::Device &device) {
  if (recorded == &device)
    throw RuntimeError(
        "a launch on the context's stream while a graph is recorded, which would not have it: "
        "name the stream that is recorded, as in program.on(stream)(x, y)");
  return device.stream();
}

} // namespace ditron
