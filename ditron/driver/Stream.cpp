// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Stream.h"
#include "ditron/driver/GraphRecording.h"
#include "ditron/runtime/device/Device.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>

namespace ditron {

void Event::wait() const { event_->wait(); }
double Event::secondsSince(const Event &begin) const { return event_->secondsSince(*begin.event_); }

/// A stream and its device, which has to go after it.
struct OfDevice {
  std::shared_ptr<runtime::Device> device;
  std::shared_ptr<runtime::DeviceStream> stream;
};

static std::shared_ptr<runtime::DeviceStream>
withDevice(std::shared_ptr<runtime::Device> device, std::shared_ptr<runtime::DeviceStream> stream) {
  auto both = std::make_shared<OfDevice>(OfDevice{std::move(device), std::move(stream)});
  return {both, both->stream.get()};
}

Stream::Stream(std::shared_ptr<runtime::Device> device,
               std::shared_ptr<runtime::DeviceStream> stream)
    : Stream(withDevice(std::move(device), std::move(stream))) {}

void Stream::wait() const { stream_->wait(); }
void Stream::wait(const Event &event) const { stream_->waitFor(event.handle()); }
Event Stream::record() const { return Event(stream_->record()); }

void Stream::copy(const runtime::Tensor &to, const runtime::Tensor &from) const {
  if (to.dtype() != from.dtype() || to.shape() != from.shape())
    throw CompileError(
        fmt::format("{} is copied to {}: expected equal ones", from.describe(), to.describe()));
  stream_->copy(to, from);
}

void Graph::launch() const { graph_->launch(ownStream(*device_)); }
bool Graph::isStale() const { return graph_->isStale(); }
void Graph::launch(const Stream &stream) const { graph_->launch(stream.handle()); }

} // namespace ditron
