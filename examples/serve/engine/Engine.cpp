// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Engine.h"
#include <algorithm>

namespace serve {

using namespace generate;

static int64_t contextOf(const DecoderSize &size) {
  return std::min(size.positions, size.allPages() * DecoderSize::kPage);
}

Engine::Engine(Decoder &decoder, const Tokenizer &tokenizer, int64_t maxQueue)
    : decoder_(decoder), tokenizer_(tokenizer), batch_(decoder),
      context_(contextOf(decoder.size())), maxQueue_(maxQueue), freePages_(batch_.freePages()) {}

int64_t Engine::pagesOf(const Task &task) const {
  return decoder_.size().pagesOf(std::ssize(task.prompt) + task.most);
}

/// Whether at most maxQueue_ tasks wait beside this one, or with it, once who can join has done so.
bool Engine::hasRoomFor(const Task &task) const {
  int64_t places = decoder_.size().sequences - std::ssize(running_), pages = freePages_;
  auto joins = [&](const Task &next) {
    pages -= pagesOf(next);
    return --places >= 0 && pages >= 0;
  };
  auto stays = std::ranges::find_if_not(waiting_, joins, &Waiting::task);
  if (stays == waiting_.end() && joins(task))
    return true;
  return waiting_.end() - stays < maxQueue_;
}

Engine::Submitted Engine::submit(Task task) {
  std::lock_guard lock(mutex_);
  if (isEnding_)
    return {nullptr, Refusal::ending};
  if (!hasRoomFor(task))
    return {nullptr, Refusal::full};
  auto answer = std::make_shared<Answer>(task.stops, task.most);
  waiting_.push_back({std::move(task), answer});
  changed_.notify_all();
  return {answer, Refusal::none};
}

void Engine::end() {
  std::lock_guard lock(mutex_);
  isEnding_ = true;
  changed_.notify_all();
}

Engine::Load Engine::load() const {
  std::lock_guard lock(mutex_);
  return {std::ssize(running_), std::ssize(waiting_), freePages_, isEnding_};
}

void Engine::run() {
  try {
    while (waitForWork()) {
      dropAbandoned();
      admit();
      step();
    }
  } catch (const std::exception &error) {
    failAll(error.what());
    throw;
  }
}

/// Whether there is any: there is none any more behind end().
bool Engine::waitForWork() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return isEnding_ || !waiting_.empty() || !running_.empty(); });
  return !waiting_.empty() || !running_.empty();
}

/// The mutex is held.
void Engine::leave(int64_t place) {
  batch_.leave(place);
  running_.erase(place);
  freePages_ = batch_.freePages();
}

void Engine::dropAbandoned() {
  std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [](const Waiting &waiting) { return waiting.answer->isAbandoned(); });
  std::vector<int64_t> places;
  for (const auto &[place, answer] : running_)
    if (answer->isAbandoned())
      places.push_back(place);
  for (int64_t place : places)
    leave(place);
}

void Engine::admit() {
  std::lock_guard lock(mutex_);
  while (!waiting_.empty()) {
    Waiting &first = waiting_.front();
    std::optional<int64_t> place =
        batch_.join(first.task.prompt, first.task.most, first.task.sampler);
    if (!place)
      return;
    running_.emplace(*place, first.answer);
    waiting_.pop_front();
    freePages_ = batch_.freePages();
  }
}

/// Gives an answer what was made for it. Whether that ends it.
bool Engine::give(const Made &made, Answer &answer) const {
  if (made.token && !tokenizer_.isEnd(*made.token))
    return answer.append(tokenizer_.decode(std::span(&*made.token, 1)));
  answer.finish(made.token ? Finish::stop : Finish::failed, made.fault);
  return true;
}

void Engine::step() {
  std::vector<Made> made = batch_.step();
  if (made.empty())
    decoder_.wait(); // so that who leaves frees its place within a step
  for (const Made &one : made) {
    std::lock_guard lock(mutex_); // who reads the end of an answer finds its place free
    if (give(one, *running_.at(one.place)))
      leave(one.place);
  }
}

void Engine::failAll(const std::string &error) {
  std::lock_guard lock(mutex_);
  isEnding_ = true;
  for (const auto &[place, answer] : running_)
    answer->finish(Finish::failed, error);
  for (const Waiting &waiting : waiting_)
    waiting.answer->finish(Finish::failed, error);
}

} // namespace serve
