// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/runtime/device/Device.h"

namespace ditron {

/// While it lives, its thread records a graph of a device.
class GraphRecording {
public:
  explicit GraphRecording(const runtime::Device &device);
  GraphRecording(const GraphRecording &) = delete;
  ~GraphRecording();

private:
  const runtime::Device *before_;
};

/// The device's own stream, for a launch that names none. RuntimeError where this thread records a graph of the device:
/// the launch would not be in it.
runtime::DeviceStream &ownStream(runtime::Device &device);

} // namespace ditron
