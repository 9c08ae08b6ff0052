// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs of the emulated driver: what streams captured, enqueued again.
#include "EmulatedStreams.h"
#include <algorithm>

namespace ditron::emulated {

void Capture::add(size_t branch, Work work) {
  bool isEvent =
      std::holds_alternative<RecordEvent>(work) || std::holds_alternative<WaitEvent>(work);
  before[branch][branch] += !isEvent;
  works.emplace_back(branch, std::move(work));
}

void Capture::join(Stream &stream) {
  stream.branch = streams.size();
  streams.push_back(&stream);
  for (std::vector<size_t> &each : before)
    each.resize(streams.size());
  before.emplace_back(streams.size());
}

void Capture::order(size_t branch, const std::vector<size_t> &works) {
  for (size_t n = 0; n < works.size(); ++n)
    before[branch][n] = std::max(before[branch][n], works[n]);
}

bool Capture::isJoined() const {
  for (size_t branch = 0; branch < before.size(); ++branch)
    if (before[0][branch] < before[branch][branch])
      return false;
  return true;
}

int Streams::beginCapture(void *handle) {
  std::lock_guard guard(mutex_);
  Stream &origin = stream(handle);
  if (!origin.number) // the default stream
    return kCaptureUnsupported;
  if (origin.capture)
    return kIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->join(origin);
  origin.capture = std::move(capture);
  return 0;
}

bool Streams::isCaptured(void *handle) {
  std::lock_guard guard(mutex_);
  return stream(handle).capture != nullptr;
}

int Streams::endCapture(void *handle, Graph *&graph) {
  std::lock_guard guard(mutex_);
  graph = nullptr;
  std::shared_ptr<Capture> capture = stream(handle).capture;
  if (!capture)
    return kIllegalState;
  if (stream(handle).branch != 0)
    return kCaptureUnmatched;
  capture->isOver = true;
  for (Stream *one : capture->streams)
    if (one)
      one->capture.reset();
  if (!capture->isJoined())
    return kCaptureUnjoined;
  graph = new Graph{std::move(capture->works), capture->streams.size()};
  return 0;
}

void Streams::instantiate(Graph &graph) {
  while (graph.sides.size() + 1 < graph.branches)
    graph.sides.push_back(create());
}

int Streams::launch(const Graph &graph, void *handle) {
  std::lock_guard guard(mutex_);
  std::map<const Record *, std::shared_ptr<Record>> records;
  for (const auto &[branch, work] : graph.works) {
    Stream &to = stream(branch ? graph.sides[branch - 1] : handle);
    int status = 0;
    if (auto *event = std::get_if<RecordEvent>(&work))
      status = record(to, records[event->record.get()] = std::make_shared<Record>());
    else if (auto *event = std::get_if<WaitEvent>(&work))
      status = wait(to, records.at(event->record.get()));
    else
      status = push(to, work);
    if (status)
      return status;
  }
  return 0;
}

void Streams::destroy(Graph *graph) {
  if (graph)
    for (void *side : graph->sides)
      destroy(side);
  delete graph;
}

} // namespace ditron::emulated
