// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop that answers: requests join the batch in the order in which they came, as soon as there
// are a place and pages for them, and leave it with their last token, or when nobody reads the answer
// any more. Both happen between two steps.
#pragma once
#include "batch/Batch.h"
#include "engine/Answer.h"
#include "text/Tokenizer.h"
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

namespace serve {

/// What is to be continued.
struct Task {
  std::vector<generate::Token> prompt; ///< together with `most` tokens they fit Engine::context()
  int64_t most;
  generate::Sampler sampler;
  std::vector<std::string> stops;
};

/// Why there is no answer.
enum class Refusal { none, full, ending };

class Engine {
public:
  /// `maxQueue`: tasks that may wait for a place, or for pages.
  Engine(generate::Decoder &decoder, const generate::Tokenizer &tokenizer, int64_t maxQueue);

  //===-- From any thread ---------------------------------------------------------------------===//

  struct Submitted {
    std::shared_ptr<Answer> answer; ///< null where it is refused
    Refusal refusal = Refusal::none;
  };
  Submitted submit(Task task);
  /// No more tasks: run() returns when those that there are have ended.
  void end();

  struct Load {
    int64_t running = 0, waiting = 0, freePages = 0;
    bool isEnding = false;
  };
  Load load() const;
  /// Tokens of a prompt and its answer, at most.
  int64_t context() const { return context_; }

  //===-- From the thread of the decoder ------------------------------------------------------===//

  /// Answers until end(). Where a launch fails, all answers end with its error, which is thrown on.
  void run();

private:
  struct Waiting {
    Task task;
    std::shared_ptr<Answer> answer;
  };
  int64_t pagesOf(const Task &task) const;
  bool hasRoomFor(const Task &task) const;
  bool waitForWork();
  void dropAbandoned();
  void admit();
  bool give(const generate::Made &made, Answer &answer) const;
  void step();
  void leave(int64_t place);
  void failAll(const std::string &error);

  generate::Decoder &decoder_;
  const generate::Tokenizer &tokenizer_;
  generate::Batch batch_; ///< of the decoder's thread
  int64_t context_, maxQueue_;

  mutable std::mutex mutex_; ///< of what follows
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::map<int64_t, std::shared_ptr<Answer>> running_; ///< by place
  int64_t freePages_;
  bool isEnding_ = false;
};

} // namespace serve
