// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work in order, points in it, and parts of it that are recorded once and launched again. All are
// handles: copies mean the same stream, event or graph.
//
//   Stream other = ctx.makeStream();
//   run.on(other)(A, B, C);
//   Event done = other.record();
//   ctx.stream().wait(done);      // what follows on the context's own stream comes behind
//
//   Graph graph = ctx.record([&](const Stream &stream) {
//     first.on(stream)(A, B, C);
//     second.on(stream)(C, D);
//   });
//   graph.launch();               // on the same tensors, as often as wanted
#pragma once
#include <memory>

namespace ditron {

namespace runtime {
class Device;
class DeviceEvent;
class DeviceGraph;
class DeviceStream;
class Tensor;
} // namespace runtime

/// A point in a stream.
class Event {
public:
  explicit Event(std::shared_ptr<runtime::DeviceEvent> event) : event_(std::move(event)) {}

  /// Returns when the stream has come to it. Errors of launches are thrown by Stream::wait.
  void wait() const;
  /// Seconds from `begin`, an event of the same context, to this one. Waits for both.
  double secondsSince(const Event &begin) const;

  const std::shared_ptr<runtime::DeviceEvent> &handle() const { return event_; }

private:
  std::shared_ptr<runtime::DeviceEvent> event_;
};

/// Launches and copies of a context, done in the order in which they are enqueued. Streams of one
/// context are not ordered with one another but by events; every thread may use a stream.
class Stream {
public:
  explicit Stream(std::shared_ptr<runtime::DeviceStream> stream) : stream_(std::move(stream)) {}
  /// The same of a stream whose device lives as long as somebody has it.
  Stream(std::shared_ptr<runtime::Device> device, std::shared_ptr<runtime::DeviceStream> stream);

  /// Returns when all that was enqueued is done. Throws the error of a launch that failed, once:
  /// RuntimeError where a wait outlived its bound or the device failed, CompileError where a
  /// requirement of the kernel did not hold.
  void wait() const;
  /// What is enqueued from here on comes behind the event.
  void wait(const Event &event) const;
  Event record() const;
  /// Copies the elements of a tensor to another one of the same type and shape, either of which may
  /// be in the memory of the host; then it returns when that is done.
  void copy(const runtime::Tensor &to, const runtime::Tensor &from) const;

  runtime::DeviceStream &handle() const { return *stream_; }

private:
  std::shared_ptr<runtime::DeviceStream> stream_;
};

/// Launches and copies that were recorded: see Context::record. The tensors and programs that they
/// take must live as long as it is launched.
class Graph {
public:
  Graph(std::shared_ptr<runtime::Device> device, std::shared_ptr<runtime::DeviceGraph> graph)
      : device_(std::move(device)), graph_(std::move(graph)) {}

  /// Enqueues all of it, on the context's stream or another one of it.
  void launch() const;
  void launch(const Stream &stream) const;
  /// Whether one of its launches has failed on a GPU: it is not launched any more, but recorded anew.
  /// Never on CPUs, where it may be launched again.
  bool isStale() const;

private:
  std::shared_ptr<runtime::Device> device_;
  std::shared_ptr<runtime::DeviceGraph> graph_;
};

} // namespace ditron
